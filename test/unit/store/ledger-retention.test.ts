/**
 * The ledger is told in pages, between which the embedded store goes on with other work: it balances whatever retention
 * does meanwhile, and retention goes on whoever asks for ledgers.
 */
import { rmSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import type { Ledger } from '../../../src/model/ledger';
import { openStoreHere } from '../../../src/store/open-store';
import { openDatabase } from '../../../src/store/sqlite/database';
import { type Engine, openEngine } from '../../../src/store/sqlite/engine';
import type { VerbName } from '../../../src/store/sqlite/verbs';
import { layStore, settingsFor } from '../../contract/open-sqlite';

const began = Date.parse('2026-01-01T00:00:00Z');
const resources = 100;
const minuteMs = 60_000;
let folder: string;
let file: string;
let nowMs: number;

/** Old deliveries of one hint each, in turn of every resource, of which every other was read; and one more, which stays. */
function lay(deliveries: number): void {
  ({ folder, file } = layStore());
  const database = openDatabase(file);
  database.begin();
  database.run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${resources})
     INSERT INTO tasks (id, address, lane, state, generation)
     SELECT i, 'a' || i, '4711', 'done', ${deliveries / resources} FROM n`,
  );
  database.run('INSERT INTO aliases (address, task_id) SELECT address, id FROM tasks');
  database.run(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${deliveries})
     INSERT INTO deliveries (id, received_at, body_hash, bytes, notifications, acted, ignored, quarantined, elements)
     SELECT i + 1, iif(i < ${deliveries}, 0, ${began}), 'h', 1, 1, 0, 0, 0,
       json_array(json_object('line', 'hint', 'address', 'a' || (i % ${resources} + 1))) FROM n`,
  );
  database.run(
    `INSERT INTO hints SELECT (id - 1) % ${resources} + 1, (id - 1) / ${resources} + 1, id, 0 FROM deliveries`,
  );
  database.run(
    `INSERT INTO reads (task_id, fence, generation, outcome, at)
     SELECT task_id, generation, generation, 'unchanged', 0 FROM hints WHERE task_id % 2 = 1`,
  );
  database.commit();
  database.close();
}

beforeEach(() => {
  nowMs = began;
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What is in no line, or in two. */
const lost = ({ accepted, ...lines }: Ledger) =>
  accepted - Object.values(lines).reduce((sum, count) => sum + count, 0);

test('a ledger that is told while retention walks balances, and retention goes on behind it', async () => {
  lay(35_000);
  const store = openStoreHere(settingsFor(file), () => nowMs);
  let isTold = false;
  const retention = (async () => {
    while (!isTold && (await store.sweep()).more);
    return isTold;
  })();
  await turn();
  const told = await store.ledger();
  isTold = true;
  expect(await retention).toBe(true);
  expect(lost(told)).toBe(0);
  expect(told.accepted).toBeGreaterThan(30_000);
  let gone = 0;
  for (let more = true; more; ) {
    const swept = await store.sweep();
    gone += swept.rows;
    ({ more } = swept);
  }
  expect(gone).toBeGreaterThan(30_000);
  const left = await store.ledger();
  expect(lost(left)).toBe(0);
  expect(left.accepted).toBe(35_000 / 2 + 1);
  await store.close();
});

describe('retention of deliveries', () => {
  let engine: Engine;
  beforeEach(() => {
    lay(20_000);
    engine = openEngine(settingsFor(file), () => nowMs);
  });
  afterEach(() => engine.close());

  function ask(verb: VerbName, ...args: unknown[]) {
    const [result] = engine.execute([{ verb, args }]);
    return (result as { value: unknown }).value;
  }
  const waiting = { rows: 0, more: true };
  const goingOn = { rows: 1000, more: true };

  test('waits between two pages, and goes on when the last was told', () => {
    expect(ask('sweep')).toEqual(goingOn);
    ask('ledgerOfDeliveries', 0, null);
    expect(ask('sweep')).toEqual(waiting);
    ask('ledgerPage', 0, 50, Number.MAX_SAFE_INTEGER);
    expect(ask('sweep')).toEqual(waiting);
    expect(ask('ledgerPage', resources, 50, Number.MAX_SAFE_INTEGER)).toMatchObject({ after: null });
    expect(ask('sweep')).toEqual(goingOn);
  });

  test('waits ten seconds at most for a next page', () => {
    ask('ledgerOfDeliveries', 0, null);
    nowMs += 9999;
    expect(ask('sweep')).toEqual(waiting);
    nowMs += 1;
    expect(ask('sweep')).toEqual(goingOn);
  });

  test('waits for nobody once the clock was set back', () => {
    ask('ledgerOfDeliveries', 0, null);
    expect(ask('sweep')).toEqual(waiting);
    nowMs -= 1;
    expect(ask('sweep')).toEqual(goingOn);
    ask('ledgerOfDeliveries', 0, null);
    expect(ask('sweep')).toEqual(waiting);
  });

  test('goes on for a minute after each ten in which one ledger came after another', () => {
    const wentOn: number[] = [];
    for (; nowMs < began + 22 * minuteMs; nowMs += minuteMs / 12) {
      ask('ledgerOfDeliveries', 0, null);
      if (nowMs % minuteMs === 0) {
        const { rows } = ask('sweep') as { rows: number };
        if (rows > 0) wentOn.push((nowMs - began) / minuteMs);
      }
    }
    expect(wentOn).toEqual([10, 21]);
  });
});
