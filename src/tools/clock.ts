/**
 * The clock as a value, so that tests move it. Timers are here too: a loop that waits takes this and nothing else.
 */

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
};
