/**
 * What is on disk when: whatever anybody can see is flushed with all before it; takes and endings may wait for that.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../src/store/sqlite/database';
import { deliveryOf, draftOf, hintOf } from '../../contract/store-hand';

/** The flush of each transaction that began, of whichever database was opened last. */
const flushes: boolean[] = [];
const written: string[] = [];

jest.mock('../../../src/store/sqlite/database', () => {
  const real = jest.requireActual('../../../src/store/sqlite/database');
  return {
    ...real,
    openDatabase: (file: string): Database => {
      const database = real.openDatabase(file) as Database;
      return {
        ...database,
        begin: (flush) => {
          flushes.push(flush);
          written.length = 0;
          database.begin(flush);
        },
        run: (sql, ...values) => {
          written.push(sql);
          return database.run(sql, ...values);
        },
      };
    },
  };
});

import { type Engine, openEngine } from '../../../src/store/sqlite/engine';

const settings = {
  envelope: { source: 'https://provider.example/vendor', topicPrefix: 'tramline', recordBytesMax: 1_000_000 },
  catalogAddress: 'https://provider.example/platform/',
  catalogMediaType: 'application/json',
  leaseMs: 60_000,
  readGapMs: 1000,
  probeMs: 15_000,
  probeMsMax: 900_000,
  journalMs: 86_400_000,
  eventMs: 86_400_000,
};

let folder: string;
let engine: Engine;
const call = (verb: Parameters<Engine['execute']>[0][number]) => {
  const [result] = engine.execute([verb]);
  if (result === undefined || 'problem' in result) throw new Error('the call failed');
  return result.value;
};
const put = (id: string) => ({ verb: 'put' as const, args: [deliveryOf(1000, [hintOf(id)])] });
const pick = { verb: 'pickUnsent' as const, args: [10, 1_000_000, []] };

function readAndFinish(id: string): void {
  const [task] = call({ verb: 'take', args: [1] }) as { taskId: number }[];
  const read = {
    draft: draftOf(id, 'one'),
    connectionId: 'c',
    traceparent: null,
    reconciled: false,
    settleMs: 0,
  };
  call({ verb: 'finish', args: [{ ...task, ...read }] });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-flush-'));
  engine = openEngine({ ...settings, file: join(folder, 'store.db') }, () => 2000);
  flushes.length = 0;
});
afterEach(() => {
  engine.close();
  rmSync(folder, { recursive: true });
});

test('a delivery is flushed before it is answered, also among calls that need not be', () => {
  call(put('1'));
  engine.execute([{ verb: 'nextDueInMs', args: ['task'] }, put('2')]);
  expect(flushes).toEqual([true, true]);
});

test('takes and finishes wait for the next flush', () => {
  call(put('1'));
  readAndFinish('1');
  expect(flushes).toEqual([true, false, false]);
});

test('a decided row is flushed before its bytes can be seen, though seeing it writes nothing', () => {
  call(put('1'));
  readAndFinish('1');
  expect(call(pick)).toHaveLength(1);
  expect(flushes.at(-1)).toBe(true);
  expect(written.some((sql) => sql.includes('heartbeat'))).toBe(true);
});

test('where everything is on disk, looking writes nothing', () => {
  call(put('1'));
  expect(call(pick)).toEqual([]);
  expect(written).toEqual([]);
});
