/**
 * The embedded store does one thing at a time: what it is asked for must not take longer than a sender waits, however
 * often one resource was told of and read.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../src/store/sqlite/database';
import { openEngine } from '../../../src/store/sqlite/engine';
import { settingsFor } from '../../contract/open-sqlite';
import { deliveryOf, hintOf } from '../../contract/store-hand';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const notifications = 40_000;
const between = 10;

test('the ledger of a resource that was told of 40,000 times and read 4,000 times is told within a second', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-ledger-'));
  const file = join(folder, 'store.db');
  const first = openEngine(settingsFor(file), () => nowMs);
  first.execute([{ verb: 'put', args: [deliveryOf(nowMs, [hintOf('1')])] }]);
  first.close();
  const database = openDatabase(file);
  database.begin();
  for (let generation = 2; generation <= notifications; generation += 1) {
    database.run(
      'INSERT INTO hints (task_id, generation, delivery_id, element) VALUES (1, ?, 1, 0)',
      generation,
    );
    if (generation % between > 0) continue;
    const read = `INSERT INTO reads (task_id, fence, generation, outcome, at) VALUES (1, ?1, ?1, 'unchanged', 0)`;
    database.run(read, generation);
  }
  database.commit();
  database.close();
  const engine = openEngine(settingsFor(file), () => nowMs);
  const beganMs = performance.now();
  const [told] = engine.execute([{ verb: 'ledgerPage', args: [0, 1000] }]);
  const tookMs = performance.now() - beganMs;
  engine.close();
  rmSync(folder, { recursive: true });
  const reads = notifications / between;
  expect(told).toMatchObject({ value: { lines: { unchanged: reads, merged: notifications - reads } } });
  expect(tookMs).toBeLessThan(1000);
});
