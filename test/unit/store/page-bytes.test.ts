/**
 * Pages are bounded in bytes before they are read: of many large events the embedded store reads no more than the page
 * may hold, and one that tells where it ends.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../src/store/sqlite/database';
import { settingsFor } from '../../contract/open-sqlite';

let opened: Database;
let rowsRead = 0;

jest.mock('../../../src/store/sqlite/database', () => {
  const real = jest.requireActual('../../../src/store/sqlite/database');
  return {
    ...real,
    openDatabase(file: string): Database {
      const database: Database = real.openDatabase(file);
      opened = {
        ...database,
        all(sql, ...values) {
          const rows = database.all(sql, ...values);
          rowsRead += rows.length;
          return rows;
        },
        *each(sql, ...values) {
          for (const row of database.each(sql, ...values)) {
            rowsRead += 1;
            yield row;
          }
        },
      };
      return opened;
    },
  };
});

import { type Engine, openEngine } from '../../../src/store/sqlite/engine';

let folder: string;
let engine: Engine;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-page-bytes-'));
  engine = openEngine(settingsFor(join(folder, 'store.db')), () => 1000);
  for (const state of [0, 2]) {
    opened.run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
       INSERT INTO outbox (event_id, topic, key, slot, sequence, headers, value, bytes, state, position, cause, decided_at)
       SELECT 'e' || ?1 || '-' || i, 't', '4711/equipment/' || i, 1, 1, '[]', '{}', 900000, ?1,
         iif(?1 = 0, NULL, i), 'd1', 0 FROM n`,
      state,
    );
  }
});
afterAll(() => {
  engine.close();
  rmSync(folder, { recursive: true });
});

function read<Value>(...call: Parameters<Engine['execute']>[0]): Value {
  rowsRead = 0;
  const [result] = engine.execute(call);
  return (result as { value: Value }).value;
}

test('of a hundred unsent records of 900 kB those that a batch may hold are read, and one more', () => {
  expect(read({ verb: 'pickUnsent', args: [500, 5_000_000, []] })).toHaveLength(5);
  expect(rowsRead).toBe(6);
});

test('of a hundred published ones a page holds 8 MB, and the rest comes with the next pages', () => {
  const pages: number[] = [];
  for (let after = 0; ; ) {
    const filter = { after, limit: 1000, type: null, organizationId: null };
    const { events } = read<{ events: { position: number }[] }>({ verb: 'listEvents', args: [filter] });
    if (events.length === 0) break;
    expect(rowsRead).toBeLessThanOrEqual(events.length + 1);
    pages.push(events.length);
    after = events.at(-1)!.position;
  }
  expect(pages).toEqual([...Array.from({ length: 12 }, () => 8), 4]);
});
