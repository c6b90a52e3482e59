/**
 * A refused consent is shown again for a probe: at once for a person, otherwise not more often than one organization
 * would be, and it is taken for valid only when the provider takes it.
 */
import type { Verdict } from '../../../src/fetch/classify';
import type { ProviderDoors } from '../../../src/fetch/options';
import { makeShowAgain } from '../../../src/fetch/refused-again';
import type { Connection } from '../../../src/model/connection';
import type { ProbeAsker } from '../../../src/model/organization';
import { Secret } from '../../../src/tools/secret';
import { connectionOf, startMs, stillClock } from '../../support/provider-client';

const ok: Verdict = { kind: 'not-modified', connectionId: 'c1' };
const refused: Verdict = { kind: 'reauthorize', connectionId: 'c1', message: null, sealedToken: 's' };

const seen: Record<string, string[]> = { new: [], other: ['9'], reads: ['4711', '9'] };

function stage(connections: Connection[], verdict: () => Verdict) {
  const clock = stillClock();
  const told: string[] = [];
  const paid: string[] = [];
  const doors = {
    clock,
    connections: () => connections,
    sees: (id: string) => new Set(seen[id] ?? ['4711', '4712']),
    async accepted(id: string) {
      told.push(`accepted ${id}`);
    },
  } as unknown as ProviderDoors;
  const { ofProbe, ofUnprobed } = makeShowAgain(
    { probeMs: 15_000, probeMsMax: 900_000 },
    doors,
    async ({ connectionId, token }) => {
      told.push(`shown ${connectionId} ${token.open()}`);
      return verdict();
    },
  );
  const ask = (askedBy: ProbeAsker = 'schedule', organizationId = '4711') =>
    ofProbe({ organizationId, askedBy }, async () => void paid.push(organizationId));
  return { ask, ofUnprobed, told, paid, clock };
}

const refusedOf = (connectionId: string) => connectionOf({ connectionId, status: 'refused' });

test('what the provider takes again counts as valid', async () => {
  const { ask, told } = stage([refusedOf('c1')], () => ok);
  await ask();
  expect(told).toEqual(['shown c1 canary-token', 'accepted c1']);
});

test('each showing is paid for before it is made, and none that is not made', async () => {
  const { ask, told, paid } = stage([refusedOf('c1'), refusedOf('c2'), refusedOf('other')], () => refused);
  await ask();
  expect([told.length, paid]).toEqual([2, ['4711', '4711']]);
  await ask();
  expect(paid).toHaveLength(2);
});

test('of several organizations that are probed at once, one shows it, and pays', async () => {
  const { ask, told, paid } = stage([refusedOf('c1')], () => refused);
  await Promise.all([ask('schedule', '4711'), ask('schedule', '4712')]);
  expect([told, paid]).toEqual([['shown c1 canary-token'], ['4711']]);
});

test('only what was refused and sees the organization is shown', async () => {
  const { ask, told } = stage([connectionOf({ connectionId: 'valid' }), refusedOf('other')], () => ok);
  await ask();
  expect(told).toEqual([]);
});

test('for all organizations behind it, it is shown as seldom as for one: later and later, to a bound', async () => {
  const { ask, told, clock } = stage([refusedOf('c1')], () => refused);
  const shownAtSeconds: number[] = [];
  for (let second = 0; second <= 4000; second += 5) {
    clock.set(startMs + second * 1000);
    await ask('schedule', '4711');
    await ask('consent', '4712');
    if (told.splice(0).length > 0) shownAtSeconds.push(second);
  }
  expect(shownAtSeconds).toEqual([0, 15, 45, 105, 225, 465, 945, 1845, 2745, 3645]);
});

test('for a person it is shown at once, which changes nothing of when it is shown by itself', async () => {
  const { ask, told, clock } = stage([refusedOf('c1')], () => refused);
  await ask();
  await ask('operator');
  await ask('operator');
  expect(told).toHaveLength(3);
  clock.set(startMs + 14_999);
  await ask();
  expect(told).toHaveLength(3);
  clock.set(startMs + 15_000);
  await ask();
  expect(told).toHaveLength(4);
});

test('another token of the same connection is shown at once', async () => {
  const connections = [refusedOf('c1')];
  const { ask, told } = stage(connections, () => refused);
  await ask();
  connections[0] = { ...connections[0]!, token: new Secret('another') };
  await ask();
  expect(told).toEqual(['shown c1 canary-token', 'shown c1 another']);
});

test('behind whom nobody is probed, since it sees nothing or what others read, is shown by itself: later and later, to once a day', async () => {
  const valid = connectionOf({ connectionId: 'reads', status: 'valid' });
  const all = [refusedOf('c1'), refusedOf('new'), refusedOf('other'), valid];
  const { ofUnprobed, told, clock } = stage(all, () => refused);
  const shownAtHours: number[] = [];
  for (let minute = 0; minute <= 6 * 24 * 60; minute += 10) {
    clock.set(startMs + minute * 60_000);
    expect(await ofUnprobed()).toBe(false);
    const lines = told.splice(0);
    if (lines.length > 0) shownAtHours.push(Math.round(minute / 60));
    expect(lines).toEqual(lines.length > 0 ? ['shown new canary-token', 'shown other canary-token'] : []);
  }
  expect([shownAtHours[0], shownAtHours.at(-1)! - shownAtHours.at(-2)!]).toEqual([0, 24]);
  expect(shownAtHours.length).toBeLessThan(20);
});

test('a refused consent whose organizations others read and that the provider takes again counts as valid', async () => {
  const connections = [refusedOf('other'), connectionOf({ connectionId: 'reads', status: 'valid' })];
  const { ofUnprobed, told } = stage(connections, () => {
    connections[0] = connectionOf({ connectionId: 'other', status: 'valid' });
    return ok;
  });
  expect(await ofUnprobed()).toBe(true);
  expect(told).toEqual(['shown other canary-token', 'accepted other']);
});
