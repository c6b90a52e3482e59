#!/usr/bin/env -S node --max-semi-space-size=16 --initial-old-space-size=24 --heap-growing-percent=60
/**
 * The command line as a process: its words, its streams, its exit code. What the words mean is in commands/.
 */
import { runCommandLine } from './commands/command-line';
import { processDoors } from './commands/doors';

// Whoever reads our output may stop reading, as `head` does: that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

const streams = {
  out: (text: string) => void process.stdout.write(text),
  error: (text: string) => void process.stderr.write(text),
  colors: process.stdout.isTTY === true,
};

void runCommandLine(process.argv.slice(2), streams, processDoors).then((exitCode) => {
  // Commands that run for long may have set their own.
  if (exitCode !== 0) process.exitCode = exitCode;
});
