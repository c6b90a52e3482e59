/**
 * Connections whose tokens cannot be renewed now: each is left alone for a while, longer with each failure, and what
 * lasts is told. Memory only, bounded by the number of connections; by a clock that is never set back.
 */
import { backoffMs } from '../tools/backoff';

export interface Failure {
  detail: string;
  /** The provider gave no token; else it was never asked, or what it gave is not stored. */
  isProviders: boolean;
}

/** How often it failed in a row, since when, and with what at last. */
interface Row {
  failures: number;
  sinceMs: number;
  detail: string;
}

/** Each kind counts for itself: what fails here is not the provider's trouble, and ends none of it. */
interface Failing {
  providers: Row | null;
  ours: Row | null;
  detail: string;
  untilMs: number;
}

export interface RenewalPauses {
  /** null when it may be tried. */
  of(connectionId: string, steadyMs: number): { leftMs: number; detail: string } | null;
  /** The pause that begins now; at least `askedMs`. */
  failed(connectionId: string, failure: Failure, askedMs: number | null, steadyMs: number): number;
  /** The provider gave a token: its failures are over, whatever becomes of what it gave. */
  gave(connectionId: string): void;
  ended(connectionId: string): void;
  /** What the provider has refused or not answered for some time, among the connections that `matters` names. */
  trouble(
    steadyMs: number,
    matters: (connectionId: string) => boolean,
  ): { sinceMs: number; detail: string } | null;
}

const bounds = { baseMs: 1000, maxMs: 300_000 };
/** What fails here may be there again any moment, and costs the provider nothing. */
const boundsHere = { baseMs: 1000, maxMs: 15_000 };
/** Shorter trouble is nobody's business. */
const patienceMs = 30_000;

export function makeRenewalPauses(random: () => number): RenewalPauses {
  const failing = new Map<string, Failing>();
  return {
    of(connectionId, steadyMs) {
      const found = failing.get(connectionId);
      if (found === undefined || found.untilMs <= steadyMs) return null;
      return { leftMs: found.untilMs - steadyMs, detail: found.detail };
    },
    failed(connectionId, { detail, isProviders }, askedMs, steadyMs) {
      const { providers = null, ours = null } = failing.get(connectionId) ?? {};
      const { failures, sinceMs } = (isProviders ? providers : ours) ?? { failures: 0, sinceMs: steadyMs };
      const row = { failures: failures + 1, sinceMs, detail };
      const pauseMs = Math.max(
        askedMs ?? 0,
        backoffMs(row.failures, isProviders ? bounds : boundsHere, random),
      );
      // Whoever came to ask it met nothing that fails here.
      const rows = isProviders ? { providers: row, ours: null } : { providers, ours: row };
      failing.set(connectionId, { ...rows, detail, untilMs: steadyMs + pauseMs });
      return pauseMs;
    },
    gave(connectionId) {
      const found = failing.get(connectionId);
      if (found !== undefined) found.providers = null;
    },
    ended: (connectionId) => void failing.delete(connectionId),
    trouble(steadyMs, matters) {
      for (const connectionId of failing.keys()) if (!matters(connectionId)) failing.delete(connectionId);
      const lasting = [...failing.values()].flatMap(({ providers, ours }) => {
        // Since a failure of ours nobody has asked it.
        const knownMs = providers === null ? 0 : (ours?.sinceMs ?? steadyMs) - providers.sinceMs;
        return providers !== null && knownMs >= patienceMs ? [providers] : [];
      });
      if (lasting.length === 0) return null;
      const count = lasting.length === 1 ? 'one connection' : `${lasting.length} connections`;
      return {
        sinceMs: Math.min(...lasting.map(({ sinceMs }) => sinceMs)),
        detail: `The tokens of ${count} cannot be renewed: ${(lasting[0] as Row).detail}.`,
      };
    },
  };
}
