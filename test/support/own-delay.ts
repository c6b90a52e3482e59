// How late this process is itself, since it was not given a core: what it measures of others holds that as well.
const tickMs = 50;

/** All in all since it was asked for: a timer that comes late shows what an answer also had to wait for. */
export function watchOwnDelay(): () => number {
  let delayMs = 0;
  let dueMs = performance.now() + tickMs;
  const tick = () => {
    const nowMs = performance.now();
    delayMs += Math.max(0, nowMs - dueMs);
    dueMs = nowMs + tickMs;
    setTimeout(tick, tickMs).unref();
  };
  setTimeout(tick, tickMs).unref();
  return () => delayMs + Math.max(0, performance.now() - dueMs);
}
