// The embedded store under test as `serve` has it: on a thread of its own, behind its channel. `npm test` builds dist/ first.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { openStore } from '../../src/store/open-store';
import type { StoreRules } from '../../src/store/store-rules';
import { repositoryRoot } from '../support/repository';
import { settingsFor } from './open-sqlite';
import type { StoreUnderTest } from './store-hand';

export interface ServedStore extends StoreUnderTest {
  /** Ends the thread wherever it is; the store starts another one for the next call. */
  loseThread(): Promise<void>;
}

/** A kill ends the thread: what is in an open transaction, or on its way to it, is gone. */
export async function openServed(rules: Partial<StoreRules> = {}): Promise<ServedStore> {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-served-'));
  const settings = { ...settingsFor(join(folder, 'store.db')), ...rules };
  const clock = new SharedArrayBuffer(8);
  const nowMs = new BigInt64Array(clock);
  Atomics.store(nowMs, 0, BigInt(Date.parse('2026-01-01T00:00:00Z')));
  let thread: Worker;
  const open = () =>
    openStore(
      settings,
      () => {},
      (highest) => {
        const entry = join(repositoryRoot(), 'dist/test/contract/thread-with-clock.js');
        thread = new Worker(entry, { workerData: { settings, highest, clock } });
        return thread;
      },
    );
  const loseThread = async () => void (await thread.terminate());
  let store = await open();
  return {
    store,
    loseThread,
    advance: (ms) => void Atomics.add(nowMs, 0, BigInt(ms)),
    nowMs: () => Number(Atomics.load(nowMs, 0)),
    async reopen() {
      await loseThread();
      store = await open();
      return store;
    },
    async close() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}
