// A disk that fails a flush: a small library, built here, that a program loads before its own. Once told, the next
// `fdatasync` of any process that has it answers EIO, once; everything else is the system's own. PostgreSQL flushes its log
// that way.
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Availability } from './neighbour';
import { temporaryFolder } from './ready-process';

export type FailingFlush = {
  /** What a program is started with. */
  environment: { LD_PRELOAD: string };
  /** The next flush fails. */
  failNext(): void;
};

/** Numbers of the system call, by the processor's name in C. No header is needed for it, so that a compiler is enough. */
const sourceOf = (told: string) => `
#if defined(__x86_64__)
#define NUMBER 75
#elif defined(__aarch64__)
#define NUMBER 83
#endif
extern int unlink(const char *);
extern long syscall(long, ...);
extern int *__errno_location(void);
int fdatasync(int file) {
  if (unlink("${told}") != 0) return (int)syscall(NUMBER, file);
  *__errno_location() = 5;
  return -1;
}
`;

/** Builds it in a folder of its own; says why where that cannot be. */
export function buildFailingFlush(): Availability & { flush?: FailingFlush } {
  const folder = temporaryFolder();
  // The database runs as somebody else, and takes back what it is told.
  chmodSync(folder, 0o777);
  const told = join(folder, 'fail');
  const library = join(folder, 'failing-flush.so');
  const source = join(folder, 'failing-flush.c');
  writeFileSync(source, sourceOf(told));
  const words = ['-shared', '-fPIC', '-nostdlib', '-o', library, source];
  const built = spawnSync('gcc', words, { encoding: 'utf8' });
  if (built.status !== 0) return { available: false, reason: 'it builds no library here' };
  return {
    available: true,
    flush: { environment: { LD_PRELOAD: library }, failNext: () => writeFileSync(told, '') },
  };
}
