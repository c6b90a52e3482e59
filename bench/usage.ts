// What the system says of a process: memory and processor time, from Linux's /proc. Read only between or beside
// measurements, never by the process that is measured.
import { readFileSync } from 'node:fs';

/** Resident memory in megabytes (2^20 bytes). Throws where there is no /proc or no such process. */
export function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

/** Processor time so far in milliseconds, all threads, in steps of ten. */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may hold spaces; fields 14 and 15 are ticks of a hundredth of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
