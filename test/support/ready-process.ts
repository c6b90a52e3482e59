// A program of ours as a real child process: started with exactly the environment it is given, ready when it prints its
// one JSON line, ended by its own id, also when the test runner dies. Knows nothing of what the program does.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { nodeEnvironment, nodeFlags, runnerEnvironment } from './node-flags';
import { endWithRunner } from './reaper';
import { repositoryRoot } from './repository';
import { until } from './until';

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type ReadyProcess = {
  pid: number;
  /** The JSON line that said it is ready. */
  ready: Record<string, unknown>;
  /** Every line printed so far, both streams, in the order of arrival. */
  lines(): string[];
  /** Those of `lines` that are JSON objects: the ready line and the log. */
  records(): Record<string, unknown>[];
  /** Settles when the process has ended, whatever ended it. */
  exited: Promise<Exit>;
  /** Sends the signal (SIGTERM when left out) and waits; after `withinMs` (40,000) kills it and throws. */
  stop(signal?: NodeJS.Signals, withinMs?: number): Promise<Exit>;
  /** SIGKILL, and waits for the end. May be called on one that has ended. */
  kill(): Promise<Exit>;
};

export type ProcessOptions = {
  /** The program, relative to the repository or absolute, and its words. */
  entry: string;
  words?: string[];
  /** A program and its words that turns into ours, as a tracer does that traces from aside. */
  under?: string[];
  /** The whole environment; only `runnerEnvironment` is added. */
  environment: Record<string, string | undefined>;
  workingFolder?: string;
  /** As whom it runs; as the runner when left out. Only root may choose. */
  identity?: { uid: number; gid: number };
  /** Which JSON line says that it is ready: one that has all of these keys. */
  readyKeys: string[];
  readyWithinMs?: number;
};

/** It ended, by itself or by a signal, before it was ready: `started` tells how, and what it printed. */
export class EndedBeforeReady extends Error {
  constructor(
    message: string,
    readonly started: ReadyProcess,
    readonly exit: Exit,
  ) {
    super(message);
  }
}

const living = new Set<ReadyProcess>();
const folders = new Set<string>();

/** A new empty folder for one test; removed when the suite ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-test-'));
  folders.add(folder);
  return folder;
}

/** Kills what the suite left running and removes its folders. Suites get this by themselves; benches call it. */
export async function cleanUp(): Promise<void> {
  await Promise.all([...living].map((process) => process.kill()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}

if (typeof afterAll === 'function') afterAll(cleanUp);

/**
 * Starts the program and answers when it is ready. Throws, with the last lines it printed, `EndedBeforeReady` when it ends
 * before, and an error when it is not ready in time (20 s when left out); it is killed then.
 */
export async function startProcess(options: ProcessOptions): Promise<ReadyProcess> {
  const entry = resolve(repositoryRoot(), options.entry);
  const [program, ...words] = [
    ...(options.under ?? []),
    process.execPath,
    ...nodeFlags(),
    entry,
    ...(options.words ?? []),
  ];
  const child = spawn(program!, words, {
    cwd: options.workingFolder ?? repositoryRoot(),
    env: { ...runnerEnvironment(), ...nodeEnvironment(), ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options.identity,
  });
  endWithRunner(child);
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const started = describeProcess(child, lines);
  living.add(started);
  void started.exited.then(() => living.delete(started));
  await waitUntilReady(started, child, options);
  return started;
}

async function waitUntilReady(
  started: ReadyProcess,
  child: ChildProcess,
  options: ProcessOptions,
): Promise<void> {
  const withinMs = options.readyWithinMs ?? 45_000;
  const findReady = (): boolean => {
    const line = started.records().find((record) => options.readyKeys.every((key) => key in record));
    if (line !== undefined) started.ready = line;
    return line !== undefined;
  };
  try {
    await until(() => findReady() || hasEnded(child), { withinMs, what: `${options.entry} to be ready` });
  } catch (error) {
    await started.kill();
    const { message } = error as Error;
    throw new Error(withLastLines(message, started), { cause: error });
  }
  if (hasEnded(child)) {
    // What was printed last arrives after the news of the end.
    const exit = await started.exited;
    const what = `${options.entry} ended before it was ready: ${exit.code ?? exit.signal}`;
    throw new EndedBeforeReady(withLastLines(what, started), started, exit);
  }
}

const withLastLines = (message: string, started: ReadyProcess): string =>
  `${message}\n${started.lines().slice(-20).join('\n')}`;

function describeProcess(child: ChildProcess, lines: string[]): ReadyProcess {
  const exited = new Promise<Exit>((settle) => {
    child.once('error', (error) => {
      lines.push(error.message);
      settle({ code: null, signal: null });
    });
    child.once('close', (code, signal) => settle({ code, signal }));
  });
  const kill = (): Promise<Exit> => {
    child.kill('SIGKILL');
    return exited;
  };
  return {
    pid: child.pid ?? -1,
    ready: {},
    lines: () => [...lines],
    records: () => lines.flatMap(asRecord),
    exited,
    kill,
    async stop(signal = 'SIGTERM', withinMs = 40_000) {
      child.kill(signal);
      try {
        await until(() => hasEnded(child), { withinMs, what: `the end after ${signal}` });
      } catch (error) {
        await kill();
        throw error;
      }
      return exited;
    },
  };
}

function asRecord(line: string): Record<string, unknown>[] {
  if (!line.startsWith('{')) return [];
  try {
    return [JSON.parse(line) as Record<string, unknown>];
  } catch {
    return [];
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}
