// How long something takes that goes through several processes: real time, less what a busy machine kept one of them from
// running that was ready to. Linux tells that of each thread; elsewhere nothing is taken off.
import { readdirSync, readFileSync } from 'node:fs';

/** Of each thread of these processes, how long it was ready to run and had no core, in milliseconds since it began. */
export type ReadWaits = (pids: number[]) => Map<string, number>;

export type RunningClock = {
  /** Of no epoch. What was waited is taken off at each call: the more seldom it is asked, the less. */
  nowMs(): number;
};

/**
 * Between two calls as much is taken off as the thread waited that waited longest, and never more than the time between them:
 * that others waited meanwhile, or one after the other, is not known. `pids` are asked each time.
 */
export function makeRunningClock(
  pids: () => number[],
  readWaits: ReadWaits = waitsOf,
  realMs: () => number = () => performance.now(),
): RunningClock {
  let lastMs = realMs();
  let last = readWaits(pids());
  let runningMs = 0;
  return {
    nowMs() {
      const nowMs = realMs();
      const waits = readWaits(pids());
      // Of a thread that is new it is not known when it waited.
      const waited = [...waits].map(([thread, waitMs]) => waitMs - (last.get(thread) ?? waitMs));
      const passedMs = nowMs - lastMs;
      runningMs += passedMs - Math.min(passedMs, Math.max(0, ...waited));
      lastMs = nowMs;
      last = waits;
      return runningMs;
    },
  };
}

function waitsOf(pids: number[]): Map<string, number> {
  const waits = new Map<string, number>();
  for (const pid of pids) {
    for (const thread of threadsOf(pid)) {
      const waitMs = waitOf(pid, thread);
      if (waitMs !== null) waits.set(`${pid}/${thread}`, waitMs);
    }
  }
  return waits;
}

/** None of a process that has ended, or of a system that does not tell. */
function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** The second number is the time on the run queue, in nanoseconds. */
function waitOf(pid: number, thread: string): number | null {
  try {
    const [, queuedNanos] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(queuedNanos) / 1e6;
  } catch {
    return null;
  }
}
