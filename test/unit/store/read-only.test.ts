/**
 * The embedded store's file while it is served: nobody else can lock it, and where it cannot be written any more each call
 * says so, changes nothing, and succeeds when it can be written again.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Database } from '../../../src/store/sqlite/database';
import { settingsFor } from '../../contract/open-sqlite';
import { deliveryOf, hintOf } from '../../contract/store-hand';

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

import { type Engine, openEngine } from '../../../src/store/sqlite/engine';
import type { LedgerOfDeliveries } from '../../../src/store/sqlite/ledger';

let folder: string;
let engine: Engine;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-read-only-'));
  engine = openEngine(settingsFor(join(folder, 'store.db')), () => 1000);
});
afterEach(() => {
  engine.close();
  rmSync(folder, { recursive: true });
});

const put = (id: string) => ({ verb: 'put' as const, args: [deliveryOf(1000, [hintOf(id)])] });
const accepted = () => {
  const [result] = engine.execute([{ verb: 'ledgerOfDeliveries', args: [0, null] }]);
  return (result as { value: LedgerOfDeliveries }).value.lines.accepted;
};

test('D3: a file that can only be read fails each call of a group, and takes the next when it can be written', () => {
  engine.execute([put('1')]);
  opened.get('PRAGMA query_only = ON');
  const results = engine.execute([put('2'), put('3')]);
  expect(results).toMatchObject([
    { problem: { code: 'store.unavailable', message: expect.stringContaining('readonly') } },
    { problem: { code: 'store.unavailable' } },
  ]);
  opened.get('PRAGMA query_only = OFF');
  expect(accepted()).toBe(1);
  expect(engine.execute([put('4')])).toMatchObject([{ value: { deliveryId: 'd2' } }]);
  expect(accepted()).toBe(2);
});

test('a file that is served can be locked by nobody else, and is written on', () => {
  engine.execute([put('1')]);
  const other = new DatabaseSync(join(folder, 'store.db'), { timeout: 0 });
  expect(() => other.exec('BEGIN IMMEDIATE')).toThrow(/locked/);
  expect(engine.execute([put('2')])).toMatchObject([{ value: { deliveryId: 'd2' } }]);
  other.close();
});
