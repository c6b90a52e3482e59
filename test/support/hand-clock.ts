// A clock that stands still until it is moved by hand. What waits for it is let go when the time has come, in order.
import type { Clock } from '../../src/tools/clock';

export type HandClock = Clock & {
  /** Moves the clock on, lets waiters go, and lets what hangs on them run. */
  advance(ms: number): Promise<void>;
  /** As it passes for a process that does not run: what waits is let go with the next advance. */
  standStill(ms: number): void;
  /** What people count is corrected: nobody waits for longer. */
  setBack(ms: number): void;
};

export function makeHandClock(startMs: number): HandClock {
  let nowMs = startMs;
  let backMs = 0;
  let waiters: { atMs: number; go: () => void }[] = [];
  return {
    nowMs: () => nowMs - backMs,
    steadyMs: () => nowMs,
    standStill(ms) {
      nowMs += ms;
    },
    setBack(ms) {
      backMs += ms;
    },
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const waiter = { atMs: nowMs + ms, go: resolve };
        waiters.push(waiter);
        signal?.addEventListener('abort', () => {
          waiters = waiters.filter((other) => other !== waiter);
          resolve();
        });
      }),
    async advance(ms) {
      nowMs += ms;
      const due = waiters.filter(({ atMs }) => atMs <= nowMs).sort((left, right) => left.atMs - right.atMs);
      waiters = waiters.filter(({ atMs }) => atMs > nowMs);
      for (const { go } of due) go();
      await new Promise(setImmediate);
    },
  };
}
