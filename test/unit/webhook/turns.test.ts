import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { makeTurns, type Turns } from '../../../src/webhook/turns';
import { type FakeClock, makeFakeClock } from './fake-clock';

let clock: FakeClock;
let turns: Turns;
let server: EventEmitter;
let done: string[];

beforeEach(() => {
  clock = makeFakeClock();
  turns = makeTurns(clock);
  server = new EventEmitter();
  turns.watch(server as Server);
  done = [];
});

const pass = (ms: number) => clock.set(clock.nowMs() + ms);
const turn = () => new Promise((resolve) => setImmediate(resolve));
const connect = (): Socket => {
  const socket = {} as Socket;
  server.emit('connection', socket);
  return socket;
};
const hear = (socket: Socket): IncomingMessage => {
  const request = { socket } as IncomingMessage;
  server.emit('request', request);
  return request;
};
/** A body over a connection of its own, whose judging takes so long. */
const judge = (name: string, ms: number, bytes = 1000): IncomingMessage => {
  const request = hear({} as Socket);
  turns.whole(request, bytes);
  turns.inTurn(() => {
    pass(ms);
    done.push(name);
  });
  return request;
};

test('bodies are judged at once until a turn has taken 50 ms, the others in later turns, in order', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) judge(name, 30);
  expect(done).toEqual(['a', 'b']);
  await turn();
  expect(done).toEqual(['a', 'b', 'c', 'd']);
  judge('f', 30);
  expect(done).toHaveLength(4);
  await turn();
  expect(done).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  await turn();
  judge('g', 30);
  expect(done).toContain('g');
});

test('connections that have waited for a second without a break are taken before more is judged', async () => {
  for (let at = 0; at < 10; at += 1) {
    connect();
    judge(`${at}`, 100);
    await turn();
  }
  expect(done).toHaveLength(10);
  for (let at = 0; at < 20; at += 1) {
    connect();
    judge('late', 100);
    await turn();
  }
  expect(done).toHaveLength(10);
  for (let at = 0; at < 20; at += 1) await turn();
  expect(done).toHaveLength(30);
});

test('who goes on connecting keeps nobody from being judged', async () => {
  connect();
  pass(1000);
  judge('a', 10);
  for (let at = 0; at < 512; at += 1) {
    connect();
    await turn();
  }
  expect(done).toEqual([]);
  connect();
  await turn();
  expect(done).toEqual(['a']);
});

test('over a new connection a request may have waited since the first that waits was taken', async () => {
  for (let at = 0; at < 5; at += 1) {
    connect();
    pass(100);
    await turn();
  }
  const socket = connect();
  await turn();
  const request = hear(socket);
  turns.whole(request, 1000);
  expect(turns.waitedMs(request)).toBe(500);
  pass(70);
  expect(turns.waitedMs(request)).toBe(570);
});

test('who connects in every turn waits for 512 of them at most, and others are judged meanwhile', async () => {
  for (let at = 0; at < 3000; at += 1) {
    connect();
    judge(`${at}`, 1);
    expect(done).toHaveLength(at + 1);
    await turn();
  }
  const socket = connect();
  await turn();
  const request = hear(socket);
  turns.whole(request, 1000);
  expect(turns.waitedMs(request)).toBe(512);
});

test('over an older connection a request has waited since the turn before at most', async () => {
  const socket = connect();
  for (let at = 0; at < 5; at += 1) {
    connect();
    pass(100);
    await turn();
  }
  const request = hear(socket);
  turns.whole(request, 1000);
  expect(turns.waitedMs(request)).toBe(100);
});

test('a request whose connection was idle has not waited', async () => {
  const socket = connect();
  await turn();
  await turn();
  pass(60_000);
  const request = hear(socket);
  turns.whole(request, 1000);
  expect(turns.waitedMs(request)).toBe(0);
});

test('the time that a slow sender takes is not its waiting', async () => {
  const [quiet, busy] = [hear(connect()), hear(connect())];
  for (let at = 0; at < 100; at += 1) {
    judge(`${at}`, 100);
    await turn();
  }
  turns.whole(busy, 97_000);
  expect(turns.waitedMs(busy)).toBe(400);
  await turn();
  await turn();
  pass(10_000);
  turns.whole(quiet, 97_000);
  expect(turns.waitedMs(quiet)).toBe(0);
});

test('where connections come without an end, what was read is judged all the same once 512 were taken before it', async () => {
  const judgedAfter: number[] = [];
  for (let at = 0; at < 1000; at += 1) {
    connect();
    if (at === 150) judge('a', 0);
    pass(10);
    await turn();
    if (done.length > judgedAfter.length) judgedAfter.push(at);
  }
  expect(done).toEqual(['a']);
  expect(judgedAfter[0]).toBeGreaterThan(512);
  expect(judgedAfter[0]).toBeLessThan(700);
});
