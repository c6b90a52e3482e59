/**
 * Opens the store: the embedded one, on a thread of its own; or in this thread for tests, which move its clock.
 */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Problem, type ProblemCode } from '../model/problem';
import type { Store } from '../model/store';
import { groupedStore, type Result } from './group';
import type { StoreSettings } from './sqlite/context';
import { openEngine } from './sqlite/engine';

export type { StoreSettings } from './sqlite/context';

/** Throws `store.locked` when another process has it, `store.unavailable` when it cannot be opened. */
export async function openStore(settings: StoreSettings): Promise<Store> {
  const worker = new Worker(join(__dirname, 'sqlite', 'thread.js'), { workerData: settings });
  const asked: { resolve: (results: Result[]) => void; reject: (error: Error) => void }[] = [];
  let lost: Error | null = null;
  const fail = (error: Error): void => {
    lost = error;
    for (const { reject } of asked.splice(0)) reject(error);
  };
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (opened: { opened: boolean; code: ProblemCode; message: string }) => {
      if (opened.opened) return resolve();
      void worker.terminate();
      reject(new Problem(opened.code, opened.message));
    });
  });
  worker.on('error', fail);
  worker.on('exit', () => fail(new Error('the thread of the store ended')));
  worker.on('message', (answers: Result[][]) => {
    for (const results of answers) asked.shift()?.resolve(results);
  });
  return groupedStore(
    (calls) =>
      new Promise((resolve, reject) => {
        if (lost !== null) return reject(lost);
        asked.push({ resolve, reject });
        worker.postMessage(calls);
      }),
    async () => {
      worker.postMessage('close');
      await exited;
    },
  );
}

/** The same store in this thread, with the clock that is given. */
export function openStoreHere(settings: StoreSettings, nowMs: () => number): Store {
  const engine = openEngine(settings, nowMs);
  return groupedStore(
    async (calls) =>
      engine
        .execute(calls)
        .map((result) =>
          'problem' in result ? { code: result.problem.code, message: result.problem.message } : result,
        ),
    async () => engine.close(),
  );
}
