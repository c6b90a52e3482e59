/**
 * A consent that was refused is shown to the provider again when an organization behind it is probed: a refusal may have
 * been a mistake, and a probe repeats what was refused. The provider is not asked more often than it would be for one
 * organization, however many stand behind the consent; for a person at once. Memory alone.
 */
import type { Connection } from '../model/connection';
import type { DueProbe } from '../model/organization';
import type { Pay } from './attempt';
import type { ProviderDoors, ProviderOptions } from './options';
import type { ShowToken } from './proven-line';

/** Resolves when every refused consent that sees the organization was shown, or needs not be yet. Never rejects. */
export type AskAgain = (probe: Pick<DueProbe, 'organizationId' | 'askedBy'>, pay: Pay) => Promise<void>;

/** Of one probe: each costs a call. */
const shownMax = 3;

/** One probe asks through at most 3 connections. */
export function makeAskAgain(
  { probeMs, probeMsMax }: Pick<ProviderOptions, 'probeMs' | 'probeMsMax'>,
  doors: ProviderDoors,
  show: ShowToken,
): AskAgain {
  const { clock, connections, sees } = doors;
  /** By connection; a consent that was given anew begins anew. */
  const pauses = new Map<string, { token: string; forMs: number; untilMs: number }>();

  /** null: not yet. */
  function pauseOf({ connectionId, token }: Connection, isWanted: boolean) {
    const known = pauses.get(connectionId);
    if (known?.token !== token.open()) return probeMs;
    if (isWanted) return known.forMs;
    return clock.nowMs() < known.untilMs ? null : Math.min(known.forMs * 2, probeMsMax);
  }

  async function showOne(connection: Connection, forMs: number): Promise<void> {
    const { connectionId, token } = connection;
    pauses.set(connectionId, { token: token.open(), forMs, untilMs: clock.nowMs() + forMs });
    const verdict = await show(connection, null);
    if (verdict.kind !== 'ok' && verdict.kind !== 'not-modified') return;
    await doors.accepted?.(connectionId);
    pauses.delete(connectionId);
  }

  return async ({ organizationId, askedBy }, pay) => {
    const refused = connections().filter(
      ({ connectionId, status }) => status === 'refused' && sees(connectionId).has(organizationId),
    );
    for (const connection of refused.slice(0, shownMax)) {
      const pauseMs = pauseOf(connection, askedBy === 'operator');
      if (pauseMs === null) continue;
      await pay();
      await showOne(connection, pauseMs);
    }
  };
}
