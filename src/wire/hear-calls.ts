/**
 * What every call to the provider tells, whatever it was answered: how it went, and what the provider's clock says.
 * Nothing is decided here.
 */
import type { ProcessWatch } from '../alert/process-watch';
import type { Settings } from '../config';
import type { Called } from '../fetch/options';
import type { Observer } from '../observe/observer';
import type { Clock } from '../tools/clock';
import { callLine } from './options';

export interface CallsHeard {
  called(call: Called): void;
  /** The provider's clock as it stood in its last answer; null before the first. */
  serverDateMs(): number | null;
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
  let serverDateMs: number | null = null;
  return {
    called(call) {
      const nowMs = clock.nowMs();
      if (call.serverDateMs !== null) {
        serverDateMs = call.serverDateMs;
        parts.watch.heardClock(call.serverDateMs - nowMs);
      }
      parts.observer.providerCall(callLine(settings, call, nowMs));
    },
    serverDateMs: () => serverDateMs,
  };
}
