/**
 * Since when it is known what each connection sees, and when it is worth asking again. Listings on request take at most
 * a twentieth of the time, but for the one that follows a whole one of the start; they begin 2 s apart at least, and further
 * apart each time while they do not come to their end; and 10 min apart at the most. In memory: a process knows what it
 * listed itself.
 */
import type { Clock } from '../tools/clock';

/**
 * `whole`: every listing came to its end; `failed`: one broke off for the moment; neither: one was refused, or holds what
 * names nothing, and would soon be answered in the same way again.
 */
export interface HowListed {
  whole: boolean;
  failed: boolean;
}

export interface Learned {
  /** Everything is listed: false where one failed. Rejects as `list` does, which counts as a failure. */
  during(list: () => Promise<HowListed>): Promise<boolean>;
  /** The round that began last, until it has ended. */
  underWay(): Promise<boolean> | null;
  /** Is it time for one on request? */
  isDue(): boolean;
  /**
   * null when a whole listing began since. Otherwise one is asked for, unless `mayAsk` is false or one that did not fail for
   * the moment began since, and this is after how many milliseconds it is worth looking again.
   */
  since(sinceMs: number, mayAsk?: boolean): number | null;
  /**
   * null when a whole listing began since, or when listings were not whole for an hour and none of them failed for the
   * moment. Otherwise one is asked for, not too often, and this is after how many milliseconds it is worth asking again.
   */
  soughtSince(sinceMs: number): number | null;
  /** Whether one was sought before its time, which has come; none has begun since. */
  isSought(): boolean;
}

const gapMsMin = 2000;
/** As often as everything is listed anyway, however long a listing seems to have taken: the machine may have stood still. */
const gapMsMax = 600_000;
const gapPerMs = 20;
const pollMs = 1000;
/** What names nothing, or is refused, for so long is not waited for. */
const soughtForMs = 3_600_000;

/** `wanted` asks for a listing, after gaps that grow to 10 minutes at most: while they are not whole, or take long. */
export function makeLearned(clock: Clock, wanted: () => void): Learned {
  let underWay: Promise<boolean> | null = null;
  /** None has ended yet: what it takes is the start's too, with machine and catalog still cold. */
  let isFirst = true;
  /** When the last listing began that came to its end, and the last that ended as it will again. */
  let [wholeFromMs, soughtFromMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let nextMs = Number.NEGATIVE_INFINITY;
  /** After the next listing, unless that comes to its end. */
  let gapMs = gapMsMin;
  let sought = false;

  function askAgain(mayAsk = true): number {
    if (underWay !== null) return pollMs;
    const waitMs = nextMs - clock.steadyMs();
    if (waitMs <= 0 && mayAsk) wanted();
    return Math.max(waitMs, pollMs);
  }

  /** By the clock that listings are counted by. What lies ahead was dated before the clock was set back. */
  function steadyOf(sinceMs: number): number {
    const nowMs = clock.nowMs();
    return sinceMs > nowMs ? sinceMs : sinceMs + clock.steadyMs() - nowMs;
  }

  function ended(beganMs: number, { whole, failed }: HowListed): void {
    if (whole) gapMs = gapMsMin;
    const endedMs = clock.steadyMs();
    const shareMs = isFirst && whole ? 0 : (endedMs - beganMs) * gapPerMs;
    isFirst = false;
    nextMs = endedMs + Math.min(Math.max(gapMs, shareMs), gapMsMax);
    if (whole) wholeFromMs = beganMs;
    else gapMs = Math.min(gapMs * 2, gapMsMax);
    if (!failed) soughtFromMs = beganMs;
  }

  async function listed(list: () => Promise<HowListed>): Promise<boolean> {
    const beganMs = clock.steadyMs();
    let how: HowListed = { whole: false, failed: true };
    try {
      how = await list();
      return !how.failed;
    } finally {
      ended(beganMs, how);
    }
  }

  return {
    during(list) {
      sought = false;
      const round = listed(list).finally(() => {
        if (underWay === round) underWay = null;
      });
      underWay = round;
      return round;
    },
    underWay: () => underWay,
    isDue: () => nextMs <= clock.steadyMs(),
    since(sinceMs, mayAsk = true) {
      const fromMs = steadyOf(sinceMs);
      return wholeFromMs >= fromMs ? null : askAgain(mayAsk && soughtFromMs < fromMs);
    },
    soughtSince(sinceMs) {
      const fromMs = steadyOf(sinceMs);
      if (wholeFromMs >= fromMs || soughtFromMs >= fromMs + soughtForMs) return null;
      sought = true;
      return askAgain();
    },
    isSought: () => sought && underWay === null && nextMs <= clock.steadyMs(),
  };
}
