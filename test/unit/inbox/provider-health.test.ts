/**
 * Whose failure it is: an item ages by its own failures only, and an origin that only fails is left alone.
 */
import { makeProviderHealth } from '../../../src/inbox/provider-health';

const origin = 'https://provider.example';
const health = () => makeProviderHealth(() => 0.5);
const failTimes = (subject: ReturnType<typeof health>, times: number, nowMs = 1000) => {
  for (let count = 0; count < times; count += 1) subject.failed(origin, 'http-503', nowMs);
};

describe('own failures', () => {
  test('a first failure is never the item’s own', () => {
    const subject = health();
    subject.succeeded(origin, 'c1', 5000);
    expect(subject.isOwn(origin, 'c1', null)).toBe(false);
  });

  test('a failure is the item’s own once another read of the same origin and connection succeeded since', () => {
    const subject = health();
    expect(subject.isOwn(origin, 'c1', 1000)).toBe(false);
    subject.succeeded(origin, 'c1', 2000);
    expect(subject.isOwn(origin, 'c1', 1000)).toBe(true);
    expect(subject.isOwn(origin, 'c1', 2000)).toBe(false);
    expect(subject.isOwn(origin, 'c2', 1000)).toBe(false);
    expect(subject.isOwn('https://other.example', 'c1', 1000)).toBe(false);
  });
});

describe('an outage', () => {
  test('begins after five failures in a row and lets one trial through at a time', () => {
    const subject = health();
    failTimes(subject, 4);
    expect(subject.heldMs(origin, 1000)).toBe(0);
    expect(subject.troubles(1000)).toEqual([]);
    failTimes(subject, 1);
    const heldMs = subject.heldMs(origin, 1000);
    expect(heldMs).toBeGreaterThan(0);
    expect(subject.heldMs(origin, 1000 + heldMs)).toBe(0);
    expect(subject.heldMs(origin, 1000 + heldMs)).toBeGreaterThan(0);
  });

  test('says how long it still leaves the origin alone without taking the trial', () => {
    const subject = health();
    expect(subject.pauseMs(origin, 1000)).toBe(0);
    failTimes(subject, 5);
    const pauseMs = subject.pauseMs(origin, 1000);
    expect(pauseMs).toBeGreaterThan(0);
    expect(subject.pauseMs(origin, 1000 + pauseMs)).toBe(0);
    expect(subject.heldMs(origin, 1000 + pauseMs)).toBe(0);
  });

  test('is told with its beginning and its latest detail', () => {
    const subject = health();
    failTimes(subject, 4, 1000);
    subject.failed(origin, 'timeout', 2000);
    expect(subject.troubles(3000)).toEqual([
      { name: 'provider-unavailable', sinceMs: 1000, detail: 'timeout', labels: { origin } },
    ]);
  });

  test('ends with the first success, which says that what waited may go on', () => {
    const subject = health();
    failTimes(subject, 5);
    expect(subject.succeeded(origin, 'c1', 2000)).toBe(true);
    expect(subject.succeeded(origin, 'c1', 2001)).toBe(false);
    expect(subject.heldMs(origin, 2001)).toBe(0);
    expect(subject.troubles(2001)).toEqual([]);
  });

  test('a few failures and a success were no outage', () => {
    const subject = health();
    failTimes(subject, 3);
    expect(subject.succeeded(origin, 'c1', 2000)).toBe(false);
  });

  test('of one origin leaves another alone', () => {
    const subject = health();
    failTimes(subject, 9);
    expect(subject.heldMs('https://other.example', 1000)).toBe(0);
  });
});

describe('a 429', () => {
  test('holds the whole client key, at most one hour, and is told while it lasts', () => {
    const subject = health();
    subject.rateLimited(30_000, 1000);
    expect(subject.coolDownMs(1000)).toBe(30_000);
    expect(subject.troubles(1000)).toMatchObject([{ name: 'rate-limited', sinceMs: 1000 }]);
    subject.rateLimited(365 * 86_400_000, 2000);
    expect(subject.coolDownMs(2000)).toBe(3_600_000);
    expect(subject.troubles(2000)).toMatchObject([{ sinceMs: 1000 }]);
    expect(subject.coolDownMs(2000 + 3_600_000)).toBe(0);
    expect(subject.troubles(2000 + 3_600_000)).toEqual([]);
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
    expect(told).toEqual([30_000]);
    subject.rateLimited(32_000, 1050);
    subject.rateLimited(1000, 1060);
    expect(told).toEqual([30_000, 32_000]);
    subject.rateLimited(500, 33_050);
    expect(told).toEqual([30_000, 32_000, 500]);
    subject.rateLimited(365 * 86_400_000, 33_060);
    expect(told.at(-1)).toBe(3_600_000);
  });

  test('that another process was asked for holds this one as well, from its beginning', () => {
    const told: number[] = [];
    const subject = makeProviderHealth(
      () => 0.5,
      (forMs) => told.push(forMs),
    );
    subject.pauseHeard({ sinceMs: 400, leftMs: 20_000 }, 1000);
    expect(subject.coolDownMs(1000)).toBe(20_000);
    expect(subject.troubles(1000)).toMatchObject([{ name: 'rate-limited', sinceMs: 400 }]);
    subject.rateLimited(30_000, 2000);
    subject.pauseHeard({ sinceMs: 300, leftMs: 5000 }, 2000);
    expect(subject.coolDownMs(2000)).toBe(30_000);
    expect(subject.troubles(2000)).toMatchObject([{ sinceMs: 300 }]);
    expect(told).toEqual([30_000]);
    subject.pauseHeard({ sinceMs: 300, leftMs: 365 * 86_400_000 }, 3000);
    expect(subject.coolDownMs(3000)).toBe(3_600_000);
  });

  test('without a given randomness the trial times are random but bounded', () => {
    const subject = makeProviderHealth();
    failTimes(subject, 60);
    const heldMs = subject.heldMs(origin, 1_000_000);
    expect(heldMs).toBe(0);
    expect(subject.heldMs(origin, 1_000_000)).toBeLessThanOrEqual(30_500);
  });
});

describe('a refused client key', () => {
  test('is told for a quarter of an hour after it was last seen, from its first time, whatever succeeds', () => {
    const subject = health();
    subject.clientRefused('a scope is missing', 1000);
    subject.succeeded(origin, 'c1', 2000);
    subject.clientRefused('a licence is missing', 800_000);
    expect(subject.troubles(1_699_999)).toEqual([
      { name: 'client-refused', sinceMs: 1000, detail: 'a licence is missing', labels: {} },
    ]);
    expect(subject.troubles(1_700_000)).toEqual([]);
  });

  test('that is seen again later began again', () => {
    const subject = health();
    subject.clientRefused('a scope is missing', 0);
    subject.clientRefused('a scope is missing', 900_000);
    expect(subject.troubles(900_000)).toMatchObject([{ sinceMs: 900_000 }]);
  });
});
