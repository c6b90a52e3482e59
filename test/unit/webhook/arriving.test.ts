import { type Arrival, type Arriving, makeArriving } from '../../../src/webhook/arriving';
import { type FakeClock, makeFakeClock } from './fake-clock';

let clock: FakeClock;
let arriving: Arriving;
let ended: string[];

beforeEach(() => {
  clock = makeFakeClock();
  arriving = makeArriving({ bytesMax: 1000, progressWithinMs: 100, progressBytes: 50 }, clock);
  ended = [];
});

const begin = (name: string): Arrival => arriving.begin(() => ended.push(name));

test('no more than the bound is set aside, and what is not set aside takes no room', () => {
  const [first, second] = [begin('a'), begin('b')];
  expect(first.hold(600)).toBe(true);
  expect(second.hold(401)).toBe(false);
  expect(second.hold(400)).toBe(true);
  expect(first.hold(1)).toBe(false);
  first.leave();
  first.leave();
  expect(second.hold(601)).toBe(false);
  expect(second.hold(600)).toBe(true);
  expect(ended).toEqual([]);
});

test('the one that is held up for longest gives way, and no more than are needed', async () => {
  begin('a').hold(500);
  await clock.advance(1);
  begin('b').hold(500);
  await clock.advance(99);
  expect(begin('c').hold(501)).toBe(false);
  expect(begin('d').hold(500)).toBe(true);
  expect(ended).toEqual(['a']);
  expect(begin('e').hold(1)).toBe(false);
});

test('who makes progress stays, who comes by the byte does not, and none ends itself', async () => {
  const [fast, slow] = [begin('fast'), begin('slow')];
  fast.hold(500);
  slow.hold(500);
  await clock.advance(99);
  fast.came(50);
  slow.came(49);
  await clock.advance(1);
  expect(begin('too large').hold(501)).toBe(false);
  expect(slow.hold(1)).toBe(false);
  expect(ended).toEqual([]);
  expect(fast.hold(1)).toBe(true);
  expect(ended).toEqual(['slow']);
});

test('a clock that was set back protects nobody', () => {
  begin('a').hold(1000);
  clock.set(clock.nowMs() - 3_600_000);
  expect(begin('b').hold(1)).toBe(true);
  expect(ended).toEqual(['a']);
});
