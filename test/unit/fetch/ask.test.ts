/**
 * What a call counts as: one more at the provider from the moment it is sent, answered or not, and no sooner. A provider on
 * loopback that resets, hangs and answers.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { requestFor, stageClient } from '../../support/provider-client';

type Act = 'answer' | 'reset' | 'hang';
let server: Server;
let sockets: Socket[];
let acts: Act[];
/** How many calls were counted when each request arrived. */
let countedAt: number[];
let counted: number;
let booking: Promise<void> | null;
/** Told of each request that gets no answer. */
let hangs: () => void;
let staged: ReturnType<typeof stageClient>;

beforeEach(async () => {
  [sockets, acts, countedAt, counted, booking] = [[], [], [], 0, null];
  hangs = () => {};
  server = createServer((request, response) => {
    countedAt.push(counted);
    const act = acts.shift() ?? 'answer';
    if (act === 'reset') return request.socket.resetAndDestroy();
    if (act === 'hang') return hangs();
    response.setHeader('content-type', 'application/vnd.Acme.axiom.v3+json');
    response.end(JSON.stringify({ '@type': 'FieldOperation', id: 'op-1', links: [], measurementTypes: [] }));
  });
  server.on('connection', (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sends = () => {
    counted += 1;
    return booking;
  };
  staged = stageClient({ catalogUrl: `${originOf()}/platform/` }, undefined, { sends });
});
afterEach(async () => {
  staged.client.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const originOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const read = (signal?: AbortSignal) =>
  staged.client.read(requestFor(`${originOf()}/platform/fieldOperations/op-1`), signal);

test('each call is counted before it arrives, one that gets no answer too', async () => {
  acts = ['answer', 'hang'];
  const stop = new AbortController();
  hangs = () => stop.abort();
  expect((await read(stop.signal)).answer.kind).toBe('aborted');
  // The catalog, and the operation.
  expect(countedAt).toEqual([1, 2]);
  expect(counted).toBe(2);
});

test('a call that is repeated on another connection counts twice, since the provider may have seen both', async () => {
  acts = ['answer', 'reset', 'answer'];
  expect((await read()).answer.kind).toBe('ok');
  expect(countedAt).toEqual([1, 2, 3]);
  expect(counted).toBe(3);
});

test('while it is not booked nothing is sent, and a wait that is cut sends nothing at all', async () => {
  let book = () => {};
  booking = new Promise((resolve) => {
    book = resolve;
  });
  const reading = read();
  while (counted === 0) await new Promise(setImmediate);
  // A connection that was opened all the same would be here after a turn of loopback that was begun later.
  await fetch(originOf());
  expect([counted, countedAt]).toEqual([1, [1]]);
  countedAt.pop();
  book();
  expect((await reading).answer.kind).toBe('ok');
  booking = new Promise(() => {});
  const stop = new AbortController();
  const cut = read(stop.signal);
  while (counted < 3) await new Promise(setImmediate);
  stop.abort();
  expect((await cut).answer.kind).toBe('aborted');
  expect(countedAt).toEqual([1, 2]);
});

test('what is stopped before it is sent does not count', async () => {
  await read();
  expect((await read(AbortSignal.abort())).answer.kind).toBe('aborted');
  expect([counted, countedAt]).toEqual([2, [1, 2]]);
});
