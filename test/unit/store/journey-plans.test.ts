/**
 * No statement of a journey walks through a table that grows: the embedded store looks up every row by an index.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../src/store/sqlite/database';
import { settingsFor } from '../../contract/open-sqlite';
import { address, aliasHintOf, aliasOf, draftOf, Hand, hintOf, terms } from '../../contract/store-hand';

let opened: Database;
let statements: Set<string> | null = null;

jest.mock('../../../src/store/sqlite/database', () => {
  const real = jest.requireActual('../../../src/store/sqlite/database');
  return {
    ...real,
    openDatabase(file: string): Database {
      const database: Database = real.openDatabase(file);
      opened = database;
      return {
        ...database,
        all(sql, ...values) {
          statements?.add(sql);
          return database.all(sql, ...values);
        },
        get(sql, ...values) {
          statements?.add(sql);
          return database.get(sql, ...values);
        },
      };
    },
  };
});

import { openStoreHere } from '../../../src/store/open-store';

/** Bounded: the runs that are kept, the tasks of one delivery, what a statement was handed. */
const bounded = /SCAN (e|n|named|sync_runs|json_each|CONSTANT ROW)\b/;

test('every row that a journey tells is looked up', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-plans-'));
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const store = openStoreHere(settingsFor(join(folder, 'store.db')), () => nowMs);
  const advance = (ms: number) => {
    nowMs += ms;
  };
  const hand = new Hand({
    store,
    advance,
    nowMs: () => nowMs,
    reopen: async () => store,
    close: () => store.close(),
  });
  await hand.publish('1', 'a');
  await hand.put([aliasHintOf('1')]);
  await hand.finish(await hand.takeAt(aliasOf('1')), draftOf('1', 'b'));
  await hand.observe(terms);
  await hand.put([hintOf('1')]);
  const ids = (await hand.records()).map(({ eventId }) => eventId);
  statements = new Set();
  for (const told of [
    'd1',
    'd2',
    'd3',
    'd9',
    address('1'),
    aliasOf('1'),
    ...ids,
    '0123456789abcdef0123456789abcdef',
  ])
    await store.explain(told);
  const asked = [...statements];
  statements = null;
  expect(asked.length).toBeGreaterThan(10);
  const scans = asked.flatMap((sql) =>
    opened
      .all(`EXPLAIN QUERY PLAN ${sql}`)
      .map(({ detail }) => String(detail))
      .filter((detail) => detail.startsWith('SCAN') && !bounded.test(detail))
      .map((detail) => `${detail}: ${sql}`),
  );
  expect(scans).toEqual([]);
  await store.close();
  rmSync(folder, { recursive: true });
});
