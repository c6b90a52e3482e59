/**
 * Whose failure it is: an item ages by its own failures only, others are not held for it, and a person is told of what
 * lasts.
 */
import type { Reading } from '../../../src/inbox/failing';
import { makeProviderHealth } from '../../../src/inbox/provider-health';

const origin = 'https://provider.example';
const health = () => makeProviderHealth(() => 0.5);
type Subject = ReturnType<typeof health>;

const readingOf = (
  organizationId: string | null,
  resource: number,
  more: Partial<Reading> = {},
): Reading => ({
  origin,
  connectionId: 'c1',
  organizationId,
  address: `${origin}/equipment/${resource}`,
  lastAttemptMs: null,
  ...more,
});
const ofA = (resource = 1, more: Partial<Reading> = {}) => readingOf('A', resource, more);
const ofB = (resource = 101, more: Partial<Reading> = {}) =>
  readingOf('B', resource, { connectionId: 'c2', ...more });
const again = { lastAttemptMs: 1000 };

function fail(subject: Subject, readings: Reading[], nowMs = 1000): void {
  for (const reading of readings) subject.failed(reading, 'status-503: away', nowMs);
}
const machinesOfA = (count: number, more: Partial<Reading> = {}) =>
  Array.from({ length: count }, (_, index) => ofA(index + 1, more));
/** Everybody fails. */
const outage = (subject: Subject, nowMs = 1000) => fail(subject, [ofA(1), ofA(2), ofB()], nowMs);
const names = (subject: Subject, nowMs: number) => subject.troubles(nowMs).map(({ name }) => name);

describe('own failures', () => {
  test('a first failure is never the item’s own', () => {
    const subject = health();
    subject.succeeded(ofA(), 5000);
    expect(subject.isOwn(ofA())).toBe(false);
  });

  test('a failure is the item’s own once another read of the same origin and connection succeeded since', () => {
    const subject = health();
    expect(subject.isOwn(ofA(1, again))).toBe(false);
    subject.succeeded(ofA(2), 2000);
    expect(subject.isOwn(ofA(1, again))).toBe(true);
    expect(subject.isOwn(ofA(1, { lastAttemptMs: 2000 }))).toBe(false);
    expect(subject.isOwn(ofA(1, { ...again, connectionId: 'c2' }))).toBe(false);
    expect(subject.isOwn(ofA(1, { ...again, origin: 'https://other.example' }))).toBe(false);
  });

  test.each([
    ['ahead of', 3_600_000],
    ['behind', -3_600_000],
  ])('are told apart where the store’s clock, by which attempts fail, is %s ours', (_how, aheadMs) => {
    const subject = health();
    subject.taken([{ takenAtMs: 500 + aheadMs }], 500);
    subject.succeeded(ofA(2), 2000);
    const failedAt = (nowMs: number) => ofA(1, { lastAttemptMs: nowMs + aheadMs });
    expect(subject.isOwn(failedAt(1999))).toBe(true);
    expect(subject.isOwn(failedAt(2000))).toBe(false);
    // What fails beside others that succeed says nothing of the origin.
    for (let id = 1; id <= 9; id += 1) {
      const alone = readingOf(`${id}`, id, { connectionId: `c${id}`, lastAttemptMs: 1500 + aheadMs });
      fail(subject, [alone], 3000);
    }
    expect(names(subject, 100_000)).not.toContain('provider-unavailable');
  });
});

