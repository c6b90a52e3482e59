import { makeFailureCounts } from '../../../src/webhook/failed-authentication';
import { type FakeClock, makeFakeClock } from './fake-clock';

let clock: FakeClock;
beforeEach(() => {
  clock = makeFakeClock();
});

/** How often each address has failed, after failing once more. */
async function failing(counts: ReturnType<typeof makeFailureCounts>, ...addresses: string[]) {
  const hits: number[] = [];
  for (const address of addresses) hits.push((await counts.increment(address)).totalHits);
  return hits;
}

test('each address is counted on its own, in a window that begins with its first failure', async () => {
  const counts = makeFailureCounts(1000, clock);
  expect(await failing(counts, 'a', 'a', 'b')).toEqual([1, 2, 1]);
  await clock.advance(999);
  expect(await failing(counts, 'a')).toEqual([3]);
  await clock.advance(1);
  expect(await failing(counts, 'a', 'b')).toEqual([1, 1]);
});

test('when too many addresses fail, the one that came first is forgotten', async () => {
  const counts = makeFailureCounts(1000, clock, 2);
  expect(await failing(counts, 'a', 'b', 'a', 'c')).toEqual([1, 1, 2, 1]);
  expect(await failing(counts, 'b', 'a')).toEqual([2, 1]);
});

test('a clock that was set back keeps nobody out for longer than a window', async () => {
  const counts = makeFailureCounts(1000, clock);
  await failing(counts, 'a', 'a');
  clock.set(clock.nowMs() - 600_000);
  expect(await failing(counts, 'a')).toEqual([1]);
});

test('a count can be taken back', async () => {
  const counts = makeFailureCounts(1000, clock);
  await failing(counts, 'a', 'a');
  await counts.decrement('a');
  await counts.decrement('unknown');
  expect(await failing(counts, 'a')).toEqual([2]);
  await counts.resetKey('a');
  expect(await failing(counts, 'a')).toEqual([1]);
});
