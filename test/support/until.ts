// Waiting for another process. For suites that watch a real process from outside only: where the code under test is in
// this process, step it by hand instead.
import { setTimeout as delay } from 'node:timers/promises';

/** Bounds of one wait; `what` names the awaited fact in the error, `unless` the kind of error that ends the wait. */
export type Wait = {
  withinMs: number;
  everyMs?: number;
  what?: string;
  unless?: new (...details: never[]) => Error;
};

/**
 * Asks `condition` again and again until it answers something truthy, and returns that answer. A condition that throws
 * has not come true yet, unless it is of the kind named by `unless`. Throws after `withinMs` with what was awaited and the last error.
 */
export async function until<T>(condition: () => T | Promise<T>, wait: Wait): Promise<NonNullable<T>> {
  const deadline = performance.now() + wait.withinMs;
  let lastError: unknown;
  for (;;) {
    try {
      const answer = await condition();
      if (answer) return answer;
      lastError = undefined;
    } catch (error) {
      if (wait.unless !== undefined && error instanceof wait.unless) throw error;
      lastError = error;
    }
    if (performance.now() >= deadline) {
      throw new Error(`Not within ${wait.withinMs} ms: ${wait.what ?? condition.toString()}`, {
        cause: lastError,
      });
    }
    await delay(wait.everyMs ?? 25);
  }
}