describe('one resource that fails', () => {
  test('again and again, in whatever words its address is written, is never held and counts as one', () => {
    const subject = health();
    for (let times = 0; times < 20; times += 1) fail(subject, [ofA(1, again)], 1000 + times);
    for (const more of ['?embed=devices', '?embed=offsets', '#devices'])
      fail(subject, [ofA(1, { address: `${origin}/equipment/1${more}` })], 1020);
    expect(subject.heldMs(ofA(1, again), 1020)).toBe(0);
    expect(subject.heldMs(ofB(), 1020)).toBe(0);
    expect(subject.troubles(1_000_000)).toEqual([]);
  });

  test('and is all that is tried is told after longer than an hour, by its organization and address', () => {
    const subject = health();
    for (let nowMs = 0; nowMs <= 4_500_000; nowMs += 300_000) fail(subject, [ofA(1)], nowMs);
    expect(subject.troubles(4_499_999)).toEqual([]);
    expect(subject.troubles(4_500_000)).toEqual([
      {
        name: 'organization-unread',
        sinceMs: 0,
        detail: `Nothing that is tried is answered of organization A, last ${origin}/equipment/1: status-503: away.`,
        labels: { origin },
      },
    ]);
    // Tried no more: it was set aside, or is not wanted.
    expect(subject.troubles(4_500_000 + 900_001)).toEqual([]);
  });

  test('beside others that are answered is its own and says nothing of its organization', () => {
    const subject = health();
    fail(subject, [ofA(1)], 0);
    subject.succeeded(ofA(2), 100);
    for (let nowMs = 200; nowMs <= 9_000_000; nowMs += 300_000) {
      fail(subject, [ofA(1, { lastAttemptMs: nowMs - 200 })], nowMs);
      subject.succeeded(ofA(2), nowMs + 1);
    }
    expect(subject.troubles(9_000_000)).toEqual([]);
  });
});

