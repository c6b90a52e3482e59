/**
 * The embedded store does one thing at a time: a step of retention is short however many resources each delivery named, and
 * however often each was named. What it asks the database for is counted, with the rows that it is handed.
 */
import { rmSync } from 'node:fs';
import type { Swept } from '../../../src/model/inspection';
import type { Database } from '../../../src/store/sqlite/database';
import { layStore, settingsFor } from '../../contract/open-sqlite';

let asked = 0;

jest.mock('../../../src/store/sqlite/database', () => {
  const real = jest.requireActual('../../../src/store/sqlite/database');
  return {
    ...real,
    openDatabase(file: string): Database {
      const database: Database = real.openDatabase(file);
      const counted = <Answer>(answer: Answer, rows: number) => {
        asked += 1 + rows;
        return answer;
      };
      return {
        ...database,
        all(sql, ...values) {
          const rows = database.all(sql, ...values);
          return counted(rows, rows.length);
        },
        run: (sql, ...values) => counted(database.run(sql, ...values), 0),
        get: (sql, ...values) => counted(database.get(sql, ...values), 1),
      };
    },
  };
});

import { openDatabase } from '../../../src/store/sqlite/database';
import { openEngine } from '../../../src/store/sqlite/engine';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const width = 100;

/** Deliveries of a hundred resources each, in turn of so many, of which every other was read. And one more, which stays. */
function layWide(deliveries: number, resources: number): { folder: string; file: string } {
  const laid = layStore();
  const database = openDatabase(laid.file);
  database.begin();
  database.run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO tasks (id, address, lane, state, generation) SELECT i, 'a' || i, '4711', 'done', 1000 FROM n`,
    resources,
  );
  database.run('INSERT INTO aliases (address, task_id) SELECT address, id FROM tasks');
  database.run(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${deliveries * width - 1})
     INSERT INTO hints SELECT i % ${resources} + 1, i / ${resources} + 1, i / ${width} + 1, i % ${width} FROM n`,
  );
  database.run(
    `INSERT INTO reads (task_id, fence, generation, outcome, at)
     SELECT task_id, generation, generation, 'unchanged', 0 FROM hints WHERE task_id % 2 = 1`,
  );
  database.run(
    `INSERT INTO deliveries (id, received_at, body_hash, bytes, notifications, acted, ignored, quarantined, elements)
     SELECT delivery_id, 0, 'h', 1, count(*), 0, 0, 0,
       json_group_array(json_object('line', 'hint', 'address', 'a' || task_id))
     FROM hints GROUP BY delivery_id`,
  );
  database.run(
    `INSERT INTO deliveries (received_at, body_hash, bytes, notifications, acted, ignored, quarantined, elements)
     VALUES (?, 'h', 1, 1, 0, 0, 0, '[]')`,
    nowMs,
  );
  database.commit();
  database.close();
  return laid;
}

interface Step {
  rows: number;
  asked: number;
}

/** The steps of retention, until it comes to its end. What was not read is folded then, and nothing else is left. */
function retain(deliveries: number, resources: number): Step[] {
  const { folder, file } = layWide(deliveries, resources);
  const engine = openEngine(settingsFor(file), () => nowMs);
  const steps: Step[] = [];
  for (let more = true; more; ) {
    asked = 0;
    const [step] = engine.execute([{ verb: 'sweep', args: [] }]);
    const { value } = step as { value: Swept };
    steps.push({ rows: value.rows, asked });
    ({ more } = value);
  }
  engine.close();
  const database = openDatabase(file);
  const left = database.get(
    `SELECT (SELECT count(*) FROM deliveries) AS deliveries, (SELECT count(*) FROM hints) AS hints,
       (SELECT count(*) FROM reads) AS reads, (SELECT sum(folded) FROM tasks) AS folded`,
  );
  database.close();
  rmSync(folder, { recursive: true });
  expect(left).toEqual({ deliveries: 1, hints: 0, reads: 0, folded: (deliveries * width) / 2 });
  return steps;
}

test.each([
  ['a hundred resources of its own', 40_000],
  ['a hundred of resources that were named fifty times', 800],
  ['the same hundred resources', 100],
])('retention of deliveries, each of which named %s, goes in short steps, and in few', (_, resources) => {
  const steps = retain(400, resources);
  expect(Math.max(...steps.map((step) => step.asked))).toBeLessThan(25_000);
  expect(steps.length).toBeLessThan(20);
});

test('of deliveries that all named the same, a step takes as many as cost what looking at these does', () => {
  // Its 120,000 hints and 60,000 reads are looked at in any case; each notification that goes costs as much as twenty looks.
  expect(retain(1200, 100)[0]!.rows).toBe(90);
});
