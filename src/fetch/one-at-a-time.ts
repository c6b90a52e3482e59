/**
 * Turns for work that holds the event loop: one has its turn after the other, and between two of them everything else goes
 * on. Knows nothing of what is done in a turn.
 */

/** Longest time that is left to everything else between two turns. */
const pauseMsMax = 500;
/** After a shorter turn one round of the event loop is enough: a delivery takes a few of them. */
const longMsMin = 50;

/**
 * Each call resolves when its turn comes, in the order of the calls. A turn lasts for what its caller does without waiting
 * for anything outside; the next one begins when the event loop has gone round, and after 50 ms or more as long again, at most
 * 500 ms. Never rejects.
 */
export function makeTurns(): () => Promise<void> {
  let next = Promise.resolve();
  return () => {
    const mine = next;
    next = mine.then(async () => {
      const beganMs = performance.now();
      await new Promise(setImmediate);
      const tookMs = performance.now() - beganMs;
      if (tookMs < longMsMin) return;
      await new Promise((resolve) => setTimeout(resolve, Math.min(tookMs, pauseMsMax)));
    });
    return mine;
  };
}