describe('an organization that only fails', () => {
  test('holds back what failed of it, lets one trial through at a time, and holds nobody else', () => {
    const subject = health();
    fail(subject, machinesOfA(2), 1);
    expect(subject.heldMs(ofA(1, again), 1000)).toBe(0);
    expect(subject.heldMs(ofA(2, again), 1000)).toBe(0);
    fail(subject, machinesOfA(30));
    const heldMs = subject.heldMs(ofA(1, again), 1000);
    expect(heldMs).toBeGreaterThan(0);
    expect(subject.heldMs(ofB(), 1000)).toBe(0);
    expect(subject.heldMs(ofB(101, again), 1000)).toBe(0);
    expect(subject.heldMs(readingOf(null, 7, again), 1000)).toBe(0);
    expect(subject.heldMs(ofA(1, again), 1000 + heldMs)).toBe(0);
    expect(subject.heldMs(ofA(2, again), 1000 + heldMs)).toBeGreaterThan(0);
  });

  test('and is not known holds back what failed of it in the same way, until one of it is answered', () => {
    const subject = health();
    const unknown = (resource: number) => readingOf(null, resource, again);
    fail(subject, [unknown(1), unknown(2), unknown(3)]);
    expect(subject.heldMs(unknown(1), 1000)).toBeGreaterThan(0);
    expect(subject.heldMs(ofA(1, again), 1000)).toBe(0);
    expect(subject.succeeded(unknown(4), 1001)).toBe(true);
    expect(subject.heldMs(unknown(1), 1001)).toBe(0);
  });

  test('is left alone by what failed of it for the first time as well, until nobody has tried it for long', () => {
    const subject = health();
    fail(subject, machinesOfA(2), 1000);
    fail(subject, [ofA(3)], 3000);
    expect(subject.pauseMs(ofA(1), 3000)).toBe(1500);
    expect(subject.pauseMs(ofA(1), 903_001)).toBe(0);
    expect(subject.heldMs(ofA(1, again), 903_001)).toBe(0);
    expect(subject.heldMs(ofA(2, again), 903_001)).toBe(0);
  });

  test('while its own connection reads others has failures of its own: it is neither held nor told', () => {
    for (const organization of ['A', null]) {
      const subject = health();
      const machines = [1, 2, 3].map((id) => readingOf(organization, id, again));
      fail(subject, machines, 1000);
      subject.succeeded(readingOf('C', 201), 1100);
      fail(subject, machines, 1200);
      for (const machine of machines) expect(subject.heldMs(machine, 1200)).toBe(0);
      for (let nowMs = 2000; nowMs <= 5_000_000; nowMs += 600_000) fail(subject, machines, nowMs);
      expect(subject.troubles(5_000_000)).toEqual([]);
    }
  });

  test('is not made of lists of organizations that fail beside others that are answered', () => {
    const subject = health();
    for (let nowMs = 1000; nowMs < 5_000_000; nowMs += 600_000) {
      fail(subject, [readingOf(null, 1, { address: null })], nowMs);
      subject.succeeded(ofB(), nowMs + 1);
    }
    expect(subject.heldMs(readingOf(null, 7, again), 5_000_000)).toBe(0);
    expect(subject.troubles(5_000_000)).toEqual([]);
  });

  test('is asked for what has not failed yet, which may be well', () => {
    const subject = health();
    fail(subject, machinesOfA(30));
    expect(subject.heldMs(ofA(31), 1000)).toBe(0);
    expect(subject.succeeded(ofA(31), 1001)).toBe(true);
    expect(subject.heldMs(ofA(1, again), 1001)).toBe(0);
  });

  test('beside others that are answered pages nobody, and is told after longer than an hour', () => {
    const subject = health();
    const endMs = 100_000 + 4_500_000;
    for (let nowMs = 100_000; nowMs <= endMs; nowMs += 60_000) {
      fail(subject, machinesOfA(30, { lastAttemptMs: nowMs - 60_000 }), nowMs);
      expect(names(subject, nowMs)).toEqual(nowMs < endMs ? [] : ['organization-unread']);
      expect(subject.succeeded(ofB(), nowMs + 1)).toBe(false);
    }
  });

  test('while nobody else is asked is told as an outage after five minutes, with whom it is about', () => {
    const subject = health();
    fail(subject, machinesOfA(3), 1000);
    fail(subject, [ofA(1)], 299_000);
    expect(names(subject, 300_999)).toEqual([]);
    expect(subject.troubles(301_000)).toEqual([
      {
        name: 'provider-unavailable',
        sinceMs: 1000,
        detail: 'Only reads of organization A were tried, and all fail: status-503: away',
        labels: { origin },
      },
    ]);
  });

  test('while nobody else is asked is one trouble for as long as it lasts, beside those of other origins', () => {
    const subject = health();
    const elsewhere = 'https://other.example';
    for (let nowMs = 0; nowMs <= 4_500_000; nowMs += 300_000) {
      fail(subject, machinesOfA(3), nowMs);
      fail(subject, [ofB(101, { origin: elsewhere })], nowMs);
    }
    expect(subject.troubles(4_500_000)).toMatchObject([
      { name: 'provider-unavailable', labels: { origin } },
      { name: 'organization-unread', labels: { origin: elsewhere } },
    ]);
  });

  test('and is not known is told as such', () => {
    const subject = health();
    const unknown = [1, 2, 3].map((id) => readingOf(null, id));
    for (const nowMs of [0, 300_000]) fail(subject, unknown, nowMs);
    expect(subject.troubles(300_000)).toMatchObject([
      {
        detail: 'Only reads of organization that is not known were tried, and all fail: status-503: away',
      },
    ]);
  });

  test('beside two more is named with them, since when the first of them fails', () => {
    const subject = health();
    // A list of one organization has no address to be shown.
    const lists = ['A', 'B', 'C'].map((id) => readingOf(id, 1, { address: `the equipment of ${id}` }));
    for (let nowMs = 0; nowMs <= 4_800_000; nowMs += 300_000) {
      for (const list of nowMs === 0 ? lists.slice(1) : lists) {
        fail(subject, [list], nowMs);
        subject.succeeded(readingOf('D', 301, { connectionId: 'c2' }), nowMs);
      }
    }
    const each = ['B', 'C', 'A'].map((id) => `of organization ${id}, last ${origin}: status-503: away`);
    expect(subject.troubles(4_800_000)).toMatchObject([
      { sinceMs: 0, detail: `Nothing that is tried is answered ${each.join('; ')}.` },
    ]);
  });

  test('of so many no more than a thousand are remembered, and three are named', () => {
    const subject = health();
    for (let nowMs = 0; nowMs <= 4_500_000; nowMs += 900_000) {
      for (let id = 1; id <= 1100; id += 1) {
        fail(subject, [readingOf(id === 3 ? null : `${id}`, id, { lastAttemptMs: nowMs })], nowMs);
        subject.succeeded(ofB(), nowMs);
      }
    }
    const [trouble, ...others] = subject.troubles(4_500_000);
    expect(others).toEqual([]);
    expect(trouble!.detail.match(/, last /g)).toHaveLength(3);
    expect(trouble!.detail).toMatch(
      /of organization 1, last .*; of organization 2, last .*; of an organization that is not known, last .*; and of 997 more\.$/,
    );
  });
});

