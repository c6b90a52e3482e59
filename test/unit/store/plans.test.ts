/**
 * No statement of a journey walks through a table that grows: the embedded store looks up every row by an index. What
 * is counted of all that waits, for gauges and alerts, stands in the index itself: the one thread reads no task for it. And
 * what is asked of one organization, or one connection, is found by it, however much there is of others.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../src/store/sqlite/database';
import { settingsFor } from '../../contract/open-sqlite';
import {
  address,
  aliasHintOf,
  aliasOf,
  draftOf,
  Hand,
  heldBy,
  hintOf,
  sealedConnection,
  terms,
} from '../../contract/store-hand';

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
        run(sql, ...values) {
          statements?.add(sql);
          return database.run(sql, ...values);
        },
        get(sql, ...values) {
          statements?.add(sql);
          return database.get(sql, ...values);
        },
      };
    },
  };
});

import type { Store } from '../../../src/model/store';
import { openStoreHere } from '../../../src/store/open-store';

/** Bounded: the runs that are kept, the tasks of one delivery, what a statement was handed. */
const bounded = /SCAN (e|n|named|sync_runs|json_each|CONSTANT ROW)\b/;

let folder: string;
let nowMs: number;
let store: Store;
let hand: Hand;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-plans-'));
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  store = openStoreHere(settingsFor(join(folder, 'store.db')), () => nowMs);
  const advance = (ms: number) => {
    nowMs += ms;
  };
  const reopen = async () => store;
  hand = new Hand({ store, advance, nowMs: () => nowMs, reopen, close: () => store.close() });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** How each statement that `act` asks finds its rows, a line each. */
async function plansOf(act: () => Promise<unknown>): Promise<string[]> {
  statements = new Set();
  await act();
  const asked = [...statements];
  statements = null;
  return asked.flatMap((sql) =>
    opened.all(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => `${detail}: ${sql}`),
  );
}

test('every row that a journey tells is looked up', async () => {
  await hand.publish('1', 'a');
  await hand.put([aliasHintOf('1')]);
  await hand.finish(await hand.takeAt(aliasOf('1')), draftOf('1', 'b'));
  await hand.observe(terms);
  await hand.put([hintOf('1')]);
  const ids = (await hand.records()).map(({ eventId }) => eventId);
  const told = [
    'd1',
    'd2',
    'd3',
    'd9',
    address('1'),
    aliasOf('1'),
    ...ids,
    '4711/organization-access/4711',
    '0123456789abcdef0123456789abcdef',
  ];
  const plans = await plansOf(async () => {
    for (const of of told) await store.explain(of);
  });
  expect(plans.length).toBeGreaterThan(10);
  expect(plans.filter((plan) => plan.startsWith('SCAN') && !bounded.test(plan))).toEqual([]);
});

test('what waits is counted without reading a task', async () => {
  await hand.put([hintOf('1')]);
  await hand.observe(terms);
  const plans = await plansOf(() => Promise.all([store.counts(), store.alertInputs()]));
  const ofTasks = plans.filter((plan) => /^(SCAN|SEARCH) (tasks|t) /.test(plan));
  // What is being read, which is as much as is read at once, is looked up.
  const walked = ofTasks.filter((plan) => !plan.includes('USING INTEGER PRIMARY KEY'));
  expect(walked.length).toBeGreaterThan(1);
  for (const plan of walked) expect(plan).toContain('USING COVERING INDEX tasks_waiting');
});

/** Those of the plans that walk this table, or look something up in it by more than its own. */
const of = (plans: string[], table: string) =>
  plans.filter((plan) => new RegExp(`^(SCAN|SEARCH) ${table} `).test(plan));

test('what a sync did not find of an organization is sought among what that one has', async () => {
  await hand.publish('1', 'a');
  const run = await store.beginRun({ organizationId: null, full: true });
  const plans = await plansOf(() => store.hintAbsent(run.run, '4711', 'equipment', 0.5));
  expect(of(plans, 't').map((plan) => plan.split(':')[0])).toEqual([
    'SEARCH t USING INDEX tasks_present (organization_id=? AND kind=?)',
  ]);
});

test('no index is of the listing that held a resource last, which each page may change and nobody seeks by', async () => {
  await hand.publish('1', 'a');
  const { run } = await store.beginRun({ organizationId: null, full: true });
  const names = [{ scope: '4711/equipment', organizationId: '4711' }];
  const { listings } = await store.openListings(run, names);
  const same = {
    kind: 'equipment',
    id: '1',
    organizationId: '4711',
    wireHash: 'a',
    normalizerVersion: 1,
  } as const;
  const plans = await plansOf(async () => {
    await store.compareListed(run, listings[0]!.id, [same], 'c1');
    await store.hintAbsent(run, '4711', 'equipment', 0.5);
  });
  const ofListing = of(plans, '(tasks|t)').filter((plan) => plan.includes('listed_in'));
  const ways = ofListing.map((plan) => plan.split(':')[0]!.split(' (')[0]);
  expect(new Set(ways)).toEqual(
    new Set(['SEARCH tasks USING INDEX tasks_resource', 'SEARCH t USING INDEX tasks_present']),
  );
  const indexes = opened.all(
    `SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%listed_in%'`,
  );
  expect(indexes).toEqual([]);
});

test('who else sees what a revoked connection saw is found by each organization', async () => {
  for (const connection of ['c1', 'c2']) {
    await store.saveConnection(sealedConnection(connection));
    await store.keepSights(connection, ['4711']);
  }
  const plans = await plansOf(() => store.revokeConnection('c1'));
  const ofOthers = plans.filter((plan) => plan.includes('INDEX sights_organization'));
  expect(ofOthers.length).toBeGreaterThan(1);
  expect(plans.filter((plan) => /^SCAN (s|sights|organizations)\b/.test(plan))).toEqual([]);
});

test('a page of what is hastened is found by what waits for that alone, and by when it is due', async () => {
  await hand.put([hintOf('1')]);
  const refused = { dueInMs: 300_000, code: 'client-refused', detail: null, own: false, agedMs: 0 };
  await store.postpone({ ...heldBy(await hand.take()), ...refused });
  const found = async (act: () => Promise<unknown>) =>
    of(await plansOf(act), 'tasks').map((plan) => plan.split(':')[0]);
  const byNumber = 'SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)';
  expect(await found(() => store.hastenRefused(null))).toEqual([
    'SEARCH tasks USING INDEX tasks_refused (due_at>?)',
    byNumber,
  ]);
  nowMs += 1000;
  await store.postpone({ ...heldBy(await hand.take()), ...refused });
  expect(await found(() => store.hasten())).toEqual([
    'SEARCH tasks USING INDEX tasks_postponed (due_at>?)',
    byNumber,
  ]);
});
