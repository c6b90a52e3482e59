/**
 * The embedded store does one thing at a time: what retention does for a resource it does once for all deliveries of a page,
 * however many those are and however often the resource was told of. What is folded and what is kept is as if it went
 * through them one by one.
 */
import { rmSync } from 'node:fs';
import type { Swept } from '../../../src/model/inspection';
import { type Database, openDatabase } from '../../../src/store/sqlite/database';
import { openEngine } from '../../../src/store/sqlite/engine';
import { layStore, settingsFor } from '../../contract/open-sqlite';
import fc from '../../support/properties';

const dayMs = 86_400_000;
const nowMs = Date.parse('2026-01-01T00:00:00Z');
const beforeMs = nowMs - 30 * dayMs;

interface Hint {
  address: number;
  delivery: number;
}

interface Read {
  task: number;
  /** It covers the task's hints up to this generation. */
  covers: number;
  isOld: boolean;
}

/** The second address is that of a task which was joined to the first. */
const taskOf = ({ address }: Hint) => (address === 2 ? 1 : address);

/** Three tasks, each at its address; the third has a hint that was folded before. Each hint is a generation of its task. */
function fill(database: Database, hints: Hint[], reads: Read[], deliveries: number): void {
  for (const task of [1, 2, 3]) {
    database.run(
      `INSERT INTO tasks (id, address, lane, state, generation, joined_to, folded, folded_first_at, folded_last_at)
       VALUES (?1, 'a' || CAST(?1 AS INTEGER), '4711', 'done', 1000, ?2, ?3, 5000, 5000)`,
      task,
      task === 2 ? 1 : null,
      task === 3 ? 1 : 0,
    );
    database.run('INSERT INTO aliases (address, task_id) SELECT address, id FROM tasks WHERE id = ?', task);
  }
  // One more, which is young, and the last, which always stays.
  for (let id = 1; id <= deliveries + 2; id += 1) {
    const said = hints.filter(({ delivery }) => delivery === id);
    const elements = said.map(({ address }) => ({ line: 'hint', address: `a${address}` }));
    database.run(
      `INSERT INTO deliveries (id, received_at, body_hash, bytes, notifications, acted, ignored, quarantined, elements)
       VALUES (?1, ?2, 'h', 1, 1, 0, 0, 0, ?3)`,
      id,
      id <= deliveries ? receivedAt(id) : nowMs,
      JSON.stringify(elements),
    );
  }
  for (const [at, hint] of hints.entries())
    database.run('INSERT INTO hints VALUES (?, ?, ?, 0)', taskOf(hint), at + 1, hint.delivery);
  for (const [fence, { task, covers, isOld }] of reads.entries())
    database.run(
      `INSERT INTO reads (task_id, fence, generation, outcome, at) VALUES (?, ?, ?, 'unchanged', ?)`,
      task,
      fence + 1,
      covers,
      isOld ? beforeMs - 1 : beforeMs,
    );
}

/** Not in the order of their numbers: a clock may be set back. */
const receivedAt = (delivery: number) => 1000 + ((delivery * 7) % 11) * 1000;

/** What retention leaves of one task. */
function leftOf(task: number, hints: Hint[], reads: Read[], deliveries: number) {
  const own = hints.flatMap((hint, at) => (taskOf(hint) === task ? [{ ...hint, generation: at + 1 }] : []));
  const gone = own.filter(({ delivery }) => delivery <= deliveries);
  const kept = own.filter(({ delivery }) => delivery > deliveries);
  const ownReads = reads.flatMap((read, at) => (read.task === task ? [{ ...read, fence: at + 1 }] : []));
  const undecided = gone.filter(({ generation }) => !ownReads.some(({ covers }) => covers >= generation));
  const times = undecided.map(({ delivery }) => receivedAt(delivery));
  if (task === 3) times.push(5000);
  return {
    hints: kept.map(({ generation }) => generation),
    folded: times.length,
    first: times.length === 0 ? null : Math.min(...times),
    last: times.length === 0 ? null : Math.max(...times),
    reads: ownReads
      .filter(({ covers, isOld }) => !isOld || kept.some(({ generation }) => generation <= covers))
      .map(({ fence }) => fence),
  };
}

