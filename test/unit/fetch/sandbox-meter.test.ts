// Goal: calls in the sandbox are counted by month for all processes, never too few, and what nears a limit is told.
// Method: a store that adds, a clock that is moved, and two meters on one store.
import { blockCalls } from '../../../src/fetch/call-book';
import { makeSandboxMeter, productionMeter } from '../../../src/fetch/sandbox-meter';
import { monthsBetween } from '../../../src/model/sandbox';

const booked = new Map<string, number>();
let nowMs: number;
let connected: number;
let madeForTests: number;
let broken: boolean;
const faults: unknown[] = [];
const store = {
  countCalls: async (month: string, calls: number) => {
    if (broken) throw new Error('away');
    booked.set(month, (booked.get(month) ?? 0) + calls);
    return booked.get(month)!;
  },
};
const clock = { nowMs: () => nowMs, steadyMs: () => nowMs, wait: async () => {} };
const meterSince = (since: string | null = '2025-12-01') =>
  makeSandboxMeter(
    {
      store,
      clock,
      connected: async () => ({ all: connected, test: madeForTests }),
      failed: (error) => faults.push(error),
    },
    since === null ? null : Date.parse(since),
  );
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const usedOf = (meter: ReturnType<typeof meterSince>) => meter.view().limits[0]!.used;

beforeEach(() => {
  booked.clear();
  faults.length = 0;
  nowMs = Date.parse('2026-01-15T12:00:00Z');
  connected = 1;
  madeForTests = 0;
  broken = false;
});

test('calls are booked in blocks, and what is not used is given back at the end', async () => {
  const meter = meterSince();
  await meter.look();
  for (let call = 0; call < 120; call += 1) {
    void meter.called();
    await settled();
  }
  expect(usedOf(meter)).toBe(120);
  // A process that dies here has counted at most a block too many, and none too few.
  expect(booked.get('2026-01')).toBeGreaterThanOrEqual(120);
  expect(booked.get('2026-01')).toBeLessThanOrEqual(120 + blockCalls + 1);
  await meter.end();
  expect(booked.get('2026-01')).toBe(120);
  const next = meterSince();
  await next.look();
  expect(usedOf(next)).toBe(120);
});

test('calls that come faster than the store answers are all booked', async () => {
  const [one, other] = [meterSince(), meterSince()];
  for (let call = 0; call < 300; call += 1) {
    void one.called();
    void other.called();
  }
  await settled();
  await Promise.all([one.end(), other.end()]);
  await settled();
  expect(booked.get('2026-01')).toBe(600);
});

test('whatever dies, each call that was let go is booked before, and few wait for it', async () => {
  const meter = meterSince();
  let [sent, waited] = [0, 0];
  const send = async () => {
    const booking = meter.called();
    if (booking !== null) {
      waited += 1;
      await booking;
    }
    sent += 1;
    expect(booked.get('2026-01')).toBeGreaterThanOrEqual(sent);
  };
  await send();
  for (let call = 0; call < 200; call += 1) {
    await send();
    await settled();
  }
  expect(waited).toBe(1);
  // A process that does all at once waits for what it has not booked yet.
  await Promise.all(Array.from({ length: 120 }, send));
  expect(sent).toBe(321);
  expect(booked.get('2026-01')).toBeLessThanOrEqual(321 + blockCalls);
});

test('a store that is away loses no count, and holds no call', async () => {
  const meter = meterSince();
  broken = true;
  for (let call = 0; call < 5; call += 1) {
    await meter.called();
    await settled();
  }
  expect(faults).not.toEqual([]);
  broken = false;
  void meter.called();
  await settled();
  await meter.end();
  expect(booked.get('2026-01')).toBe(6);
});

test('a new month of UTC begins with nothing used', async () => {
  booked.set('2026-01', 150_000);
  const meter = meterSince();
  await meter.look();
  expect(meter.forbidden()).toMatch(/150000 calls/);
  nowMs = Date.parse('2026-02-01T00:00:00Z');
  expect(meter.forbidden()).toBeNull();
  expect(usedOf(meter)).toBe(0);
});