describe('an outage', () => {
  test('is of two organizations and three resources with no success between; one trial goes through at a time', () => {
    const subject = health();
    fail(subject, [ofA(1), ofB()]);
    expect(subject.heldMs(readingOf('C', 7), 1000)).toBe(0);
    fail(subject, [ofA(2)]);
    const heldMs = subject.heldMs(readingOf('C', 7), 1000);
    expect(heldMs).toBeGreaterThan(0);
    expect(subject.heldMs(ofA(1, again), 1000 + heldMs)).toBe(0);
    expect(subject.heldMs(ofA(1, again), 1000 + heldMs)).toBeGreaterThan(0);
  });

  test('tries every two seconds or so until it is told, and then ten seconds apart at most, however many fail', () => {
    const subject = health();
    outage(subject);
    let nowMs = 1000;
    const distances = Array.from({ length: 15 }, () => {
      const heldMs = subject.pauseMs(ofA(1), nowMs);
      nowMs += heldMs;
      expect(subject.heldMs(ofA(1, again), nowMs)).toBe(0);
      fail(subject, [...machinesOfA(20, again), ofB()], nowMs);
      return heldMs;
    });
    expect(distances).toEqual([...Array(10).fill(1500), ...Array(5).fill(5500)]);
  });

  test('that healed three seconds before it would be told is known as healed, however the trials fell', () => {
    const subject = makeProviderHealth(() => 0.999);
    outage(subject);
    const [healedMs, toldMs] = [13_000, 16_000];
    let triedMs = 1000;
    while (triedMs < healedMs) {
      triedMs += subject.pauseMs(ofA(1), triedMs);
      expect(subject.heldMs(ofA(1, again), triedMs)).toBe(0);
      if (triedMs < healedMs) fail(subject, [ofA(1, again)], triedMs);
    }
    expect(triedMs).toBeLessThan(toldMs);
    subject.succeeded(ofA(1, again), triedMs);
    expect(subject.troubles(toldMs)).toEqual([]);
  });

  test('is not tried by the same resource again while another waits', () => {
    const subject = health();
    outage(subject);
    const firstMs = 1000 + subject.pauseMs(ofA(1), 1000);
    expect(subject.heldMs(ofA(1, again), firstMs)).toBe(0);
    const distanceMs = subject.pauseMs(ofA(1), firstMs);
    expect(subject.heldMs(readingOf('C', 7), firstMs + 1)).toBe(distanceMs - 1);
    expect(subject.heldMs(ofA(1, again), firstMs + distanceMs)).toBe(distanceMs);
    expect(subject.heldMs(readingOf('C', 7), firstMs + distanceMs)).toBe(0);
  });

  test('is tried first by what has not failed last, and by the same again where nothing else waits', () => {
    const subject = health();
    outage(subject);
    const firstMs = 1000 + subject.pauseMs(ofA(1), 1000);
    subject.heldMs(readingOf('C', 7), 1001);
    // The last that failed.
    expect(subject.heldMs(ofB(101, again), firstMs)).toBeGreaterThan(0);
    expect(subject.heldMs(readingOf('C', 7), firstMs)).toBe(0);
    const secondMs = firstMs + subject.pauseMs(ofA(1), firstMs);
    expect(subject.heldMs(readingOf('C', 7), secondMs - 1)).toBe(1);
    expect(subject.heldMs(readingOf('C', 7), secondMs)).toBe(0);
  });

  test('is not put off by what fails while it is left alone', () => {
    const subject = health();
    outage(subject);
    fail(subject, [ofA(3), ofB(102)], 2000);
    expect(subject.pauseMs(ofA(1), 2000)).toBe(500);
  });

  test('is not put off for ever by what waited and does not come', () => {
    const subject = health();
    outage(subject);
    const firstMs = 1000 + subject.pauseMs(ofA(1), 1000);
    expect(subject.heldMs(ofA(1, again), firstMs)).toBe(0);
    const distanceMs = subject.pauseMs(ofA(1), firstMs);
    subject.heldMs(readingOf('C', 7), firstMs);
    expect(subject.heldMs(ofA(1, again), firstMs + 2 * distanceMs)).toBe(0);
  });

  test('says how long it still leaves the origin alone without taking the trial', () => {
    const subject = health();
    expect(subject.pauseMs(ofA(1), 1000)).toBe(0);
    outage(subject);
    const pauseMs = subject.pauseMs(ofA(1), 1000);
    expect(pauseMs).toBeGreaterThan(0);
    expect(subject.pauseMs(ofA(1), 1000 + pauseMs)).toBe(0);
    expect(subject.heldMs(ofA(1, again), 1000 + pauseMs)).toBe(0);
  });

  test('that heals within fifteen seconds is told to nobody; one that lasts is, with its beginning and latest detail', () => {
    const subject = health();
    outage(subject, 1000);
    subject.failed(ofB(), 'timeout', 2000);
    expect(subject.troubles(15_999)).toEqual([]);
    expect(subject.troubles(16_000)).toEqual([
      { name: 'provider-unavailable', sinceMs: 1000, detail: 'timeout', labels: { origin } },
    ]);
    subject.succeeded(ofA(), 16_001);
    expect(subject.troubles(16_001)).toEqual([]);
  });

  test('that nobody tries any more holds nobody and is not told', () => {
    const subject = health();
    outage(subject, 0);
    expect(names(subject, 900_000)).toEqual(['provider-unavailable']);
    expect(names(subject, 900_001)).toEqual([]);
    expect(subject.heldMs(ofA(1, again), 900_001)).toBe(0);
    expect(subject.heldMs(ofA(2, again), 900_001)).toBe(0);
    fail(subject, [ofA(1)], 900_001);
    expect(names(subject, 950_000)).toEqual([]);
  });

  test('ends with the first success, which says that what waited may go on, whosever it is', () => {
    const subject = health();
    fail(subject, machinesOfA(3));
    fail(subject, [ofB()]);
    expect(subject.succeeded(readingOf('C', 7, { connectionId: 'c3' }), 2000)).toBe(true);
    expect(subject.succeeded(readingOf('C', 7, { connectionId: 'c3' }), 2001)).toBe(false);
    for (const reading of [...machinesOfA(3, again), ofB(101, again)]) {
      expect(subject.heldMs(reading, 2001)).toBe(0);
    }
    expect(subject.troubles(10_000_000)).toEqual([]);
  });

  test('is not made of what failed before others were answered', () => {
    const subject = health();
    subject.succeeded(readingOf('C', 7), 1500);
    fail(subject, [...machinesOfA(3, again), ofB(101, again)], 2000);
    expect(subject.heldMs(readingOf('C', 7), 2000)).toBe(0);
  });

  test.each([
    ['failed for the first time after others were answered', 1500, {}],
    ['failed before and after others were answered', 1500, { lastAttemptMs: 1500 }],
    ['failed in a life before, with nobody answered since', null, again],
  ])('is made of what %s', (_what, answeredMs, more) => {
    const subject = health();
    if (answeredMs !== null) subject.succeeded(readingOf('C', 7), answeredMs);
    fail(subject, [...machinesOfA(2, more), ofB(101, more)], 2000);
    expect(subject.heldMs(readingOf('C', 7), 2000)).toBeGreaterThan(0);
  });

  test('a few failures and a success were no outage', () => {
    const subject = health();
    fail(subject, [ofA(1), ofB()]);
    expect(subject.succeeded(ofA(1), 2000)).toBe(false);
  });

  test('of one origin leaves another alone, and a token that was not to be had says nothing of any', () => {
    const subject = health();
    outage(subject);
    fail(subject, [...machinesOfA(3, { origin: '' }), ofB(101, { origin: '' })]);
    expect(subject.heldMs(ofA(1, { origin: 'https://other.example' }), 1000)).toBe(0);
    expect(subject.troubles(20_000)).toHaveLength(1);
  });
});

