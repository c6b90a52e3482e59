/**
 * What is on disk when: whatever anybody can see is flushed with all before it; takes and endings may wait for that. What
 * they were given is not given again where they were lost.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OutboxRow } from '../../../src/model/event';
import type { TakenTask } from '../../../src/model/task';
import type { Database } from '../../../src/store/sqlite/database';
import { deliveryOf, draftOf, hintOf, sentTo } from '../../contract/store-hand';

/** Commits since the engine was opened: each is on disk when it returns. */
let commits = 0;
/** The disk takes nothing more. */
let full = false;

jest.mock('../../../src/store/sqlite/database', () => {
  const real = jest.requireActual('../../../src/store/sqlite/database');
  return {
    ...real,
    openDatabase: (file: string): Database => {
      const database = real.openDatabase(file) as Database;
      return {
        ...database,
        commit: () => {
          if (full) throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
          commits += 1;
          database.commit();
        },
      };
    },
  };
});

import { type Engine, openEngine } from '../../../src/store/sqlite/engine';
import { settingsFor } from '../../contract/open-sqlite';

let folder: string;
let engine: Engine;
const call = (verb: Parameters<Engine['execute']>[0][number]) => {
  const [result] = engine.execute([verb]);
  if (result === undefined || 'problem' in result) throw new Error('the call failed');
  return result.value;
};
const put = (id: string) => ({ verb: 'put' as const, args: [deliveryOf(1000, [hintOf(id)])] });
const pick = { verb: 'pickUnsent' as const, args: [10, 1_000_000, []] };

const take = { verb: 'take' as const, args: [1] };
const finish = (task: TakenTask, id = '1') => ({
  verb: 'finish' as const,
  args: [
    {
      ...task,
      draft: draftOf(id, 'one'),
      connectionId: 'c',
      traceparent: null,
      reconciled: false,
      settleMs: 0,
    },
  ],
});

function readAndFinish(id: string): void {
  const [task] = call(take) as TakenTask[];
  call(finish(task!, id));
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-flush-'));
  engine = openEngine(settingsFor(join(folder, 'store.db')), () => 2000);
  commits = 0;
  full = false;
});
afterEach(() => {
  engine.close();
  rmSync(folder, { recursive: true });
});

test('a delivery is on disk before it is answered, also among calls that need not be', () => {
  call(put('1'));
  expect(commits).toBe(1);
  engine.execute([{ verb: 'nextDueInMs', args: ['task'] }, put('2')]);
  expect(commits).toBe(2);
});

test('takes and finishes wait for the next commit', () => {
  call(put('1'));
  readAndFinish('1');
  expect(commits).toBe(1);
  expect(engine.commit()).toBe(true);
  expect(commits).toBe(2);
});

test('a decided row is on disk before its bytes can be seen', () => {
  call(put('1'));
  readAndFinish('1');
  expect(call(pick)).toHaveLength(1);
  expect(commits).toBe(2);
});

test('what was acknowledged waits, and is on disk before anybody reads its position', () => {
  call(put('1'));
  readAndFinish('1');
  const [row] = call(pick) as OutboxRow[];
  call({ verb: 'markSent', args: [[sentTo(row!, 0, '7')]] });
  expect(commits).toBe(2);
  call({ verb: 'listEvents', args: [{ after: 0, limit: 10, type: null, organizationId: null }] });
  expect(commits).toBe(3);
});

test('an engine that ends without its last commit begins again where the file is, but not with what it had given', () => {
  call(put('1'));
  readAndFinish('1');
  const given = engine.highest();
  const copy = join(folder, 'copy.db');
  for (const end of ['', '-wal']) copyFileSync(join(folder, `store.db${end}`), `${copy}${end}`);
  const next = openEngine(settingsFor(copy), () => 3000, given);
  const [taken, picked] = next.execute([{ verb: 'take', args: [1] }, pick]) as { value: TakenTask[] }[];
  expect(picked?.value).toEqual([]);
  expect(taken?.value).toHaveLength(1);
  expect(taken?.value[0]?.fence).toBeGreaterThan(given);
  expect(taken?.value[0]?.revision).toBeGreaterThanOrEqual(given);
  next.close();
});

