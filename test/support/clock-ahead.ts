// Loaded before a program and before each of its threads: its clock is ahead by as many milliseconds as the file
// CLOCK_AHEAD_FILE says, from the moment in which it says so. Waiting takes as long as ever. `moved-clock.ts` writes it.
import { readFileSync } from 'node:fs';

const file = process.env.CLOCK_AHEAD_FILE;
const realMs = Date.now;
let aheadMs = 0;

if (file !== undefined) {
  // Looked at each time: what is done after the clock was moved must not be dated before, by one thread or the other.
  Date.now = () => {
    look(file);
    return realMs() + aheadMs;
  };
}

function look(path: string): void {
  try {
    aheadMs = Number(readFileSync(path, 'utf8'));
  } catch {
    // The test that wrote it is over.
  }
}
