/**
 * The embedded store does one thing at a time: what the relay is not to send, since its topic is left alone or Kafka has it,
 * costs nothing while it looks for what it is to send; nor what an operator is to look at, while retention looks for what goes.
 */
import { rmSync } from 'node:fs';
import type { Swept } from '../../../src/model/inspection';
import { openDatabase } from '../../../src/store/sqlite/database';
import { type Engine, openEngine } from '../../../src/store/sqlite/engine';
import { layStore, settingsFor } from '../../contract/open-sqlite';

/** Older than the journal is all that was decided at 0. */
const nowMs = 40 * 86_400_000;

interface Backlog {
  state: number;
  rows: number;
  look: (engine: Engine) => void;
}

/** A store with so many rows of one topic in that state, those that were refused each with an entry, and ten of another. */
function lay({ state, rows }: Omit<Backlog, 'look'>): { folder: string; file: string } {
  const laid = layStore();
  const database = openDatabase(laid.file);
  database.begin();
  const fill = (topic: string, count: number, inState: number) =>
    database.run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
       INSERT INTO outbox (event_id, topic, key, slot, sequence, headers, value, bytes, cause, decided_at, state, log_offset)
       SELECT ?1 || i, ?1, ?1 || i, i, 1, '[]', '{}', 100, 'x', 0, ?3, iif(?3 = 3, NULL, '1') FROM n`,
      topic,
      count,
      inState,
    );
  fill('backlog', rows, state);
  fill('other', 10, 0);
  database.run(
    `INSERT INTO quarantine (what, reason, path, outbox_id, at)
     SELECT 'record', 'record-too-large', '', id, 0 FROM outbox WHERE state = 3`,
  );
  database.commit();
  database.close();
  return laid;
}

/** The processor time of a hundred looks for ten rows, beside so many of another topic in that state. */
function costOf({ look, ...backlog }: Backlog): number {
  const { folder, file } = lay(backlog);
  const engine = openEngine(settingsFor(file), () => nowMs);
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
  [
    'with an operator does not make a step of retention',
    {
      state: 3,
      look(engine) {
        expect(engine.execute([{ verb: 'sweep', args: [] }])).toMatchObject([{ value: { rows: 0 } }]);
      },
    },
  ],
])('a hundred times as much %s ten times as dear', (_, backlog) => {
  expect(costOf({ ...backlog, rows: 100_000 })).toBeLessThan(10 * costOf({ ...backlog, rows: 1000 }));
});

test('what was refused and given up goes behind more than a page of what waits for an operator', () => {
  const { folder, file } = lay({ state: 3, rows: 2500 });
  let database = openDatabase(file);
  database.run(`UPDATE quarantine SET state = 'discarded' WHERE id IN (1, 2000, 2001, 2500)`);
  database.close();
  const engine = openEngine(settingsFor(file), () => nowMs);
  let steps = 0;
  for (let more = true; more; steps += 1) {
    const [step] = engine.execute([{ verb: 'sweep', args: [] }]);
    ({ more } = (step as { value: Swept }).value);
  }
  expect(steps).toBe(3);
  engine.close();
  database = openDatabase(file);
  expect(database.all('SELECT id FROM outbox WHERE id IN (1, 2000, 2001, 2500)')).toEqual([]);
  expect(database.get('SELECT count(*) AS left FROM outbox WHERE state = 3')).toEqual({ left: 2496 });
  database.close();
  rmSync(folder, { recursive: true });
});
