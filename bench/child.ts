// Programs under measurement as processes of their own: standard output goes to a file, as in production to a collector,
// so that nobody in this process has to read while something is measured. Ended by their own ids, also when the bench dies.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeEnvironment, nodeFlags } from '../test/support/node-flags';
import { endWithRunner } from '../test/support/reaper';
import { repositoryRoot } from '../test/support/repository';
import { until } from '../test/support/until';

export interface Child {
  pid: number;
  /** The JSON line with which it said that it is ready. */
  ready: Record<string, unknown>;
  /** From the start of the process to its ready line, in milliseconds, to within 2 ms. */
  readyAfterMs: number;
  /** SIGTERM, then SIGKILL after ten seconds; waits for the end. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const readyMsMax = 60_000;
const stopMsMax = 10_000;

/** `entry` is a program below bench/; its environment is what is given, with PATH and HOME. */
export async function startChild(
  entry: string,
  folder: string,
  environment: Record<string, string>,
  words: string[] = [],
): Promise<Child> {
  const file = join(folder, `${entry.replaceAll('/', '-')}-${process.hrtime.bigint()}.log`);
  const output = openSync(file, 'a');
  const { PATH, HOME } = process.env;
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...flags(entry), pathOf(entry), ...words], {
    cwd: folder,
    env: { PATH, HOME, ...(isServe(entry) ? nodeEnvironment() : {}), ...environment },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  endWithRunner(child);
  const ready = await until(() => readyLine(file, child), {
    withinMs: readyMsMax,
    everyMs: 2,
    what: `${entry} to be ready`,
    unless: EndedBeforeReady,
  });
  return {
    pid: child.pid as number,
    ready,
    readyAfterMs: performance.now() - startedAt,
    stop: () => end(child, 'SIGTERM'),
    kill: () => end(child, 'SIGKILL'),
  };
}

/**
 * Node's flags for a program: the command's own for `serve`, also when it counts nothing, none for a floor; and those of `BENCH_FLAGS_SERVE=--cpu-prof`,
 * for whoever looks for where time goes.
 */
function flags(entry: string): string[] {
  const name = nameOf(entry).replaceAll('-', '_').toUpperCase();
  const wanted = (process.env[`BENCH_FLAGS_${name}`] ?? '').split(' ').filter((flag) => flag !== '');
  return isServe(entry) ? [...nodeFlags(), ...wanted] : wanted;
}

function isServe(entry: string): boolean {
  return nameOf(entry).startsWith('serve');
}

function nameOf(entry: string): string {
  return entry.slice(entry.lastIndexOf('/') + 1);
}

function pathOf(entry: string): string {
  return join(repositoryRoot(), 'dist', `${entry}.js`);
}

class EndedBeforeReady extends Error {}

function readyLine(file: string, child: ChildProcess): Record<string, unknown> | null {
  const lines = readFileSync(file, 'utf8').split('\n');
  // What follows the last line break is still being written.
  for (const text of lines.slice(0, -1)) {
    if (text.startsWith('{') && !text.includes('"level"')) return JSON.parse(text) as Record<string, unknown>;
  }
  if (child.exitCode === null && child.signalCode === null) return null;
  throw new EndedBeforeReady(`the program ended before it was ready:\n${lines.slice(-20).join('\n')}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill(signal);
  const overdue = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
  await ended;
  clearTimeout(overdue);
}

/** A process that is asked over its channel and answers each question once, in order. */
export interface Asked {
  pid: number;
  ask<Answer>(question: object): Promise<Answer>;
  stop(): Promise<void>;
}

export function forkChild(entry: string): Asked {
  const child = fork(pathOf(entry), [], { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  endWithRunner(child);
  return {
    pid: child.pid as number,
    ask: (question) =>
      new Promise((resolve, reject) => {
        const ended = () => reject(new Error(`${entry} ended without an answer`));
        child.once('exit', ended);
        child.once('message', (answer: { fault?: string }) => {
          child.off('exit', ended);
          if (answer.fault === undefined) resolve(answer as never);
          else reject(new Error(answer.fault));
        });
        child.send(question);
      }),
    stop: () => end(child, 'SIGTERM'),
  };
}