test('a booking that is under way when the month turns is the month’s in which it was begun', async () => {
  let answer = () => {};
  const slow = {
    async countCalls(month: string, calls: number) {
      const total = await store.countCalls(month, calls);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return total;
    },
  };
  const connected = async () => ({ all: 1, test: 0 });
  booked.set('2026-01', 149_990);
  nowMs = Date.parse('2026-01-31T23:59:59.990Z');
  const meter = makeSandboxMeter(
    { store: slow, clock, connected, failed: (error) => faults.push(error) },
    null,
  );
  void meter.called();
  await settled();
  nowMs = Date.parse('2026-02-01T00:00:00.010Z');
  void meter.called();
  answer();
  await settled();
  expect(meter.view().limits[0]).toMatchObject({ used: 1, detail: 'of 2026-02' });
  expect(meter.forbidden()).toBeNull();
  const ended = meter.end();
  // What is booked ahead of the new month is answered, and then what is given back of it.
  for (const _booking of ['ahead', 'back']) {
    await settled();
    answer();
  }
  await ended;
  // Of the month before one block too many is counted at most, and none too few of either.
  expect(booked.get('2026-02')).toBe(1);
  expect(booked.get('2026-01')! - 149_990).toBeGreaterThanOrEqual(1);
  expect(booked.get('2026-01')! - 149_990).toBeLessThanOrEqual(blockCalls + 1);
});

test('what others have used of a new month is seen by a look, before any call of it is made here', async () => {
  const meter = meterSince();
  await meter.look();
  nowMs = Date.parse('2026-02-01T00:00:00Z');
  booked.set('2026-02', 150_000);
  await meter.look();
  expect(usedOf(meter)).toBe(150_000);
});

test.each([
  [119_999, []],
  [120_000, ['sandbox-near']],
  [142_499, ['sandbox-near']],
  [142_500, ['sandbox-limit']],
  [150_000, ['sandbox-limit']],
])('%i calls of the month raise %j', async (calls, names) => {
  booked.set('2026-01', calls);
  const meter = meterSince();
  await meter.look();
  expect(meter.conditions().map(({ name }) => name)).toEqual(names);
  expect(meter.conditions().some(({ detail }) => detail.includes('production'))).toBe(calls === 150_000);
});

test('organizations and months have limits of their own', async () => {
  connected = 4;
  nowMs = Date.parse('2027-04-20T00:00:00Z');
  const meter = meterSince();
  await meter.look();
  const endsAtMs = Date.parse('2027-06-01');
  expect(meter.conditions()).toMatchObject([
    { name: 'sandbox-near', labels: { limit: 'organizations' } },
    { name: 'sandbox-near', labels: { limit: 'months' }, endsAtMs },
  ]);
  const since = meter.conditions()[0]!.sinceMs;
  nowMs += 60 * 86_400_000;
  expect(meter.conditions()).toMatchObject([
    { sinceMs: since },
    { name: 'sandbox-limit', labels: { limit: 'months' }, endsAtMs },
  ]);
  expect(
    meterSince(null)
      .view()
      .limits.map(({ limit }) => limit),
  ).toEqual(['calls', 'organizations', 'test-organizations']);
});

test('the end of the months is urgent from a week before, and not by how much of them is over', async () => {
  const meter = meterSince();
  await meter.look();
  const urgentMs = Date.parse('2027-05-25');
  const nameAt = (ms: number) => {
    nowMs = ms;
    return meter.conditions().map(({ name }) => name);
  };
  expect(nameAt(urgentMs - 1)).toEqual(['sandbox-near']);
  expect(nameAt(urgentMs)).toEqual(['sandbox-limit']);
});

test('as many organizations as are allowed are a warning, and only one more is above the limit', async () => {
  const meter = meterSince();
  const namesOf = async (count: number) => {
    connected = count;
    await meter.look();
    return meter.conditions().map(({ name }) => name);
  };
  expect(await namesOf(3)).toEqual([]);
  expect(await namesOf(4)).toEqual(['sandbox-near']);
  expect(await namesOf(5)).toEqual(['sandbox-near']);
  expect(await namesOf(6)).toEqual(['sandbox-limit']);
  await namesOf(2000);
  expect(meter.conditions()[0]!.detail).toMatch(
    /^2000 organizations, where the sandbox allows 5 \(connected now\)\. /,
  );
});

