/**
 * Organizations that a connection used to see, that its listing of today does not hold, and that no other connection
 * sees. Absence is only a hint: their access stays, their work goes on, and a person is told. In memory; a start learns
 * it anew from what the store knows was seen.
 */
import type { Condition, ConditionName } from '../model/alert';
import type { Clock } from '../tools/clock';

export type Shown = Iterable<
  readonly [connectionId: string, organizations: readonly { id: string }[] | null]
>;

type Connections = readonly { connectionId: string; status: string }[];

export interface Unlisted {
  /**
   * After listings: what each connection was shown, null where that was not all; `sees` tells what it is known to see
   * since.
   */
  note(shown: Shown, sees: (connectionId: string) => ReadonlySet<string>): void;
  /** Of these as they are when it is asked. */
  tellOf(connections: () => Connections): {
    /** One for each that is valid. */
    conditions(): Condition[];
    /** Known is whether it holds when each valid one had a whole listing since the process began. */
    settled(): ConditionName[];
  };
}

/** How many organizations are named. */
const namedMax = 20;

/** Names at most 20 organizations. */
export function makeUnlisted(clock: Clock): Unlisted {
  const missing = new Map<string, { sinceMs: number; organizations: string[] }>();
  const listedWhole = new Set<string>();
  return {
    note(shown, sees) {
      for (const [connectionId, listed] of shown) {
        if (listed === null) continue;
        listedWhole.add(connectionId);
        const ids = new Set(listed.map(({ id }) => id));
        const organizations = [...sees(connectionId)].filter((id) => !ids.has(id));
        const sinceMs = missing.get(connectionId)?.sinceMs ?? clock.nowMs();
        if (organizations.length === 0) missing.delete(connectionId);
        else missing.set(connectionId, { sinceMs, organizations });
      }
    },
    tellOf: (connections) => ({
      settled: () =>
        connections().every(({ connectionId, status }) => status !== 'valid' || listedWhole.has(connectionId))
          ? ['organizations-unlisted']
          : [],
      conditions: () =>
        connections().flatMap(({ connectionId, status }) => {
          const found = missing.get(connectionId);
          if (found === undefined || status !== 'valid') return [];
          const { sinceMs, organizations } = found;
          const more = organizations.length - namedMax;
          const named = organizations.slice(0, namedMax).join(', ') + (more > 0 ? ` and ${more} more` : '');
          const detail =
            `Connection ${connectionId} was shown ${organizations.length === 1 ? 'an organization' : 'organizations'} ` +
            `that its listing does not hold any more and that no other connection sees: ${named}.`;
          const labels = { connection_id: connectionId };
          return [{ name: 'organizations-unlisted', sinceMs, detail, labels }];
        }),
    }),
  };
}
