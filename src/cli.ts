#!/usr/bin/env -S env MALLOC_ARENA_MAX=2 node --max-semi-space-size=16 --initial-old-space-size=24 --heap-growing-percent=45 --no-allocation-site-pretenuring
/**
 * The command line as a process: its words, its streams, its exit code. What the words mean is in commands/, which is
 * loaded once this is known to be a Node that can.
 */
import { constants } from 'node:os';
import type * as CommandLine from './commands/command-line';
import type * as Doors from './commands/doors';
import type * as EarlyEnd from './commands/early-end';
import { complaintOfNode } from './commands/node-version';

const complaint = complaintOfNode(process.versions.node);
if (complaint !== null) {
  process.stderr.write(complaint);
  process.exit(2);
}

// As process 1 of a container a signal that nobody waits for is not heard: there it ends this process as it ends any other.
if (process.pid === 1) {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
    });
  }
}

// By itself Node opens its debugger at this signal, to everybody on this machine: from there all keys and tokens can be read.
process.on('SIGUSR1', () => {});

const { endEarly } = require('./commands/early-end') as typeof EarlyEnd;

// Whoever reads our output may stop reading, as `head` does: that is no fault.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  const isLeft = code === 'EPIPE';
  if (!isLeft) process.stderr.write(`tramline: standard output cannot be written: ${code ?? message}\n`);
  void endEarly(() => process.exit(isLeft ? 0 : 1));
});

// Where nobody can be told, as at a terminal that went away, work and what is to be kept before an end go on.
process.stderr.on('error', () => {});

const streams = {
  out: (text: string) => void process.stdout.write(text),
  error: (text: string) => void process.stderr.write(text),
  colors: process.stdout.isTTY === true,
  plain: process.stdout.isTTY === true && process.stdout.hasColors?.() === false,
  columns: () => process.stderr.columns,
};

const failedMsMax = 2000;

const { runCommandLine } = require('./commands/command-line') as typeof CommandLine;
const { processDoors } = require('./commands/doors') as typeof Doors;

void runCommandLine(process.argv.slice(2), streams, processDoors).then((exitCode) => {
  // Commands that run for long may have set their own.
  if (exitCode === 0) return;
  process.exitCode = exitCode;
  // What failed half-way may have left something open that nobody will close: it must not keep a dead process alive.
  setTimeout(() => process.exit(), failedMsMax).unref();
});