describe('a 429', () => {
  test('holds the whole client key, at most one hour, and is told while it lasts', () => {
    const subject = health();
    subject.rateLimited(60_001, 1000);
    expect(subject.coolDownMs(1000)).toBe(60_001);
    const detail = 'The provider asked for a pause until 1970-01-01T00:01:01.001Z.';
    expect(subject.troubles(1000)).toEqual([{ name: 'rate-limited', sinceMs: 1000, detail, labels: {} }]);
    subject.rateLimited(365 * 86_400_000, 2000);
    expect(subject.coolDownMs(2000)).toBe(3_600_000);
    expect(subject.troubles(2000)).toMatchObject([{ sinceMs: 1000 }]);
    expect(subject.coolDownMs(2000 + 3_600_000)).toBe(0);
    expect(subject.troubles(2000 + 3_600_000)).toEqual([]);
  });

  test('that asks for a minute or less is told to nobody, unless it comes again and again', () => {
    const subject = health();
    subject.rateLimited(60_000, 1000);
    expect(subject.troubles(1000)).toEqual([]);
    // More than ten seconds of reading between: another trouble.
    subject.rateLimited(30_000, 71_001);
    expect(subject.troubles(71_001)).toEqual([]);
    subject.rateLimited(15_000, 111_001);
    expect(subject.troubles(111_001)).toEqual([]);
    subject.rateLimited(3000, 131_000);
    expect(subject.troubles(131_000)).toMatchObject([{ name: 'rate-limited', sinceMs: 71_001 }]);
    expect(subject.troubles(134_000)).toEqual([]);
  });

  test('a shorter pause does not end a longer one', () => {
    const subject = health();
    subject.rateLimited(30_000, 0);
    subject.rateLimited(1000, 10);
    expect(subject.coolDownMs(10)).toBe(29_990);
  });

  test('is told on once for many answers, and again when it grows or begins anew', () => {
    const told: number[] = [];
    const subject = makeProviderHealth(
      () => 0.5,
      (forMs) => told.push(forMs),
    );
    for (let nowMs = 1000; nowMs < 1050; nowMs += 1) subject.rateLimited(30_000, nowMs);
    subject.rateLimited(30_949, 1050);
    expect(told).toEqual([30_000]);
    // A second longer than what was told.
    subject.rateLimited(30_950, 1050);
    subject.rateLimited(1000, 1060);
    expect(told).toEqual([30_000, 30_950]);
    subject.rateLimited(500, 33_050);
    expect(told).toEqual([30_000, 30_950, 500]);
    subject.rateLimited(365 * 86_400_000, 33_060);
    expect(told.at(-1)).toBe(3_600_000);
  });

  test('that another process was asked for holds this one as well, from its beginning', () => {
    const told: number[] = [];
    const subject = makeProviderHealth(
      () => 0.5,
      (forMs) => told.push(forMs),
    );
    subject.pauseHeard({ sinceMs: 400, leftMs: 70_000 }, 1000);
    expect(subject.coolDownMs(1000)).toBe(70_000);
    expect(subject.troubles(1000)).toMatchObject([{ name: 'rate-limited', sinceMs: 400 }]);
    subject.rateLimited(90_000, 2000);
    subject.pauseHeard({ sinceMs: 300, leftMs: 5000 }, 2000);
    expect(subject.coolDownMs(2000)).toBe(90_000);
    expect(subject.troubles(2000)).toMatchObject([{ sinceMs: 300 }]);
    subject.pauseHeard({ sinceMs: 1500, leftMs: 5000 }, 2000);
    expect(subject.troubles(2000)).toMatchObject([{ sinceMs: 300 }]);
    expect(told).toEqual([90_000]);
    subject.pauseHeard({ sinceMs: 300, leftMs: 365 * 86_400_000 }, 3000);
    expect(subject.coolDownMs(3000)).toBe(3_600_000);
  });

  test('without a given randomness the trial times are random but bounded', () => {
    const subject = makeProviderHealth();
    outage(subject);
    for (let trial = 1; trial <= 20; trial += 1) {
      expect(subject.heldMs(ofA(1, again), trial * 70_000)).toBe(0);
      expect(subject.heldMs(ofA(2, again), trial * 70_000)).toBeLessThanOrEqual(10_500);
    }
  });
});

