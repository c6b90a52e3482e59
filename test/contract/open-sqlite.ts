// The embedded store under test, with the service's defaults and nothing of a real provider.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { QuarantineReason } from '../../src/model/notification';
import { openStoreHere, type StoreSettings } from '../../src/store/open-store';
import { openDatabase } from '../../src/store/sqlite/database';
import type { StoreRules } from '../../src/store/store-rules';
import type { DamageableStore } from './store-hand';

export function settingsFor(file: string): StoreSettings {
  return {
    file,
    envelope: {
      source: 'https://provider.example/vendor',
      topicPrefix: 'tramline',
      recordBytesMax: 1_000_000,
    },
    catalogAddress: 'https://provider.example/platform/',
    catalogMediaType: 'application/json',
    leaseMs: 60_000,
    readGapMs: 1000,
    probeMs: 15_000,
    probeMsMax: 900_000,
    probesPerMinute: 3000,
    journalMs: 30 * 86_400_000,
    eventMs: 30 * 86_400_000,
    eventBytesMax: 1e9,
    normalizerVersion: 3,
  };
}

let unused: Buffer | null = null;

/** A folder of its own with a store that nobody has used, whose steps are made once: they take longer than most cases. */
export function layStore(): { folder: string; file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-store-'));
  mkdirSync(join(folder, 'life-0'));
  const file = join(folder, 'life-0', 'store.db');
  if (unused === null) {
    openDatabase(file).close();
    unused = readFileSync(file);
  } else writeFileSync(file, unused);
  return { folder, file };
}

/**
 * A store in a folder of its own, with a clock that is moved by hand. A kill is a copy of its files as they stand, without
 * a commit and without a checkpoint: what is in an open transaction, or on its way to the store, is gone.
 */
export async function openSqlite(rules: Partial<StoreRules> = {}): Promise<DamageableStore> {
  const { folder } = layStore();
  let lives = 0;
  const ownFolder = () => join(folder, `life-${lives}`);
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const setAside: QuarantineReason[] = [];
  let changed: Partial<StoreRules> = {};
  const settings = () => ({ ...settingsFor(join(ownFolder(), 'store.db')), ...rules, ...changed });
  const open = () =>
    openStoreHere(
      settings(),
      () => nowMs,
      (reason) => setAside.push(reason),
    );
  let store = open();

  async function reopen(other: Partial<StoreRules> = {}) {
    changed = { ...changed, ...other };
    const [dead, left] = [store, ownFolder()];
    lives += 1;
    cpSync(left, ownFolder(), { recursive: true });
    // What it writes at its end goes nowhere.
    await dead.close();
    rmSync(left, { recursive: true });
    store = open();
    return store;
  }

  return {
    store,
    setAside,
    advance: (ms) => {
      nowMs += ms;
    },
    nowMs: () => nowMs,
    reopen,
    async tear(work) {
      await work();
      return reopen();
    },
    async damage(sql) {
      await store.close();
      const beside = new DatabaseSync(join(ownFolder(), 'store.db'));
      beside.exec(sql);
      beside.close();
      store = open();
      return store;
    },
    async close() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}
