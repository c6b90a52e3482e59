/**
 * The embedded store does one thing at a time: what waits on a topic that is left alone costs a pick nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../src/store/sqlite/database';
import { openEngine } from '../../../src/store/sqlite/engine';
import { settingsFor } from '../../contract/open-sqlite';

/** The processor time of a hundred picks beside so many rows of a topic that is held. */
function costOfPicks(rowsHeld: number): number {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-held-'));
  const file = join(folder, 'store.db');
  const database = openDatabase(file);
  database.begin();
  for (const [topic, rows] of Object.entries({ held: rowsHeld, other: 10 }))
    database.run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
       INSERT INTO outbox (event_id, topic, key, slot, sequence, headers, value, bytes, cause, decided_at)
       SELECT ?1 || i, ?1, ?1 || i, i, 1, '[]', '{}', 100, 'x', 0 FROM n`,
      topic,
      rows,
    );
  database.commit();
  database.close();
  const engine = openEngine(settingsFor(file), () => 0);
  const began = process.cpuUsage();
  for (let times = 0; times < 100; times += 1) {
    const held = [{ topic: 'held', partition: 0, partitions: 1 }];
    const [picked] = engine.execute([{ verb: 'pickUnsent', args: [100, 1e9, held] }]);
    expect(picked).toMatchObject({ value: { length: 10 } });
  }
  const { user, system } = process.cpuUsage(began);
  engine.close();
  rmSync(folder, { recursive: true });
  return user + system;
}

test('a hundred times as much on a topic that is left alone does not make a pick ten times as dear', () => {
  expect(costOfPicks(100_000)).toBeLessThan(10 * costOfPicks(1000));
});
