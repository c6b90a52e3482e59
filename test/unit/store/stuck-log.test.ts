/**
 * A log that cannot be moved into the store's file: the store says since when, and a person is told once it has lasted.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StuckLog } from '../../../src/model/inspection';
import type { Database } from '../../../src/store/sqlite/database';
import { settingsFor } from '../../contract/open-sqlite';
import { deliveryOf, hintOf } from '../../contract/store-hand';
import { makeHandClock } from '../../support/hand-clock';

let opened: Database;

jest.mock('../../../src/store/sqlite/database', () => {
  const real = jest.requireActual('../../../src/store/sqlite/database');
  return {
    ...real,
    openDatabase: (file: string): Database => {
      opened = real.openDatabase(file);
      return opened;
    },
  };
});

import { openEngine } from '../../../src/store/sqlite/engine';
import { makeLogWatch } from '../../../src/store/watch-log';

test('the store says since when each move of its log failed, and why, until one succeeds', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-stuck-log-'));
  let nowMs = 1000;
  const engine = openEngine(settingsFor(join(folder, 'store.db')), () => nowMs);
  const put = (id: string) => engine.execute([{ verb: 'put', args: [deliveryOf(nowMs, [hintOf(id)])] }])[0];
  const logStuck = () => engine.execute([{ verb: 'logStuck', args: [] }])[0];
  expect(put('1')).toHaveProperty('value');
  // A reader that has not come to its end is one reason of many.
  const reading = opened.each('SELECT name FROM meta')[Symbol.iterator]();
  reading.next();
  for (nowMs = 2000; nowMs < 5000; nowMs += 1000) {
    expect(put(`at ${nowMs}`)).toHaveProperty('value');
    engine.checkpoint(true);
    expect(logStuck()).toEqual({ value: { sinceMs: 2000, detail: expect.stringContaining('locked') } });
  }
  reading.return?.();
  // What is not tried says nothing.
  engine.commit();
  engine.checkpoint();
  expect(logStuck()).toMatchObject({ value: { sinceMs: 2000 } });
  engine.commit();
  engine.checkpoint(true);
  expect(logStuck()).toEqual({ value: null });
  engine.close();
  rmSync(folder, { recursive: true });
});

test('a log that is stuck for half a minute is told with its error, and no more once it was moved', async () => {
  const clock = makeHandClock(100_000);
  let told: StuckLog | null = null;
  const watch = makeLogWatch({ logStuck: async () => told }, clock);
  const look = async (afterMs: number) => {
    await clock.advance(afterMs);
    await watch.look();
    return watch.conditions();
  };
  expect(await look(0)).toEqual([]);
  told = { sinceMs: 99_000, detail: 'disk I/O error' };
  expect(await look(0)).toEqual([]);
  expect(await look(29_999)).toEqual([]);
  clock.setBack(60_000);
  const detail = "The store's log cannot be moved into its file: disk I/O error.";
  expect(await look(1)).toEqual([{ name: 'store-log-stuck', sinceMs: 70_000, detail }]);
  told = null;
  expect(await look(2000)).toEqual([]);
  told = { sinceMs: 99_000, detail: 'disk I/O error' };
  expect(await look(2000)).toEqual([]);
});
