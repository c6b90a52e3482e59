// Goal: what a stop promises whatever its parts meet: each is ended, none is waited for too long.
// Method: a clock that is moved by hand.
import { makeClosing } from '../../../src/wire/closing';
import { makeHandClock } from '../../support/hand-clock';

function setUp() {
  const clock = makeHandClock(1_000_000);
  const failed: unknown[] = [];
  return { clock, failed, closing: makeClosing(10_000, clock, (error) => failed.push(error)) };
}

test('parts that end well and in time are a clean end', async () => {
  const { closing, failed } = setUp();
  await closing.settledBy(0.5, [Promise.resolve(), undefined]);
  await closing.settled(Promise.resolve());
  expect([closing.isClean(), failed]).toEqual([true, []]);
});

test('a part that fails is told, and the others are waited for', async () => {
  const { closing, failed } = setUp();
  let end = () => {};
  const slow = new Promise<void>((resolve) => {
    end = resolve;
  });
  let over = false;
  const all = closing.settledBy(0.5, [Promise.reject(new Error('away')), slow]).then(() => {
    over = true;
  });
  await new Promise(setImmediate);
  expect([failed, over]).toEqual([[new Error('away')], false]);
  end();
  await all;
  expect(closing.isClean()).toBe(false);
});

test('a part that says itself that it did not end well makes the end unclean, and is told no second time', async () => {
  const { closing, failed } = setUp();
  await closing.settledBy(0.5, [Promise.resolve(true)]);
  expect(closing.isClean()).toBe(true);
  await closing.settledBy(0.5, [Promise.resolve(false)]);
  expect([closing.isClean(), failed]).toEqual([false, []]);
});

test('a part that does not end is given up when its share of the grace is over, also where the one before took part of it', async () => {
  const { clock, closing, failed } = setUp();
  await clock.advance(3_000);
  expect([closing.leftMs(0.5), closing.leftMs(0.2)]).toEqual([2_000, 0]);
  let over = false;
  const all = closing.settledBy(0.5, [new Promise(() => {})]).then(() => {
    over = true;
  });
  await clock.advance(1_999);
  expect(over).toBe(false);
  await clock.advance(1);
  await all;
  expect([closing.isClean(), failed]).toEqual([false, []]);
});
