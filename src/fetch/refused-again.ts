/**
 * A consent that was refused is shown to the provider again when an organization behind it is probed: a refusal may have
 * been a mistake, and a probe repeats what was refused. The provider is not asked more often than it would be for one
 * organization, however many stand behind the consent; for a person at once. Behind a consent that saw none yet, or only
 * what others read, nobody is probed, so it is shown again by itself, more and more seldom. Memory alone.
 */
import type { Connection } from '../model/connection';
import type { DueProbe } from '../model/organization';
import type { Pay } from './attempt';
import type { ProviderDoors, ProviderOptions } from './options';
import type { ShowToken } from './proven-line';

/** Resolves when every refused consent that sees the organization was shown, or needs not be yet. Never rejects. */
export type AskAgain = (probe: Pick<DueProbe, 'organizationId' | 'askedBy'>, pay: Pay) => Promise<void>;

export interface ShowAgain {
  ofProbe: AskAgain;
  /**
   * Resolves when every refused consent that sees nothing but what a valid one sees was shown, or needs not be yet; to true
   * where one counts as valid since, so that what it sees is to be learned. Never rejects.
   */
  ofUnprobed(): Promise<boolean>;
}

/** Of one probe: each costs a call. */
const shownMax = 3;
/** Nobody waits for it. */
const unprobedMsMax = 86_400_000;

/** One probe asks through at most 3 connections; each behind which nobody is probed is shown at once, later and later, once a day at last. */
export function makeShowAgain(
  { probeMs, probeMsMax }: Pick<ProviderOptions, 'probeMs' | 'probeMsMax'>,
  doors: ProviderDoors,
  show: ShowToken,
): ShowAgain {
  const { clock, connections, sees } = doors;
  /** By connection; a consent that was given anew begins anew. */
  const pauses = new Map<string, { token: string; forMs: number; untilMs: number }>();

  /** null: not yet. */
  function pauseOf({ connectionId, token }: Connection, isWanted: boolean, msMax = probeMsMax) {
    const known = pauses.get(connectionId);
    if (known?.token !== token.open()) return probeMs;
    if (isWanted) return known.forMs;
    return clock.nowMs() < known.untilMs ? null : Math.min(known.forMs * 2, msMax);
  }

  /** Counts as shown from now on: of several that are probed at once, the others ask for nothing. */
  async function showOne(connection: Connection, forMs: number, pay: Pay | null): Promise<void> {
    const { connectionId, token } = connection;
    pauses.set(connectionId, { token: token.open(), forMs, untilMs: clock.nowMs() + forMs });
    await pay?.();
    const verdict = await show(connection, null);
    if (verdict.kind !== 'ok' && verdict.kind !== 'not-modified') return;
    await doors.accepted?.(connectionId);
    pauses.delete(connectionId);
  }

  async function ofProbe({ organizationId, askedBy }: Parameters<AskAgain>[0], pay: Pay): Promise<void> {
    const refused = connections().filter(
      ({ connectionId, status }) => status === 'refused' && sees(connectionId).has(organizationId),
    );
    for (const connection of refused.slice(0, shownMax)) {
      const pauseMs = pauseOf(connection, askedBy === 'operator');
      if (pauseMs !== null) await showOne(connection, pauseMs, pay);
    }
  }

  /** What no valid consent sees is blocked, and so it is probed. */
  function unprobed(): Connection[] {
    const refused = connections().filter(({ status }) => status === 'refused');
    if (refused.length === 0) return [];
    const valid = connections().filter(({ status }) => status === 'valid');
    const read = new Set(valid.flatMap(({ connectionId }) => [...sees(connectionId)]));
    return refused.filter(({ connectionId }) => [...sees(connectionId)].every((id) => read.has(id)));
  }

  async function ofUnprobed(): Promise<boolean> {
    const refused = unprobed();
    for (const connection of refused) {
      const pauseMs = pauseOf(connection, false, unprobedMsMax);
      if (pauseMs !== null) await showOne(connection, pauseMs, null);
    }
    const ids = new Set(refused.map(({ connectionId }) => connectionId));
    return connections().some(({ connectionId, status }) => status === 'valid' && ids.has(connectionId));
  }

  return { ofProbe, ofUnprobed };
}