test('of two that were given one task, the first before a commit that failed, only the second is believed', () => {
  call(put('1'));
  const [first] = call(take) as TakenTask[];
  full = true;
  expect(engine.execute([put('2')])).toEqual([
    { problem: expect.objectContaining({ code: 'store.unavailable' }) },
  ]);
  full = false;
  const [second] = call(take) as TakenTask[];
  expect(second?.taskId).toBe(first?.taskId);
  expect(call(finish(first!))).toEqual({ outcome: 'refused', reason: 'fenced' });
  expect(call(finish(second!))).toMatchObject({ outcome: 'published' });
});

test('the names of equipment that a commit which failed took with it are kept with the next ending of the read', () => {
  const names = {
    side: 'new',
    id: '1',
    organizationId: '4711',
    principalId: '9',
    erid: 'e',
    serialNumber: 's',
  };
  const named = { names, known: { id: '1', principalId: '9' } };
  const records = { verb: 'equipmentRecords' as const, args: [{ id: '1', as: 'new' }] };
  const end = () => {
    const [task] = call(take) as TakenTask[];
    const { verb, args } = finish(task!);
    expect(call({ verb, args: [{ ...args[0], named }] })).toMatchObject({ outcome: 'published' });
  };
  call(put('1'));
  end();
  full = true;
  expect(engine.commit()).toBe(false);
  full = false;
  expect(call(records)).toEqual([]);
  end();
  expect(call(records)).toEqual([names]);
});

test('a page is refused when a commit that failed took with it what the list brought before', () => {
  const name = { scope: '4711/equipment', organizationId: '4711' };
  const page = { run: 1, listingId: 1, connectionId: 'c', drafts: [], hints: [], after: { next: 'x' } };
  const { revision } = call({ verb: 'openListings', args: [1, [name]] }) as { revision: number };
  // A call that is at fault takes nothing with it that was answered.
  expect(engine.execute([{ verb: 'postpone', args: [] }])[0]).toHaveProperty('problem');
  call({ verb: 'finishPage', args: [{ ...page, revision }] });
  full = true;
  expect(engine.commit()).toBe(false);
  full = false;
  expect(engine.execute([{ verb: 'finishPage', args: [{ ...page, revision }] }])).toEqual([
    { problem: expect.objectContaining({ code: 'store.refused' }) },
  ]);
  const again = call({ verb: 'openListings', args: [1, [name]] }) as { revision: number };
  call({ verb: 'finishPage', args: [{ ...page, revision: again.revision }] });
});

test('the end of a list and what is absent from it are on disk before they are answered, so no run ends without them', () => {
  const { run } = call({ verb: 'beginRun', args: [{ organizationId: null, full: true }] }) as { run: number };
  const names = [{ scope: '4711/equipment', organizationId: '4711' }];
  const { revision } = call({ verb: 'openListings', args: [run, names] }) as { revision: number };
  const page = { run, listingId: 1, connectionId: 'c', drafts: [], hints: [], revision };
  call({ verb: 'finishPage', args: [{ ...page, after: { next: 'x' } }] });
  const end = { ...page, after: { end: true, whole: true, changeToken: null } };
  const absent = { verb: 'hintAbsent' as const, args: [run, '4711', 'equipment', 1] };
  for (const last of [{ verb: 'finishPage' as const, args: [end] }, absent]) {
    full = true;
    expect(engine.execute([last])).toEqual([
      { problem: expect.objectContaining({ code: 'store.unavailable' }) },
    ]);
    full = false;
    const again = call({ verb: 'openListings', args: [run, names] }) as { revision: number };
    end.revision = again.revision;
  }
  const before = commits;
  call({ verb: 'finishPage', args: [end] });
  call(absent);
  expect(commits).toBe(before + 2);
});

test('a call that fails takes nothing with it of what was answered before', () => {
  call(put('1'));
  readAndFinish('1');
  const failing = { verb: 'postpone' as const, args: [] };
  expect(engine.execute([{ verb: 'take', args: [1] }, failing])[1]).toHaveProperty('problem');
  expect(commits).toBe(1);
  expect(call(pick)).toHaveLength(1);
});
