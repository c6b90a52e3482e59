/**
 * What every call to the provider tells, whatever it was answered: how it went, and what the provider's clock says.
 * Nothing is decided here.
 */
import type { ProcessWatch } from '../alert/process-watch';
import type { Settings } from '../config';
import type { ConnectionBook } from '../connect/connection-book';
import type { Called } from '../fetch/options';
import type { Observer } from '../observe/observer';
import type { Clock } from '../tools/clock';
import { callLine } from './options';

export interface CallsHeard {
  called(call: Called): void;
  clockOffsetMs: ClockHeard['offsetMs'];
}

/** What the provider's answers say of its clock. */
export interface ClockHeard {
  /** How far it was ahead of ours in an answer; null where that names no time. */
  hear(serverDateMs: number | null): number | null;
  /** The same of the last answer, where that came since then. */
  offsetMs(sinceMs: number): number | null;
}

/** Remembers the last only. Never throws. */
export function makeClockHeard(clock: Pick<Clock, 'nowMs'>): ClockHeard {
  let last: { offsetMs: number; atMs: number } | null = null;
  return {
    hear(serverDateMs) {
      if (serverDateMs === null) return null;
      const atMs = clock.nowMs();
      last = { offsetMs: serverDateMs - atMs, atMs };
      return last.offsetMs;
    },
    offsetMs: (sinceMs) => (last !== null && last.atMs >= sinceMs ? last.offsetMs : null),
  };
}

/** Is anything sent or taken by a signature, which holds for minutes by the clocks of both? Never throws. */
export function signs(
  { webhookAuth }: Pick<Settings, 'webhookAuth'>,
  book: Pick<ConnectionBook, 'connections'>,
): boolean {
  return webhookAuth.includes('hmac') || book.connections().some(({ auth }) => auth === 'oauth1');
}

/** What every call to the provider is told to: clock and metrics. Never throws. */
export function hearCalls(
  settings: Settings,
  parts: {
    watch: Pick<ProcessWatch, 'heardClock'>;
    observer: Observer;
  },
  clock: Pick<Clock, 'nowMs'>,
): CallsHeard {
  const heard = makeClockHeard(clock);
  return {
    called(call) {
      const offsetMs = heard.hear(call.serverDateMs);
      if (offsetMs !== null) parts.watch.heardClock(offsetMs);
      parts.observer.providerCall(callLine(settings, call, offsetMs));
    },
    clockOffsetMs: heard.offsetMs,
  };
}
