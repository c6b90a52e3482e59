/**
 * Connections whose tokens cannot be renewed now: each is left alone for a while, longer with each failure, and what
 * lasts is told. Memory only, bounded by the number of connections.
 */
import { backoffMs } from '../tools/backoff';

export interface Failure {
  detail: string;
  /** The provider gave no token; else it was never asked, or what it gave is not stored. */
  isProviders: boolean;
}

interface Failing extends Failure {
  failures: number;
  sinceMs: number;
  untilMs: number;
}

export interface RenewalPauses {
  /** null when it may be tried. */
  of(connectionId: string, nowMs: number): { leftMs: number; detail: string } | null;
  /** The pause that begins now; at least `askedMs`. */
  failed(connectionId: string, failure: Failure, askedMs: number | null, nowMs: number): number;
  ended(connectionId: string): void;
  /** What the provider has refused or not answered for some time, among the connections that `matters` names. */
  trouble(
    nowMs: number,
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
    of(connectionId, nowMs) {
      const found = failing.get(connectionId);
      if (found === undefined || found.untilMs <= nowMs) return null;
      return { leftMs: found.untilMs - nowMs, detail: found.detail };
    },
    failed(connectionId, failure, askedMs, nowMs) {
      const { failures = 0, sinceMs = nowMs } = failing.get(connectionId) ?? {};
      const pauseMs = Math.max(
        askedMs ?? 0,
        backoffMs(failures + 1, failure.isProviders ? bounds : boundsHere, random),
      );
      failing.set(connectionId, { ...failure, failures: failures + 1, sinceMs, untilMs: nowMs + pauseMs });
      return pauseMs;
    },
    ended: (connectionId) => void failing.delete(connectionId),
    trouble(nowMs, matters) {
      for (const connectionId of failing.keys()) if (!matters(connectionId)) failing.delete(connectionId);
      const lasting = [...failing.values()].filter(
        ({ isProviders, sinceMs }) => isProviders && nowMs - sinceMs >= patienceMs,
      );
      if (lasting.length === 0) return null;
      const count = lasting.length === 1 ? 'one connection' : `${lasting.length} connections`;
      return {
        sinceMs: Math.min(...lasting.map(({ sinceMs }) => sinceMs)),
        detail: `The tokens of ${count} cannot be renewed: ${(lasting[0] as Failing).detail}.`,
      };
    },
  };
}
