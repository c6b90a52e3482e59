// Goal: work goes on for as long as its lease is held for certain, and not a moment longer.
// Method: a store that answers what the test says, a clock that is moved by hand.
import { underLease } from '../../../src/sync/keep-lease';
import { makeHandClock } from '../../support/hand-clock';

const leaseMs = 12_000;

/** Renewals answer in their turn, and the lease is held once nothing more is said. */
function working(...answers: (boolean | 'no answer')[]) {
  const clock = makeHandClock(1_000_000);
  const cut = new AbortController();
  const asked: number[] = [];
  const store = {
    async holdLease(_name: string, _holder: string, forMs: number) {
      asked.push(forMs);
      if (asked.length === 1 || forMs === 0) return true;
      const answer = answers.shift() ?? true;
      if (answer === 'no answer') throw new Error('the reply was lost');
      return answer;
    },
  };
  let end = () => {};
  const work = () =>
    new Promise<void>((resolve) => {
      end = resolve;
    });
  const done = underLease(store, { name: 'sync', holder: 'h', leaseMs }, clock, cut, work);
  const pass = async (ms: number) => {
    await new Promise(setImmediate);
    for (let passed = 0; passed < ms; passed += 500) await clock.advance(500);
  };
  return { asked, pass, isCut: () => cut.signal.aborted, end: () => end(), done };
}

test('a renewal whose answer is lost is asked for again, and the work goes on', async () => {
  const { asked, pass, isCut, end, done } = working('no answer', 'no answer', true);
  await pass(60_000);
  expect(isCut()).toBe(false);
  end();
  expect(await done).toBe(true);
  expect(asked.at(-1)).toBe(0);
});

test('work is cut once the lease has run out without an answer, and not before', async () => {
  const { asked, pass, isCut, end, done } = working(...Array<'no answer'>(99).fill('no answer'));
  await pass(leaseMs - 500);
  expect(isCut()).toBe(false);
  await pass(500);
  expect(isCut()).toBe(true);
  const before = asked.length;
  await pass(60_000);
  expect(asked).toHaveLength(before);
  end();
  await done;
});

test('work is cut at once when another has the lease', async () => {
  const { pass, isCut, end, done } = working(false);
  await pass(leaseMs / 3);
  expect(isCut()).toBe(true);
  end();
  await done;
});
