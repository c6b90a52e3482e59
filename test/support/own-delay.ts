// How late a process is since it was not given a core: what is measured of others, or by them, holds that as well.
import { readFileSync } from 'node:fs';

const tickMs = 50;

/** Of this process, all in all since it was asked for: a timer that comes late shows what an answer also had to wait for. */
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

/** How long another's main thread was ready to run and had no core, ever; nothing where the system does not say. */
export function delayMsOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
