/**
 * What the lists of organizations do not tell: those that a connection used to see, that its list of today does not hold
 * and that no other connection sees; and lists that are refused, or cannot be read. Absence is only a hint: access stays,
 * work goes on, and a person is told. In memory; a start learns it anew from what the store knows was seen.
 */
import type { Condition, ConditionName } from '../model/alert';
import type { Clock } from '../tools/clock';

/**
 * What a connection was shown. `failed`: not all, for the moment; `refused`: in a way that asking again soon does not
 * change, such as an entry that names nothing and may be any organization.
 */
export type SightList<Seen extends { id: string } = { id: string }> =
  | { end: 'whole'; organizations: readonly Seen[] }
  | { end: 'failed'; detail: string }
  | { end: 'refused'; detail: string; ofClient: boolean };

export type SightLists<Seen extends { id: string } = { id: string }> = [
  connectionId: string,
  list: SightList<Seen>,
][];

type Connections = readonly { connectionId: string; status: string }[];

export interface Unlisted {
  /** After listings; `sees` tells what each connection is known to see since. */
  note(lists: SightLists, sees: (connectionId: string) => ReadonlySet<string>): void;
  /** Of a connection whose list was refused, or could not be read, when it was asked for last: why. null for others. */
  unlisted(connectionId: string): string | null;
  /** Of these as they are when it is asked. */
  tellOf(connections: () => Connections): {
    /** One for each that is valid. */
    conditions(): Condition[];
    /** Known is whether it holds when each valid one had a whole listing since the process began. */
    settled(): ConditionName[];
  };
}

interface Refused {
  sinceMs: number;
  /** By the clock that is never set back: when it was refused first, and last. */
  firstMs: number;
  lastMs: number;
  detail: string;
  /** The client key is refused, for which there is an alert of its own. */
  ofClient: boolean;
}

/** How many organizations are named. */
const namedMax = 20;
/** A provider under maintenance refuses everybody; what is announced meanwhile waits an hour for the list to come right. */
const lastsMs = 300_000;

/** Names at most 20 organizations; a list is told of when it was refused again 5 minutes after it was refused first. */
export function makeUnlisted(clock: Clock): Unlisted {
  const missing = new Map<string, { sinceMs: number; organizations: string[] }>();
  const refused = new Map<string, Refused>();
  const listedWhole = new Set<string>();
  /** Why the list that was asked for last failed for the moment. */
  const failed = new Map<string, string>();

  function noteRefused(connectionId: string, { detail, ofClient }: Pick<Refused, 'detail' | 'ofClient'>) {
    const lastMs = clock.steadyMs();
    const begun = refused.get(connectionId) ?? { sinceMs: clock.nowMs(), firstMs: lastMs };
    refused.set(connectionId, { ...begun, lastMs, detail, ofClient });
  }

  function unlisted(connectionId: string): string | null {
    const detail = failed.get(connectionId) ?? refused.get(connectionId)?.detail;
    return detail === undefined ? null : `its list of organizations could not be read: ${detail}`;
  }

  /** What is to be told of a connection, and since when. */
  function toldOf(connectionId: string): { sinceMs: number; detail: string }[] {
    const told: { sinceMs: number; detail: string }[] = [];
    const list = refused.get(connectionId);
    if (list !== undefined && !list.ofClient && list.lastMs - list.firstMs >= lastsMs) {
      const detail =
        `Of connection ${connectionId} nobody knows what it sees since: ` +
        `its list of organizations could not be read: ${list.detail}.`;
      told.push({ sinceMs: list.sinceMs, detail });
    }
    const found = missing.get(connectionId);
    if (found === undefined) return told;
    const { sinceMs, organizations } = found;
    const more = organizations.length - namedMax;
    const named = organizations.slice(0, namedMax).join(', ') + (more > 0 ? ` and ${more} more` : '');
    const detail =
      `Connection ${connectionId} was shown ${organizations.length === 1 ? 'an organization' : 'organizations'} ` +
      `that its listing does not hold any more and that no other connection sees: ${named}.`;
    return [...told, { sinceMs, detail }];
  }

  return {
    note(lists, sees) {
      for (const [connectionId, list] of lists) {
        if (list.end === 'failed') failed.set(connectionId, list.detail);
        else failed.delete(connectionId);
        if (list.end === 'refused') noteRefused(connectionId, list);
        if (list.end !== 'whole') continue;
        refused.delete(connectionId);
        listedWhole.add(connectionId);
        const ids = new Set(list.organizations.map(({ id }) => id));
        const organizations = [...sees(connectionId)].filter((id) => !ids.has(id));
        const sinceMs = missing.get(connectionId)?.sinceMs ?? clock.nowMs();
        if (organizations.length === 0) missing.delete(connectionId);
        else missing.set(connectionId, { sinceMs, organizations });
      }
    },
    unlisted,
    tellOf: (connections) => ({
      settled: () =>
        connections().every(({ connectionId, status }) => status !== 'valid' || listedWhole.has(connectionId))
          ? ['organizations-unlisted']
          : [],
      conditions: () =>
        connections().flatMap(({ connectionId, status }) => {
          const told = status === 'valid' ? toldOf(connectionId) : [];
          if (told.length === 0) return [];
          const sinceMs = Math.min(...told.map((one) => one.sinceMs));
          const detail = told.map((one) => one.detail).join(' ');
          return [
            { name: 'organizations-unlisted', sinceMs, detail, labels: { connection_id: connectionId } },
          ];
        }),
    }),
  };
}
