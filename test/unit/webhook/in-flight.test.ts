import { type InFlight, makeInFlight, type Waiting } from '../../../src/webhook/in-flight';
import { type FakeClock, makeFakeClock } from './fake-clock';

const bounds = { bytesMax: 1000, deliveriesMax: 3, answerWithinMs: 4000 };
let clock: FakeClock;
let inFlight: InFlight;
let late: string[];

beforeEach(() => {
  clock = makeFakeClock();
  inFlight = makeInFlight(bounds, clock);
  late = [];
});

const waiting = (name: string, bytes = 10): Waiting => ({ bytes, late: () => late.push(name) });

test('no more deliveries than the bound wait at once', () => {
  const all = ['a', 'b', 'c'].map((name) => waiting(name));
  for (const one of all) expect(inFlight.enter(one)).toBe(true);
  expect(inFlight.hasRoom(0)).toBe(false);
  expect(inFlight.enter(waiting('d'))).toBe(false);
  inFlight.leave(all[1] as Waiting);
  expect(inFlight.hasRoom(0)).toBe(true);
  expect(inFlight.enter(waiting('d'))).toBe(true);
});

test('no more bytes than the bound wait at once', () => {
  expect(inFlight.hasRoom(1000)).toBe(true);
  expect(inFlight.hasRoom(1001)).toBe(false);
  expect(inFlight.enter(waiting('a', 600))).toBe(true);
  expect(inFlight.enter(waiting('b', 401))).toBe(false);
  expect(inFlight.enter(waiting('b', 400))).toBe(true);
  expect(inFlight.hasRoom(1)).toBe(false);
});

test('whoever leaves twice, or never entered, changes nothing', () => {
  const one = waiting('a', 600);
  inFlight.leave(one);
  expect(inFlight.enter(one)).toBe(true);
  inFlight.leave(one);
  inFlight.leave(one);
  expect(inFlight.hasRoom(1000)).toBe(true);
  expect(inFlight.hasRoom(1001)).toBe(false);
});

test('whoever still waits is told before the time is over, once, and counts until it leaves', async () => {
  const one = waiting('a');
  inFlight.enter(one);
  await clock.advance(2899);
  expect(late).toEqual([]);
  await clock.advance(200);
  expect(late).toEqual(['a']);
  await clock.advance(10_000);
  expect(late).toEqual(['a']);
  inFlight.enter(waiting('b'));
  inFlight.enter(waiting('c'));
  expect(inFlight.hasRoom(0)).toBe(false);
  inFlight.leave(one);
  expect(inFlight.hasRoom(0)).toBe(true);
});

test('what was waited before counts as well', async () => {
  inFlight.enter(waiting('a'), 2000);
  inFlight.enter(waiting('b'));
  inFlight.enter(waiting('c'), 5000);
  await clock.advance(0);
  expect(late).toEqual(['c']);
  await clock.advance(1000);
  expect(late).toEqual(['c', 'a']);
  await clock.advance(1900);
  expect(late).toEqual(['c', 'a']);
  await clock.advance(200);
  expect(late).toEqual(['c', 'a', 'b']);
});

test('whoever left in time is told nothing', async () => {
  const one = waiting('a');
  inFlight.enter(one);
  inFlight.leave(one);
  await clock.advance(10_000);
  expect(late).toEqual([]);
});

test('many share few timers, and none is told much too early', async () => {
  const many = makeInFlight({ ...bounds, deliveriesMax: 10_000, bytesMax: 1e9 }, clock);
  for (let at = 0; at < 1000; at += 1) {
    many.enter(waiting(`w${at}`));
    await clock.advance(1);
  }
  expect(clock.waiting()).toBeLessThanOrEqual(11);
  await clock.advance(1900);
  expect(late).toEqual([]);
  await clock.advance(1100);
  expect(late).toHaveLength(1000);
});

test.each([-600_000, 600_000])('a clock that is set by %i ms delays no answer', async (jumpMs) => {
  inFlight.enter(waiting('a'));
  await clock.advance(1000);
  clock.set(clock.nowMs() + jumpMs);
  inFlight.enter(waiting('b'));
  await clock.advance(2900);
  expect(late).toEqual(['a']);
  await clock.advance(1000);
  expect(late).toEqual(['a', 'b']);
});

test('stopping tells all who wait, and all who come after, at once', async () => {
  inFlight.enter(waiting('a'));
  inFlight.stop();
  await clock.advance(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(late).toEqual(['a']);
  inFlight.enter(waiting('b'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(late).toEqual(['a', 'b']);
});
