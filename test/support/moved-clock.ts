// The clock of real processes, moved forth while they run: of a service and of commands that are given `environment`.
// Only what they read of the clock moves; timers go on as they were set, and other processes know nothing of it.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './ready-process';
import { repositoryRoot } from './repository';

export type MovedClock = {
  /** Settings of the processes whose clock it is. */
  environment: Record<string, string>;
  /** As those processes read it. */
  nowMs(): number;
  /** Whatever they begin after this reads the clock as it is then; what they are at may have begun before. */
  advance(ms: number): void;
};

export function makeMovedClock(): MovedClock {
  const file = join(temporaryFolder(), 'ahead');
  let aheadMs = 0;
  const advance = (ms: number): void => {
    aheadMs += ms;
    writeFileSync(`${file}.new`, String(aheadMs));
    renameSync(`${file}.new`, file);
  };
  advance(0);
  return {
    environment: {
      NODE_OPTIONS: `--require ${join(repositoryRoot(), 'dist/test/support/clock-ahead.js')}`,
      CLOCK_AHEAD_FILE: file,
    },
    nowMs: () => Date.now() + aheadMs,
    advance,
  };
}