function found(database: Database, task: number) {
  const numbers = (sql: string) => database.all(sql, task).map(({ number }) => Number(number));
  const row = database.get('SELECT folded, folded_first_at, folded_last_at FROM tasks WHERE id = ?', task)!;
  return {
    hints: numbers('SELECT generation AS number FROM hints WHERE task_id = ? ORDER BY 1'),
    folded: row.folded,
    first: row.folded === 0 ? null : row.folded_first_at,
    last: row.folded === 0 ? null : row.folded_last_at,
    reads: numbers('SELECT fence AS number FROM reads WHERE task_id = ? ORDER BY 1'),
  };
}

const deliveries = 6;
const hint = fc.record({
  address: fc.constantFrom(1, 2, 3),
  delivery: fc.integer({ min: 1, max: deliveries + 1 }),
});
const read = fc.record({ task: fc.constantFrom(1, 3), covers: fc.nat(30), isOld: fc.boolean() });

test('what several deliveries of a page said of a resource is folded, and its reads are kept, as one by one', () => {
  fc.assert(
    fc.property(fc.array(hint, { maxLength: 30 }), fc.array(read, { maxLength: 6 }), (hints, reads) => {
      const { folder, file } = layStore();
      let database = openDatabase(file);
      database.begin();
      fill(database, hints, reads, deliveries);
      database.commit();
      database.close();
      const engine = openEngine(settingsFor(file), () => nowMs);
      engine.execute([{ verb: 'sweep', args: [] }]);
      engine.close();
      database = openDatabase(file);
      const left = [1, 3].map((id) => found(database, id));
      database.close();
      rmSync(folder, { recursive: true });
      expect(left).toEqual([1, 3].map((id) => leftOf(id, hints, reads, deliveries)));
    }),
  );
});

/** The processor time of a page of deliveries, all of which hinted one resource, that so many hinted in all. */
function costOfPage(hints: number): number {
  const { folder, file } = layStore();
  const database = openDatabase(file);
  database.begin();
  fill(database, [], [], 0);
  database.run('DELETE FROM deliveries');
  database.run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO deliveries (id, received_at, body_hash, bytes, notifications, acted, ignored, quarantined, elements)
     SELECT i, 1000, 'h', 1, 1, 0, 0, 0, '[{"line":"hint","address":"a1"}]' FROM n`,
    hints,
  );
  database.run('INSERT INTO hints SELECT 1, id, id, 0 FROM deliveries');
  database.run(
    `INSERT INTO reads (task_id, fence, generation, outcome, at) SELECT 1, id, id, 'unchanged', 1000 FROM deliveries`,
  );
  database.commit();
  database.close();
  const engine = openEngine(settingsFor(file), () => nowMs);
  const began = process.cpuUsage();
  const [swept] = engine.execute([{ verb: 'sweep', args: [] }]);
  const { user, system } = process.cpuUsage(began);
  expect(swept).toMatchObject({ value: { rows: 1000 } });
  engine.close();
  rmSync(folder, { recursive: true });
  return user + system;
}

test('a page of deliveries of a resource that was told of twenty times as often costs less than ten times as much', () => {
  const few = costOfPage(1_001);
  expect(costOfPage(20_000)).toBeLessThan(10 * few);
});

test.each([
  ['have 100,000 hints and reads together go in one step', 25_000, [4]],
  ['have more together go in a step each', 25_001, [2, 2]],
  ['have more than that alone go in a step each', 60_000, [2, 2]],
])('deliveries of two resources that %s', (_, hints, pages) => {
  const { folder, file } = layStore();
  const database = openDatabase(file);
  database.begin();
  const said = [1, 1, 3, 3].map((address, at) => ({ address, delivery: at + 1 }));
  fill(database, said, [], 4);
  database.run('DELETE FROM hints');
  for (const task of [1, 3]) {
    database.run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
       INSERT INTO hints SELECT ?1, i, 6, 0 FROM n`,
      task,
      hints,
    );
    database.run(
      `INSERT INTO reads (task_id, fence, generation, outcome, at)
       SELECT task_id, generation, generation, 'unchanged', ? FROM hints WHERE task_id = ?`,
      nowMs,
      task,
    );
  }
  database.commit();
  database.close();
  const engine = openEngine(settingsFor(file), () => nowMs);
  const swept: number[] = [];
  for (let more = true; more; ) {
    const [step] = engine.execute([{ verb: 'sweep', args: [] }]);
    const { value } = step as { value: Swept };
    if (value.rows > 0) swept.push(value.rows);
    ({ more } = value);
  }
  engine.close();
  rmSync(folder, { recursive: true });
  expect(swept).toEqual(pages);
});
