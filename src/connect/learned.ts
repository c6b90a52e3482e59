/**
 * Since when it is known what each connection sees, and when it is worth asking again. Listings on request take at most
 * a twentieth of the time, however many organizations there are. In memory: a process knows what it listed itself.
 */
import type { Clock } from '../tools/clock';

export interface Learned {
  began(): void;
  /** `whole`: every listing came to its end; `failed`: one broke off for the moment; neither: no listing will tell more. */
  ended(how: { whole: boolean; failed: boolean }): void;
  /**
   * null when a whole listing began since. Otherwise one is asked for, not too often, and this is after how many
   * milliseconds it is worth asking again.
   */
  since(sinceMs: number): number | null;
  /** As `since`, but null too when listings were not whole for an hour and none of them failed for the moment. */
  soughtSince(sinceMs: number): number | null;
}

const gapMsMin = 2000;
const gapPerMs = 20;
const pollMs = 1000;
/** What names nothing, or is refused, for so long is not waited for. */
const soughtForMs = 3_600_000;

/** `wanted` asks for a listing. */
export function makeLearned(clock: Clock, wanted: () => void): Learned {
  let beganMs = 0;
  let steadyBeganMs = 0;
  let learning = false;
  /** When the last listing began that came to its end, and the last that ended as it will again. */
  let [wholeFromMs, soughtFromMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let nextMs = Number.NEGATIVE_INFINITY;

  function askAgain(): number {
    if (learning) return pollMs;
    const waitMs = nextMs - clock.steadyMs();
    if (waitMs <= 0) wanted();
    return Math.max(waitMs, pollMs);
  }

  return {
    began() {
      beganMs = clock.nowMs();
      steadyBeganMs = clock.steadyMs();
      learning = true;
    },
    ended({ whole, failed }) {
      learning = false;
      const endedMs = clock.steadyMs();
      nextMs = endedMs + Math.max(gapMsMin, (endedMs - steadyBeganMs) * gapPerMs);
      if (whole) wholeFromMs = beganMs;
      if (!failed) soughtFromMs = beganMs;
    },
    since: (sinceMs) => (wholeFromMs >= sinceMs ? null : askAgain()),
    soughtSince: (sinceMs) =>
      wholeFromMs >= sinceMs || soughtFromMs >= sinceMs + soughtForMs ? null : askAgain(),
  };
}
