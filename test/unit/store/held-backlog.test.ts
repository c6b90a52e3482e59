/**
 * The embedded store does one thing at a time: what the relay is not to send, since its topic is left alone or Kafka has it,
 * costs nothing while it looks for what it is to send.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../src/store/sqlite/database';
import { type Engine, openEngine } from '../../../src/store/sqlite/engine';
import { settingsFor } from '../../contract/open-sqlite';

interface Backlog {
  state: number;
  rows: number;
  look: (engine: Engine) => void;
}

/** The processor time of a hundred looks for ten rows, beside so many of another topic in that state. */
function costOf({ state, rows, look }: Backlog): number {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-backlog-'));
  const file = join(folder, 'store.db');
  const database = openDatabase(file);
  database.begin();
  const fill = (topic: string, count: number, inState: number) =>
    database.run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
       INSERT INTO outbox (event_id, topic, key, slot, sequence, headers, value, bytes, cause, decided_at, state, log_offset)
       SELECT ?1 || i, ?1, ?1 || i, i, 1, '[]', '{}', 100, 'x', 0, ?3, '1' FROM n`,
      topic,
      count,
      inState,
    );
  fill('backlog', rows, state);
  fill('other', 10, 0);
  database.commit();
  database.close();
  const engine = openEngine(settingsFor(file), () => 0);
  const began = process.cpuUsage();
  for (let times = 0; times < 100; times += 1) look(engine);
  const { user, system } = process.cpuUsage(began);
  engine.close();
  rmSync(folder, { recursive: true });
  return user + system;
}

test.each<[string, Omit<Backlog, 'rows'>]>([
  [
    'on a topic that is left alone does not make a pick',
    {
      state: 0,
      look(engine) {
        const held = [{ topic: 'backlog', partition: 0, partitions: 1 }];
        const [picked] = engine.execute([{ verb: 'pickUnsent', args: [100, 1e9, held] }]);
        expect(picked).toMatchObject({ value: { length: 10 } });
      },
    },
  ],
  [
    'in Kafka does not make the look for what only the log has',
    {
      state: 2,
      look(engine) {
        for (let after: number | null = 0; after !== null; ) {
          const [page] = engine.execute([{ verb: 'resendLogged', args: [after, 2000] }]);
          after = (page as { value: number | null }).value;
        }
      },
    },
  ],
])('a hundred times as much %s ten times as dear', (_, backlog) => {
  expect(costOf({ ...backlog, rows: 100_000 })).toBeLessThan(10 * costOf({ ...backlog, rows: 1000 }));
});