describe('a refused client key', () => {
  const nothing: unknown[] = [];

  test('is told while what was refused waits, from the first time, whatever else succeeds', () => {
    const subject = health();
    subject.clientRefused('machine 1', 'a scope is missing', 1000, 'due');
    subject.succeeded(ofA(), 2000);
    subject.clientServed('machine 2');
    subject.clientRefused('machine 2', 'a licence is missing', 800_000, 'due');
    expect(subject.troubles(899_999)).toEqual([
      { name: 'client-refused', sinceMs: 1000, detail: 'a licence is missing', labels: {} },
    ]);
    subject.clientServed('machine 2');
    expect(subject.troubles(899_999)).toEqual([
      { name: 'client-refused', sinceMs: 1000, detail: 'a scope is missing', labels: {} },
    ]);
    subject.clientServed('machine 1');
    expect(subject.troubles(899_999)).toEqual(nothing);
  });

  test('is over a quarter of an hour after it was last seen where nobody asks again', () => {
    const subject = health();
    subject.clientRefused('machine 1', 'a scope is missing', 1000, 'due');
    subject.clientRefused('machine 1', 'a licence is missing', 800_000, 'due');
    expect(subject.troubles(1_699_999)).toMatchObject([{ sinceMs: 1000, detail: 'a licence is missing' }]);
    expect(subject.troubles(1_700_000)).toEqual(nothing);
  });

  test('is over when what waited for it is made due, but for what is refused again', () => {
    const subject = health();
    subject.clientRefused('machine 1', 'a scope is missing', 1000, 'due');
    subject.clientRefused('machine 2', 'a scope is missing', 2000, 'due');
    subject.clientRefused('machine 3', 'a licence is missing', 3000, 'due');
    subject.refusedHastened(3000);
    expect(subject.troubles(4000)).toMatchObject([{ detail: 'a licence is missing' }]);
    subject.refusedHastened(3001);
    expect(subject.troubles(4000)).toEqual(nothing);
  });

  test('is told as it was said last, also of what was refused before', () => {
    const subject = health();
    subject.clientRefused('machine 1', 'a scope is missing', 1000, 'due');
    subject.clientRefused('machine 2', 'another scope is missing', 2000, 'due');
    subject.clientRefused('machine 1', 'a licence is missing', 3000, 'due');
    expect(subject.troubles(3000)).toMatchObject([{ sinceMs: 1000, detail: 'a licence is missing' }]);
  });

  test('that is seen again later began again', () => {
    const subject = health();
    subject.clientRefused('machine 1', 'a scope is missing', 0, 'due');
    subject.clientRefused('machine 2', 'a scope is missing', 900_000, 'due');
    expect(subject.troubles(900_000)).toMatchObject([{ sinceMs: 900_000 }]);
    subject.clientServed('machine 2');
    expect(subject.troubles(900_000)).toEqual(nothing);
  });

  test('is remembered of a thousand things, the last ones, and of each once', () => {
    const subject = health();
    const all = Array.from({ length: 1001 }, (_, place) => `machine ${place}`);
    for (const thing of [...all, ...all.slice(1)])
      subject.clientRefused(thing, 'a scope is missing', 0, 'due');
    for (const thing of all.slice(2)) subject.clientServed(thing);
    expect(subject.troubles(0)).toHaveLength(1);
    subject.clientServed(all[1]!);
    expect(subject.troubles(0)).toEqual(nothing);
  });
});

