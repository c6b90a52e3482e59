// What the system says of a process: memory and processor time, from Linux's /proc. Read only between or beside
// measurements, never by the process that is measured.
import { readdirSync, readFileSync } from 'node:fs';

/** Resident memory in megabytes (2^20 bytes). Throws where there is no /proc or no such process. */
export function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

/** Processor time so far in milliseconds: of the main thread, of worker threads (the store's), of all others. */
export interface ProcessorTime {
  mainMs: number;
  storeMs: number;
  otherMs: number;
}

/** To the microsecond, as the scheduler counts it. What a thread that has ended used is not in it. */
export function processorTime(pid: number): ProcessorTime {
  const time: ProcessorTime = { mainMs: 0, storeMs: 0, otherMs: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    const ms = Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
    const isStore = readFileSync(`${folder}/comm`, 'utf8').startsWith('WorkerThread');
    time[thread === String(pid) ? 'mainMs' : isStore ? 'storeMs' : 'otherMs'] += ms;
  }
  return time;
}

/** Microseconds of one item, between two readings. */
export interface MicrosEach {
  main: number;
  store: number;
  other: number;
  all: number;
}

export function microsEach(before: ProcessorTime, after: ProcessorTime, items: number): MicrosEach {
  const each = (from: number, until: number) => ((until - from) * 1000) / items;
  const main = each(before.mainMs, after.mainMs);
  const store = each(before.storeMs, after.storeMs);
  const other = each(before.otherMs, after.otherMs);
  return { main, store, other, all: main + store + other };
}
