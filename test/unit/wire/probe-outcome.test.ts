// What is told of a probe that was asked for, by what the store says of it: it steps by hand, and the clock with it.
import type { Probing } from '../../../src/model/organization';
import { probeOutcome } from '../../../src/wire/probe-outcome';
import { makeHandClock } from '../../support/hand-clock';

/** What is told within a second, looked at each 100 ms, where the store says these one after the other, and then the last. */
async function outcomeOf(...said: Probing[]): Promise<string | null> {
  const clock = makeHandClock(0);
  let looked = 0;
  let isTold = false;
  const probing = async () => said[Math.min(looked++, said.length - 1)]!;
  const outcome = probeOutcome({ probing }, '4711', clock, 1000).finally(() => {
    isTold = true;
  });
  while (!isTold) await clock.advance(100);
  return outcome;
}

const underWay: Probing = { probing: true, found: null };

test('a probe that has ended is told with what it found', async () => {
  expect(await outcomeOf(underWay, { probing: false, found: 'ok' })).toBe('ok');
});

test('one that has ended by a worker that does not say what it found is told as ended', async () => {
  expect(await outcomeOf(underWay, { probing: false, found: null })).toBe('by-a-worker');
});

test('one that takes longer is not told', async () => {
  expect(await outcomeOf({ probing: true, found: 'ok' })).toBeNull();
});
