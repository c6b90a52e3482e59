// Goal: what brokers told is waited for as long as the longest of it lasts, and no longer.
// Method: a clock that is moved by hand.
import { makeThrottle } from '../../../src/publish/throttle';
import { makeHandClock } from '../../support/hand-clock';

test('of several brokers the one that holds back longest counts, until that is over', async () => {
  const clock = makeHandClock(1_000_000);
  const throttle = makeThrottle(clock);
  expect(throttle.leftMs()).toBe(0);
  throttle.told(20_000);
  await clock.advance(5_000);
  throttle.told(3_000);
  expect(throttle.leftMs()).toBe(15_000);
  throttle.told(16_000);
  await clock.advance(15_999);
  expect(throttle.leftMs()).toBe(1);
  await clock.advance(1_000);
  expect(throttle.leftMs()).toBe(0);
});

test('what is held back for less than a second is not waited for here', () => {
  const throttle = makeThrottle(makeHandClock(0));
  throttle.told(999);
  expect(throttle.leftMs()).toBe(0);
  throttle.told(1_000);
  expect(throttle.leftMs()).toBe(1_000);
});
