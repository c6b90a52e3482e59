/**
 * Opens the store: the embedded one, on a thread of its own; or in this thread for tests, which move its clock.
 */
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { Problem, type ProblemCode } from '../model/problem';
import type { Store } from '../model/store';
import { groupedStore, type Result } from './group';
import type { SetAside } from './quarantine-entry';
import type { StoreSettings } from './sqlite/context';
import { packCalls, unpackResults } from './sqlite/crossing';
import type * as Engine from './sqlite/engine';
import type { Call } from './sqlite/engine';
import type { Answers, ThreadData } from './sqlite/thread';

export type { StoreSettings } from './sqlite/context';

/** Of each half of the room for what is young in the store's thread: rows that are forgotten after their group. */
const youngMegabytes = 2;
/** So much is old in it before that is first collected: hardly more than half of this lives. */
const oldMegabytesAtFirst = 8;
/** A thread that could not be started is not started again at once. */
const restartMs = 1000;

/**
 * Throws `store.locked` when another process has it, `settings.invalid` when it can never be opened, `store.unavailable`
 * when it cannot now. A thread that is lost fails the calls that it had; later ones start another, which frees what the
 * lost one had taken.
 */
export async function openStore(
  settings: StoreSettings,
  setAside: SetAside = () => {},
  makeThread: (highest: number | null) => Worker = (highest) => startWorker({ settings, highest }),
): Promise<Store> {
  /** Also what a lost thread gave and did not save is not given again: whoever has it is in this process. */
  let highest: number | null = null;
  const heard = (given: number) => {
    highest = Math.max(highest ?? 0, given);
  };
  const start = () => startThread(makeThread(highest), heard);
  let starting = start();
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let thread = await starting;

  async function running(): Promise<Thread> {
    if (!thread.isLost()) return thread;
    const nowMs = performance.now();
    if (nowMs - triedAtMs >= restartMs) {
      triedAtMs = nowMs;
      starting = start();
    }
    thread = await starting;
    return thread;
  }

  return groupedStore(
    (calls) => (thread.isLost() ? running().then((next) => next.execute(calls)) : thread.execute(calls)),
    () => thread.close(),
    setAside,
  );
}

function startWorker(workerData: ThreadData): Worker {
  // The main thread has its room since the start; limits of the thread's own would yield to the flags of the process.
  setFlagsFromString(`--max-semi-space-size=${youngMegabytes}`);
  setFlagsFromString(`--initial-old-space-size=${oldMegabytesAtFirst}`);
  return new Worker(join(__dirname, 'sqlite', 'thread.js'), { workerData });
}

interface Thread {
  isLost(): boolean;
  execute(calls: Call[]): Promise<Result[]>;
  close(): Promise<void>;
}

/** Resolves when the thread has opened the store; rejects with what it said, or with why it ended. */
async function startThread(worker: Worker, heard: (highest: number) => void): Promise<Thread> {
  const asked: { resolve: (results: Result[]) => void; reject: (error: Error) => void }[] = [];
  let lost: Error | null = null;
  const fail = (error: Error): void => {
    lost ??= error;
    for (const { reject } of asked.splice(0)) reject(error);
  };
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.on('error', fail);
  worker.on('exit', () => fail(new Error('the thread of the store ended')));
  await new Promise<void>((resolve, reject) => {
    asked.push({ resolve: () => resolve(), reject });
    worker.once('message', (opened: { opened: boolean; code: ProblemCode; message: string }) => {
      asked.length = 0;
      if (opened.opened) return resolve();
      void worker.terminate();
      reject(new Problem(opened.code, opened.message));
    });
  });
  worker.on('message', (answers: Answers) => {
    heard(answers.highest);
    for (const results of answers.results) asked.shift()?.resolve(unpackResults(results));
  });
  return {
    isLost: () => lost !== null,
    execute: (calls) =>
      new Promise((resolve, reject) => {
        if (lost !== null) return reject(lost);
        asked.push({ resolve, reject });
        worker.postMessage(packCalls(calls));
      }),
    async close() {
      worker.postMessage('close');
      await exited;
    },
  };
}

/** The same store in this thread, with the clock that is given. */
export function openStoreHere(
  settings: StoreSettings,
  nowMs: () => number,
  setAside: SetAside = () => {},
): Store {
  // Elsewhere the thread alone has it.
  const { openEngine } = require('./sqlite/engine') as typeof Engine;
  const engine = openEngine(settings, nowMs);
  return groupedStore(
    async (calls) =>
      engine
        .execute(calls)
        .map((result) =>
          'problem' in result ? { code: result.problem.code, message: result.problem.message } : result,
        ),
    async () => engine.close(),
    setAside,
  );
}
