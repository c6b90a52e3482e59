// The embedded store under test as `serve` has it: on a thread of its own, behind its channel. `npm test` builds dist/ first.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { QuarantineReason } from '../../src/model/notification';
import { openStore } from '../../src/store/open-store';
import type { StoreRules } from '../../src/store/store-rules';
import { repositoryRoot } from '../support/repository';
import { layStore, settingsFor } from './open-sqlite';
import type { DamageableStore } from './store-hand';

export interface ServedStore extends DamageableStore {
  /** Ends the thread wherever it is; the store starts another one for the next call. */
  loseThread(): Promise<void>;
}

/** A kill ends the thread: what is in an open transaction, or on its way to it, is gone. */
export async function openServed(rules: Partial<StoreRules> = {}): Promise<ServedStore> {
  const { folder, file } = layStore();
  let settings = { ...settingsFor(file), ...rules };
  const clock = new SharedArrayBuffer(8);
  const nowMs = new BigInt64Array(clock);
  Atomics.store(nowMs, 0, BigInt(Date.parse('2026-01-01T00:00:00Z')));
  const setAside: QuarantineReason[] = [];
  let thread: Worker;
  // A thread that is lost is not started anew at once after another one was.
  let losses = 0;
  const realMs = performance.now.bind(performance);
  performance.now = () => realMs() + losses * 1000;
  const open = () =>
    openStore(
      settings,
      (reason) => setAside.push(reason),
      (highest) => {
        const entry = join(repositoryRoot(), 'dist/test/contract/thread-with-clock.js');
        thread = new Worker(entry, { workerData: { settings, highest, clock } });
        return thread;
      },
    );
  const loseThread = async () => {
    losses += 1;
    await thread.terminate();
  };
  let store = await open();
  async function reopen(changed: Partial<StoreRules> = {}) {
    settings = { ...settings, ...changed };
    await loseThread();
    store = await open();
    return store;
  }
  return {
    store,
    setAside,
    loseThread,
    reopen,
    advance: (ms) => void Atomics.add(nowMs, 0, BigInt(ms)),
    nowMs: () => Number(Atomics.load(nowMs, 0)),
    outlived: true,
    async tear(work) {
      await work();
      await loseThread();
      return store;
    },
    async damage(sql) {
      await store.close();
      const beside = new DatabaseSync(settings.file);
      beside.exec(sql);
      beside.close();
      store = await open();
      return store;
    },
    async close() {
      await store.close();
      performance.now = realMs;
      rmSync(folder, { recursive: true });
    },
  };
}
