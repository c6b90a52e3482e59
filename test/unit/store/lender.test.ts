/**
 * Who waits for a connection, and for how long: by a pool that is stepped by hand. The same on a real server:
 * integration/store/lender.test.ts.
 */
import { EventEmitter } from 'node:events';
import type { Pool, PoolClient } from 'pg';
import { type Lender, makeLender } from '../../../src/store/postgres/server/lender';

const waitMs = 2000;
const full = () => Object.assign(new Error('sorry, too many clients already'), { code: '53300' });

let lender: Lender;
let asked: { resolve(client: PoolClient): void; reject(error: Error): void }[];
beforeEach(() => {
  jest.useFakeTimers();
  asked = [];
  const connect = () => new Promise<PoolClient>((resolve, reject) => asked.push({ resolve, reject }));
  lender = makeLender(Object.assign(new EventEmitter(), { connect }) as unknown as Pool, waitMs);
});
afterEach(() => jest.useRealTimers());

const makeClient = () =>
  ({ connection: { stream: { destroyed: false } }, release: () => {} }) as unknown as PoolClient;

/** Whoever asked last is let in. */
async function lend(): Promise<PoolClient> {
  const borrowed = lender.borrow();
  asked.at(-1)!.resolve(makeClient());
  return borrowed;
}

test('one that is given back goes to who waits, as soon as it is', async () => {
  const client = await lend();
  const waits = lender.borrow();
  asked.at(-1)!.reject(full());
  await jest.advanceTimersByTimeAsync(waitMs - 1);
  expect(asked).toHaveLength(2);
  lender.giveBack(client, undefined);
  await jest.advanceTimersByTimeAsync(0);
  asked.at(-1)!.resolve(client);
  expect(await waits).toBe(client);
});

test('one that is being made is waited for like one that is lent out', async () => {
  const first = lender.borrow();
  const second = lender.borrow();
  asked[1]!.reject(full());
  await jest.advanceTimersByTimeAsync(0);
  const client = makeClient();
  asked[0]!.resolve(client);
  lender.giveBack(await first, undefined);
  await jest.advanceTimersByTimeAsync(0);
  asked[2]!.resolve(client);
  expect(await second).toBe(client);
});

test.each([
  ['the only one', () => {}],
  ['one of several', () => lend()],
])('%s that comes back while the server is asked for another is used', async (_which, lendAnother) => {
  const client = await lend();
  await lendAnother();
  const waits = lender.borrow();
  const before = asked.length;
  lender.giveBack(client, undefined);
  asked.at(-1)!.reject(full());
  await jest.advanceTimersByTimeAsync(0);
  expect(asked).toHaveLength(before + 1);
  asked.at(-1)!.resolve(client);
  expect(await waits).toBe(client);
});

test('who waits for one that is being made is told as soon as it is not', async () => {
  const first = expect(lender.borrow()).rejects.toMatchObject({ code: 'store.unavailable' });
  const second = expect(lender.borrow()).rejects.toMatchObject({ code: 'store.unavailable' });
  asked[0]!.reject(full());
  await jest.advanceTimersByTimeAsync(0);
  asked[1]!.reject(full());
  await Promise.all([first, second]);
  expect(asked).toHaveLength(2);
  expect(jest.getTimerCount()).toBe(0);
});

test('who waits too long is told that the store is away', async () => {
  await lend();
  const refused = expect(lender.borrow()).rejects.toMatchObject({ code: 'store.unavailable' });
  asked.at(-1)!.reject(full());
  await jest.advanceTimersByTimeAsync(waitMs);
  asked.at(-1)!.reject(full());
  await refused;
});

test.each([
  ['there is none to wait for', full()],
  ['the server lets nobody in for another reason', Object.assign(new Error('no'), { code: '55000' })],
])('nobody waits where %s', async (_why, error) => {
  if (error.message === 'no') await lend();
  const refused = expect(lender.borrow()).rejects.toMatchObject({ code: 'store.unavailable' });
  asked.at(-1)!.reject(error);
  await refused;
  expect(jest.getTimerCount()).toBe(0);
});
