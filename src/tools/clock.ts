/**
 * The clock as a value, so that tests move it. Timers are here too: a loop that waits takes this and nothing else.
 */

export interface Clock {
  /** Milliseconds since the epoch, as people count them: set back and forth by whoever corrects them. */
  nowMs(): number;
  /**
   * The same, but never set back: for how long something lasts and until when it waits. Goes on by itself where `nowMs` was
   * set back, and on with it where that was set forth, or this machine stood still.
   */
  steadyMs(): number;
  /** Resolves after `ms`, 24 days at most, or at once when `signal` aborts or the time is past. Never rejects. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Why a wait is over; a reason of its own, since the default one is an error with its stack. */
const over = 'over';

/** Of a longer timer Node warns, and ends it at once. */
const timerMsMax = 2 ** 31 - 1;

/** How far the clock of this process is behind the furthest that the other one ever showed. */
let behindMs = Number.NEGATIVE_INFINITY;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  steadyMs() {
    const runMs = performance.now();
    behindMs = Math.max(behindMs, Date.now() - runMs);
    return Math.round(runMs + behindMs);
  },
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(Math.max(ms, 0), timerMsMax));
      signal?.addEventListener('abort', done, { once: true });
    }),
};

/** True when `work` ended within `ms`; no timer is left behind when it did. Rejects as `work` does. */
export async function endsWithin(work: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  const patience = new AbortController();
  try {
    return await Promise.race([work.then(() => true), clock.wait(ms, patience.signal).then(() => false)]);
  } finally {
    patience.abort(over);
  }
}

/** A part that is stepped again and again until it is stopped. */
export interface Loop {
  start(): void;
  /** Step now instead of waiting on. */
  wake(): void;
  /** Resolves when the step under way has ended. */
  stop(): Promise<void>;
}

/**
 * `step` says how long to wait until it is called again, in milliseconds; a wake ends the wait. A step that throws is
 * told to `failed` and called again after `afterFailureMs`.
 */
export function makeLoop(
  step: () => Promise<number>,
  clock: Clock,
  failed: (error: unknown) => void,
  afterFailureMs = 1000,
): Loop {
  const ended = new AbortController();
  let waiting: AbortController | null = null;
  let woken = false;
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      woken = false;
      const waitMs = await step().catch((error: unknown) => {
        failed(error);
        return afterFailureMs;
      });
      if (woken || waitMs <= 0 || ended.signal.aborted) continue;
      waiting = new AbortController();
      await clock.wait(waitMs, waiting.signal);
      waiting = null;
    }
  }

  function wake(): void {
    woken = true;
    waiting?.abort(over);
  }

  return {
    start() {
      running ??= run();
    },
    wake,
    async stop() {
      ended.abort();
      wake();
      await running;
    },
  };
}
