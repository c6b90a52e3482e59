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
const between = 10;

/** The processor time of the fastest of three looks at a resource that was told of so often, and read for each tenth time. */
function costOfLedger(notifications: number): number {
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
  const reads = notifications / between;
  const costs = [1, 2, 3].map(() => {
    const began = process.cpuUsage();
    const [told] = engine.execute([{ verb: 'ledgerPage', args: [0, 1000] }]);
    const { user, system } = process.cpuUsage(began);
    expect(told).toMatchObject({ value: { lines: { unchanged: reads, merged: notifications - reads } } });
    return user + system;
  });
  engine.close();
  rmSync(folder, { recursive: true });
  return Math.min(...costs);
}

test('the ledger of a resource that was told of ten times as often costs about ten times as much, and not a hundred times', () => {
  const few = costOfLedger(4_000);
  expect(costOfLedger(40_000)).toBeLessThan(40 * few);
});
