/**
 * Whether the embedded store's log can be moved into its file, as a state that a person should know: what is in the log is
 * kept, but it grows until the disk is full, and then nothing is accepted.
 */
import type { Condition } from '../model/alert';
import type { Inspection } from '../model/inspection';
import type { Clock } from '../tools/clock';

export interface LogWatch {
  /** Asks the store. Throws what the store throws. */
  look(): Promise<void>;
  conditions(): Condition[];
}

/** Attempts that failed for a shorter time are nobody's business. */
const patienceMs = 30_000;

/** Tells of a log that was stuck at each look for 30 s. */
export function makeLogWatch(store: Pick<Inspection, 'logStuck'>, clock: Clock): LogWatch {
  let stuck: Condition | null = null;
  let seenAtMs = 0;
  return {
    async look() {
      const told = await store.logStuck();
      if (stuck === null) seenAtMs = clock.steadyMs();
      stuck = told && {
        name: 'store-log-stuck',
        // No later than now, also where the clock was set back since.
        sinceMs: Math.min(stuck?.sinceMs ?? told.sinceMs, clock.nowMs()),
        detail: `The store's log cannot be moved into its file: ${told.detail}.`,
      };
    },
    conditions: () => (stuck !== null && clock.steadyMs() - seenAtMs >= patienceMs ? [stuck] : []),
  };
}
