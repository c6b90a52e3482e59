/**
 * When the store's thread answers: what must be on disk once a flush has ended that began after its commit, however much is
 * made meanwhile; what may be forgotten at once, unless it may build on what is not committed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../src/store/sqlite/database';

/** What was done to the file and who was answered, in order. */
let told: string[] = [];
/** Ends the flush that is under way. */
let endFlush: (error: Error | null) => void;
let commitFails: Error | null = null;

jest.mock('../../../src/store/sqlite/database', () => {
  const real = jest.requireActual('../../../src/store/sqlite/database');
  return {
    ...real,
    openDatabase: (path: string): Database => {
      const database = real.openDatabase(path) as Database;
      const { commit, close } = database;
      return Object.assign(database, {
        commit: () => {
          if (commitFails !== null) throw commitFails;
          told.push('commit');
          commit();
        },
        flush: (done: (error: Error | null) => void) => {
          told.push('flush');
          endFlush = done;
        },
        close: () => {
          told.push('close');
          close();
        },
      });
    },
  };
});

import { type Call, type CallResult, openEngine } from '../../../src/store/sqlite/engine';
import { type Keeper, makeKeeper } from '../../../src/store/sqlite/keeper';
import { settingsFor } from '../../contract/open-sqlite';
import { deliveryOf, hintOf } from '../../contract/store-hand';

let folder: string;
let keeper: Keeper<string>;
let results: Map<string, CallResult[]>;

const put = (id: string): Call => ({ verb: 'put', args: [deliveryOf(1000, [hintOf(id)])] });
const take: Call = { verb: 'take', args: [10] };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-keeper-'));
  commitFails = null;
  results = new Map();
  const engine = openEngine(settingsFor(join(folder, 'store.db')), () => 2000);
  keeper = makeKeeper<string>(
    engine,
    (answered) => {
      for (const one of answered) {
        told.push(one.asker);
        results.set(one.asker, one.results);
      }
    },
    (error) => told.push(`lost: ${error.message}`),
  );
  told = [];
});
afterEach(() => {
  commitFails = null;
  if (!told.includes('close')) keeper.close(() => {});
  if (!told.includes('close')) endFlush(null);
  rmSync(folder, { recursive: true });
});

test('a delivery is answered once a flush has ended that began after its commit', () => {
  keeper.serve('first', [put('1')]);
  expect(told).toEqual(['commit', 'flush']);
  endFlush(null);
  expect(told).toEqual(['commit', 'flush', 'first']);
  expect(results.get('first')).toEqual([{ value: expect.objectContaining({ deliveryId: 'd1' }) }]);
});

test('what is made during a flush is committed together when that has ended, and flushed by another', () => {
  keeper.serve('first', [put('1')]);
  keeper.serve('second', [put('2')]);
  keeper.serve('third', [put('3')]);
  expect(told).toEqual(['commit', 'flush']);
  endFlush(null);
  expect(told.slice(2)).toEqual(['first', 'commit', 'flush']);
  endFlush(null);
  expect(told.slice(5)).toEqual(['second', 'third']);
});

test('what may be forgotten is answered during a flush', () => {
  keeper.serve('first', [put('1')]);
  keeper.serve('take', [take]);
  expect(told).toEqual(['commit', 'flush', 'take']);
  expect(results.get('take')).toEqual([{ value: [expect.objectContaining({ fence: 1 })] }]);
});

test('what may build on rows that are not committed is answered with them', () => {
  keeper.serve('first', [put('1')]);
  keeper.serve('second', [put('2')]);
  keeper.serve('take', [take]);
  endFlush(null);
  expect(told).toEqual(['commit', 'flush', 'first', 'commit', 'flush']);
  endFlush(null);
  expect(told.slice(5)).toEqual(['second', 'take']);
});

test('a commit that fails is told to all that waited for it, and nothing of it was made', () => {
  keeper.serve('first', [put('1')]);
  keeper.serve('second', [put('2')]);
  keeper.serve('take', [take]);
  commitFails = Object.assign(new Error('the disk is full'), { errcode: 13 });
  endFlush(null);
  const refused = {
    problem: expect.objectContaining({ code: 'store.unavailable', message: 'the disk is full' }),
  };
  expect(results.get('second')).toEqual([refused]);
  expect(results.get('take')).toEqual([refused]);
  commitFails = null;
  keeper.serve('again', [put('2'), take]);
  endFlush(null);
  const [again, taken] = results.get('again') as { value: unknown }[];
  expect(again?.value).toMatchObject({ deliveryId: 'd2' });
  expect(taken?.value).toHaveLength(2);
});

test('calls that were at fault are told apart from those that were made with them', () => {
  keeper.serve('group', [put('1'), { verb: 'postpone', args: [] }, put('2')]);
  expect(told).toEqual(['commit', 'flush']);
  endFlush(null);
  const [first, fault, second] = results.get('group') as [CallResult, CallResult, CallResult];
  expect(fault).toHaveProperty('problem');
  expect([first, second]).toEqual([{ value: expect.anything() }, { value: expect.anything() }]);
});

test('after a flush that failed nobody who waits is answered, and it is told', () => {
  keeper.serve('first', [put('1')]);
  keeper.serve('second', [put('2')]);
  endFlush(new Error('EIO'));
  expect(told).toEqual(['commit', 'flush', 'lost: EIO']);
});

test('what nobody waits for is put on disk at rest, after the flush that is under way', () => {
  keeper.serve('first', [put('1')]);
  keeper.serve('take', [take]);
  expect(keeper.rest()).toBe(false);
  endFlush(null);
  told = [];
  expect(keeper.rest()).toBe(true);
  expect(told).toEqual(['commit', 'flush']);
  endFlush(null);
  expect(keeper.rest()).toBe(true);
  expect(told).toEqual(['commit', 'flush']);
});

test('it is closed once the flush that is under way has ended', () => {
  keeper.serve('first', [put('1')]);
  keeper.close(() => told.push('closed'));
  expect(told).toEqual(['commit', 'flush']);
  endFlush(null);
  expect(told.slice(2)).toEqual(['first', 'close', 'closed']);
});
