/**
 * How often the lists of organizations are asked for on request: soon where the next one may tell more, ever more seldom
 * where they are answered in the same way each time. By a clock that people may set back.
 */
import { makeLearned } from '../../../src/connect/learned';
import { makeHandClock } from '../../support/hand-clock';

const hourMs = 3_600_000;
const refused = { whole: false, failed: false };
const failed = { whole: false, failed: true };
const whole = { whole: true, failed: false };

function stage() {
  const clock = makeHandClock(10 * hourMs);
  let wanted = 0;
  const learned = makeLearned(clock, () => {
    wanted += 1;
  });
  const list = (how: { whole: boolean; failed: boolean }, tookMs = 50) =>
    learned.during(async () => {
      await clock.advance(tookMs);
      return how;
    });
  return { clock, learned, list, wanted: () => wanted };
}

test.each([
  ['is refused', refused],
  ['breaks off', failed],
])(
  'while one list %s, lists on request come ever more seldom, up to ten minutes apart',
  async (_how, end) => {
    const { clock, learned, list } = stage();
    const hint = clock.nowMs() + 1;
    const waits: (number | null)[] = [];
    for (let times = 0; times < 11; times += 1) {
      await list(end);
      waits.push(learned.soughtSince(hint));
    }
    const seconds = [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600];
    expect(waits).toEqual(seconds.map((each) => each * 1000));
    await list(whole);
    const later = clock.nowMs();
    expect(learned.soughtSince(later)).toBe(2000);
    await list(end);
    expect(learned.soughtSince(later + 100)).toBe(2000);
  },
);

test('a list during which the machine stood still for an hour keeps nobody waiting for more than ten minutes', async () => {
  const { clock, learned, list, wanted } = stage();
  await list(whole);
  await list(whole, hourMs);
  const hint = clock.nowMs();
  expect(learned.soughtSince(hint)).toBe(600_000);
  expect(learned.since(hint)).toBe(600_000);
  await clock.advance(600_000);
  learned.soughtSince(hint);
  expect(wanted()).toBe(1);
});

test('a hint just after a start waits two seconds for the next list, however long the first took, and then a twentieth of the time', async () => {
  const { clock, learned, list } = stage();
  await list(whole, 30_000);
  expect(learned.soughtSince(clock.nowMs())).toBe(2000);
  await list(whole, 30_000);
  expect(learned.soughtSince(clock.nowMs())).toBe(600_000);
});

test.each([
  ['was refused', refused],
  ['broke off', failed],
])('a first list that %s puts the next one off by the time it took', async (_how, end) => {
  const { clock, learned, list } = stage();
  await list(end, 20_000);
  expect(learned.soughtSince(clock.nowMs())).toBe(400_000);
  // The first that comes to its end tells how long the others take, too.
  await list(whole, 20_000);
  expect(learned.soughtSince(clock.nowMs())).toBe(400_000);
});

test('what waits for an organization that nobody sees has some twenty lists made in its hour, whoever is refused', async () => {
  const { clock, learned, list, wanted } = stage();
  const hint = clock.nowMs();
  await clock.advance(1);
  let lists = 0;
  for (let second = 0; second < 3700; second += 1) {
    const before = wanted();
    if (learned.soughtSince(hint) !== null && wanted() > before) {
      lists += 1;
      await list(refused);
    }
    await clock.advance(1000);
  }
  expect(lists).toBeLessThanOrEqual(20);
});

test('an hour back after a list makes nothing known that was said since', async () => {
  const { clock, learned, list, wanted } = stage();
  const before = clock.nowMs();
  await list(whole);
  clock.setBack(hourMs);
  await clock.advance(60_000);
  const hint = clock.nowMs();
  await clock.advance(10);
  expect(learned.since(hint)).toBe(1000);
  expect(learned.soughtSince(hint)).toBe(1000);
  expect(wanted()).toBe(2);
  // What was said before that list, by the clock of then, is known, and a list of now tells also what was said after it.
  expect(learned.since(before)).toBeNull();
  await list(whole);
  expect(learned.since(hint)).toBeNull();
  expect(learned.since(before + 30_000)).toBeNull();
});

test('who only looks whether all is known asks for no list, and nobody does for what was asked since', async () => {
  const { clock, learned, list, wanted } = stage();
  const lost = clock.nowMs();
  expect(learned.since(lost, false)).toBe(1000);
  expect(wanted()).toBe(0);
  learned.since(lost);
  expect(wanted()).toBe(1);
  await list(refused);
  await clock.advance(hourMs);
  expect(learned.since(lost)).toBe(1000);
  expect(wanted()).toBe(1);
  await list(whole);
  expect(learned.since(lost, false)).toBeNull();
});

test('what is sought before its time is due when that has come, until a list begins', async () => {
  const { clock, learned, list, wanted } = stage();
  await list(failed);
  expect(learned.isSought()).toBe(false);
  learned.soughtSince(clock.nowMs());
  expect([learned.isSought(), wanted()]).toEqual([false, 0]);
  await clock.advance(2000);
  expect(learned.isSought()).toBe(true);
  const round = learned.during(async () => {
    expect(learned.isSought()).toBe(false);
    // Of one that began before it nothing is learned of what happened since.
    await clock.advance(50);
    learned.soughtSince(clock.nowMs());
    expect(learned.isSought()).toBe(false);
    return whole;
  });
  await round;
  await clock.advance(2000);
  expect(learned.isSought()).toBe(true);
  await list(whole);
  await clock.advance(hourMs);
  expect(learned.isSought()).toBe(false);
});