describe('a clock that is set back by two hours', () => {
  const backMs = 7_200_000;
  /** What is known at this time of the clock's, which is set back ten seconds later. */
  function setBackAfter(know: (subject: Subject, nowMs: number) => void): Subject {
    const subject = health();
    know(subject, backMs);
    subject.coolDownMs(backMs + 10_000);
    subject.coolDownMs(10_000);
    return subject;
  }

  test('makes no pause longer that the provider asked for, and tells its end by the clock of now', () => {
    const subject = setBackAfter((of, nowMs) => of.rateLimited(90_000, nowMs));
    expect(subject.coolDownMs(10_000)).toBe(80_000);
    expect(subject.troubles(10_000)).toEqual([
      {
        name: 'rate-limited',
        sinceMs: 0,
        detail: 'The provider asked for a pause until 1970-01-01T00:01:30.000Z.',
        labels: {},
      },
    ]);
    expect(subject.coolDownMs(90_000)).toBe(0);
  });

  test('makes a pause that was heard of as long as it is heard of now', () => {
    const subject = setBackAfter((of, nowMs) => of.pauseHeard({ sinceMs: nowMs, leftMs: 90_000 }, nowMs));
    subject.pauseHeard({ sinceMs: backMs, leftMs: backMs + 80_000 }, 10_000);
    expect(subject.coolDownMs(10_000)).toBe(3_600_000);
    // The store has brought it nearer.
    subject.pauseHeard({ sinceMs: 10_000, leftMs: 30_000 }, 20_000);
    expect(subject.coolDownMs(20_000)).toBe(30_000);
    subject.pauseHeard(null, 30_000);
    expect(subject.coolDownMs(30_000)).toBe(0);
  });

  test('is noticed by whatever is told first, a pause included', () => {
    const told: number[] = [];
    const asked = makeProviderHealth(
      () => 0.5,
      (forMs) => void told.push(forMs),
    );
    asked.rateLimited(5000, backMs);
    asked.rateLimited(30_000, 10_000);
    expect(told).toEqual([5000, 30_000]);
    expect(asked.coolDownMs(10_000)).toBe(30_000);
    const heard = health();
    heard.coolDownMs(backMs);
    heard.pauseHeard({ sinceMs: 10_000, leftMs: 30_000 }, 10_000);
    expect(heard.coolDownMs(10_000)).toBe(30_000);
  });

  test('has the same pause told on once it is longer', () => {
    const told: number[] = [];
    const subject = makeProviderHealth(
      () => 0.5,
      (forMs) => void told.push(forMs),
    );
    subject.rateLimited(90_000, backMs);
    subject.coolDownMs(backMs);
    subject.coolDownMs(0);
    subject.rateLimited(90_000, 999);
    subject.rateLimited(90_000, 1000);
    expect(told).toEqual([90_000, 90_000]);
  });

  test('holds what nobody is answered for no longer than until its trial', () => {
    const still = health();
    outage(still, backMs);
    const leftMs = still.pauseMs(ofA(9), backMs);
    expect(leftMs).toBeGreaterThan(0);
    const subject = setBackAfter(outage);
    expect(subject.pauseMs(ofA(9), 0)).toBe(leftMs);
    expect(subject.troubles(14_999)).toEqual([]);
    expect(subject.troubles(15_000)).toMatchObject([{ name: 'provider-unavailable', sinceMs: 0 }]);
    expect(subject.troubles(900_001)).toEqual([]);
  });

  test('makes no failure its own that came after the last success', () => {
    const subject = setBackAfter((of, nowMs) => of.succeeded(ofA(2), nowMs));
    expect(subject.isOwn(ofA(1, { lastAttemptMs: -1 }))).toBe(true);
    expect(subject.isOwn(ofA(1, { lastAttemptMs: 0 }))).toBe(false);
  });

  test('ends a refusal of the client key no later, as that of one organization that only fails', () => {
    const subject = setBackAfter((of, nowMs) => {
      of.clientRefused('machine 1', 'a scope is missing', nowMs, 'due');
      of.succeeded(ofB(), nowMs);
      fail(of, machinesOfA(3, { lastAttemptMs: nowMs - 1 }), nowMs);
    });
    expect(subject.troubles(899_999)).toMatchObject([{ name: 'client-refused', sinceMs: 0 }]);
    expect(subject.troubles(900_000)).toEqual([]);
    expect(subject.pauseMs(ofA(9), 10_000)).toBe(0);
  });

  test('is one that goes back by a second; by less it is corrected', () => {
    for (const [byMs, leftMs] of [
      [999, 10_999],
      [1000, 10_000],
    ] as const) {
      const subject = health();
      subject.rateLimited(10_000, backMs);
      subject.coolDownMs(backMs);
      expect(subject.coolDownMs(backMs - byMs)).toBe(leftMs);
    }
  });
});
