/**
 * The embedded store does one thing at a time: what it is asked for must not take longer than a sender waits, however
 * often one resource was told of and read, and however much there is to tell.
 */
import { rmSync } from 'node:fs';
import { openStoreHere } from '../../../src/store/open-store';
import { openDatabase } from '../../../src/store/sqlite/database';
import { openEngine } from '../../../src/store/sqlite/engine';
import type { LedgerOfDeliveries, LedgerPage } from '../../../src/store/sqlite/ledger';
import { layStore, settingsFor } from '../../contract/open-sqlite';
import { deliveryOf, hintOf } from '../../contract/store-hand';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const between = 10;

/** Resources, each of which so many deliveries of its own told of, and which was read for each tenth of these, or more. */
function layTold(
  resources: number,
  notifications: number,
  every = between,
): { folder: string; file: string } {
  const laid = layStore();
  const database = openDatabase(laid.file);
  database.begin();
  for (let task = 1; task <= resources; task += 1) {
    database.run(
      `INSERT INTO tasks (id, address, lane, state, generation) VALUES (?, 'x', '4711', 'done', ?)`,
      task,
      notifications,
    );
    database.run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO deliveries (received_at, body_hash, bytes, notifications, acted, ignored, quarantined, elements)
       SELECT 0, 'hash', 1, 1, 0, 0, 0, '[]' FROM n`,
      notifications,
    );
    const ofTask = 'FROM deliveries WHERE id > ?2';
    const before = (task - 1) * notifications;
    database.run(`INSERT INTO hints SELECT ?1, id - ?2, id, 0 ${ofTask}`, task, before);
    database.run(
      `INSERT INTO reads (task_id, fence, generation, outcome, at)
       SELECT ?1, id - ?2, id - ?2, 'unchanged', 0 ${ofTask} AND CAST(id - ?2 AS INTEGER) % ?3 = 0`,
      task,
      before,
      every,
    );
  }
  database.commit();
  database.close();
  return laid;
}

/** The processor time of the fastest of three looks at a resource that was told of so often. */
function costOfLedger(notifications: number): number {
  const { folder, file } = layTold(1, notifications);
  const engine = openEngine(settingsFor(file), () => nowMs);
  const reads = notifications / between;
  const costs = [1, 2, 3].map(() => {
    const began = process.cpuUsage();
    const [told] = engine.execute([{ verb: 'ledgerPage', args: [0, 1000, Number.MAX_SAFE_INTEGER] }]);
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

/** Of each page of the ledger, how many hints it told. */
function pagesOf(file: string): number[] {
  const engine = openEngine(settingsFor(file), () => nowMs);
  const told: number[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const [result] = engine.execute([{ verb: 'ledgerPage', args: [after, 2000, Number.MAX_SAFE_INTEGER] }]);
    const page = (result as { value: LedgerPage }).value;
    told.push(Object.values(page.lines).reduce((sum, count) => sum + count, 0));
    after = page.after;
  }
  engine.close();
  return told.filter((count) => count > 0);
}

test('a page of the ledger tells as many resources as were told of or read ten thousand times, and one at least', async () => {
  const often = layTold(7, 3000);
  expect(pagesOf(often.file)).toEqual([9000, 9000, 3000]);
  const store = openStoreHere(settingsFor(often.file), () => nowMs);
  expect(await store.ledger()).toMatchObject({ accepted: 21_000, unchanged: 2100, merged: 18_900 });
  await store.close();
  rmSync(often.folder, { recursive: true });
  const readOften = layTold(7, 3000, 1);
  const database = openDatabase(readOften.file);
  database.run('DELETE FROM hints WHERE generation > 100');
  database.close();
  expect(pagesOf(readOften.file)).toEqual([300, 300, 100]);
  rmSync(readOften.folder, { recursive: true });
  const oftener = layTold(2, 12_000);
  expect(pagesOf(oftener.file)).toEqual([12_000, 12_000]);
  rmSync(oftener.folder, { recursive: true });
});

test('deliveries are told twenty thousand a page, without those that come between two, and each discard with its own', async () => {
  const { folder, file } = layTold(1, 45_000);
  const database = openDatabase(file);
  for (const [delivery, state] of [
    [10, 'discarded'],
    [30_000, 'waiting'],
    [30_001, 'waiting'],
  ] as const) {
    database.run('UPDATE deliveries SET quarantined = 1 WHERE id = ?', delivery);
    database.run('DELETE FROM hints WHERE delivery_id = ?', delivery);
    database.run(
      `INSERT INTO quarantine (what, reason, path, delivery_id, at, state)
       VALUES ('notification', 'unauthenticated', '', ?, 0, ?)`,
      delivery,
      state,
    );
  }
  database.close();
  const engine = openEngine(settingsFor(file), () => nowMs);
  const ask = (after: number, untilDelivery: number | null) => {
    const [result] = engine.execute([{ verb: 'ledgerOfDeliveries', args: [after, untilDelivery] }]);
    return (result as { value: LedgerOfDeliveries }).value;
  };
  const first = ask(0, null);
  expect(first).toMatchObject({ lines: { accepted: 20_000, quarantined: 0, discarded: 1 }, after: 20_000 });
  engine.execute([{ verb: 'put', args: [deliveryOf(nowMs, [hintOf('1')])] }]);
  engine.execute([{ verb: 'discardQuarantine', args: ['q2'] }]);
  const second = ask(first.after!, first.untilDelivery);
  expect(second.lines).toMatchObject({ accepted: 20_000, quarantined: 1, discarded: 1 });
  const third = ask(second.after!, second.untilDelivery);
  expect(third).toMatchObject({ lines: { accepted: 5000 }, untilDelivery: 45_000, after: null });
  engine.close();
  const store = openStoreHere(settingsFor(file), () => nowMs);
  const { accepted, quarantined, discarded, ...hinted } = await store.ledger();
  expect({ accepted, quarantined, discarded }).toEqual({ accepted: 45_001, quarantined: 1, discarded: 2 });
  expect(Object.values(hinted).reduce((sum, count) => sum + count, 0)).toBe(44_998);
  await store.close();
  rmSync(folder, { recursive: true });
});