test('the limit of calls says when it is over by itself: with the month of UTC', async () => {
  booked.set('2025-12', 150_000);
  nowMs = Date.parse('2025-12-31T23:59:59Z');
  const meter = meterSince();
  await meter.look();
  const [calls] = meter.conditions();
  expect(calls).toMatchObject({ labels: { limit: 'calls' }, overAtMs: Date.parse('2026-01-01') });
  expect(calls).not.toHaveProperty('endsAtMs');
});

test('one organization for tests is everybody’s, and a second one is told', async () => {
  madeForTests = 1;
  const meter = meterSince();
  await meter.look();
  const used = () => meter.view().limits.find(({ limit }) => limit === 'test-organizations');
  expect(used()).toMatchObject({ used: 1, most: 1, left: 0 });
  expect(meter.conditions()).toEqual([]);
  expect(meter.forbidden()).toBeNull();
  madeForTests = 2;
  await meter.look();
  expect(used()).toMatchObject({ used: 2, left: 0 });
  expect(meter.conditions()).toMatchObject([
    {
      name: 'sandbox-limit',
      labels: { limit: 'test-organizations' },
      detail: expect.stringContaining('Request the move to production'),
    },
  ]);
});

test('months are counted by the calendar', () => {
  const months = (from: string, to: string) => monthsBetween(Date.parse(from), Date.parse(to));
  expect(months('2025-01-31', '2025-01-31')).toBe(0);
  expect(months('2025-01-15', '2026-07-15')).toBe(18);
  expect(months('2026-01-01', '2025-01-01')).toBe(0);
  expect(months('2026-01-15', '2026-02-28')).toBe(1.4);
  expect(months('2025-01-31', '2025-03-02T23:59:59.999Z')).toBe(0.9);
  expect(months('2025-01-31', '2025-03-03')).toBe(1);
});

test.each([
  ['2025-05-22', '2026-11-22'],
  ['2025-07-15', '2027-01-15'],
  ['2025-08-31', '2027-03-03'],
  ['2025-12-01', '2027-06-01'],
])('the months of a sandbox since %s end on %s, and a sync goes on until then', (since, end) => {
  const meter = meterSince(since);
  const monthsOf = () => meter.view().limits.find(({ limit }) => limit === 'months');
  nowMs = Date.parse(end) - 1;
  expect(monthsOf()).toMatchObject({ used: 17.9, left: 0.1, detail: `until ${end}` });
  expect(meter.forbidden()).toBeNull();
  expect(meter.conditions().map(({ detail }) => detail)).toEqual([expect.not.stringContaining('production')]);
  nowMs = Date.parse(end);
  expect(monthsOf()).toMatchObject({ used: 18, left: 0 });
  expect(meter.forbidden()).toBe(`the 18 months of the sandbox are used (until ${end})`);
});

test('in production nothing is counted', async () => {
  expect(productionMeter.called()).toBeNull();
  await productionMeter.look();
  await productionMeter.end();
  expect(productionMeter.view()).toEqual({ plan: 'production', limits: [] });
  expect(productionMeter.forbidden()).toBeNull();
  expect(productionMeter.conditions()).toEqual([]);
});

test('the end of the months stops a sync, and as many organizations as are allowed do not', async () => {
  connected = 5;
  const meter = meterSince();
  await meter.look();
  expect(meter.forbidden()).toBeNull();
  const [organizations] = meter.conditions();
  expect(organizations!.detail).toContain('no further one can be connected until then');
  expect(organizations!.detail).not.toContain('sync');
  nowMs = Date.parse('2027-06-01T00:00:00Z');
  expect(meter.forbidden()).toBe('the 18 months of the sandbox are used (until 2027-06-01)');
  expect(meter.conditions().map(({ detail }) => detail)).toContainEqual(
    expect.stringContaining('Request the move to production; a sync waits until then.'),
  );
});
