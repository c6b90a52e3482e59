// A clock that stands still until a test moves it; waits resolve in the order of their times. No real timer runs.
import type { Clock } from '../../../src/tools/clock';

export interface FakeClock extends Clock {
  /** Moves time on and lets everything that was waiting for it, and its consequences up to the next I/O, happen. */
  advance(ms: number): Promise<void>;
  /** Sets the clock without any wait noticing, as an administrator would. */
  set(nowMs: number): void;
  /** How many waits are open. */
  waiting(): number;
}

export function makeFakeClock(startMs = Date.UTC(2026, 0, 2, 3, 4, 5)): FakeClock {
  let elapsedMs = 0;
  let offsetMs = startMs;
  const waits = new Set<{ atMs: number; resolve: () => void }>();
  return {
    nowMs: () => offsetMs + elapsedMs,
    steadyMs: () => offsetMs + elapsedMs,
    set(nowMs) {
      offsetMs = nowMs - elapsedMs;
    },
    waiting: () => waits.size,
    wait(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const wait = { atMs: elapsedMs + ms, resolve };
        waits.add(wait);
        signal?.addEventListener('abort', () => waits.delete(wait) && resolve(), { once: true });
      });
    },
    async advance(ms) {
      const untilMs = elapsedMs + ms;
      for (;;) {
        const due = [...waits].filter((wait) => wait.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
        if (due === undefined) break;
        elapsedMs = due.atMs;
        waits.delete(due);
        due.resolve();
        await new Promise((resolve) => setImmediate(resolve));
      }
      elapsedMs = untilMs;
    },
  };
}
