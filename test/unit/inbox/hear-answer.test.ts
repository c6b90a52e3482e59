/**
 * What one read tells of the provider as a whole, and when a failure is the item's own.
 */
import { decideEnding } from '../../../src/inbox/decide-ending';
import { askedBy, hearAnswer, heldMs, isOwnFailure, leftAlone, paused } from '../../../src/inbox/hear-answer';
import { makeProviderHealth } from '../../../src/inbox/provider-health';
import type { Answer } from '../../../src/model/answer';
import type { TakenTask } from '../../../src/model/task';

const origin = 'https://provider.example';
const taskOf = (organizationId: string, machine: number) =>
  ({
    address: `${origin}/equipment/${machine}`,
    connectionId: 'c1',
    organizationId: null,
    hintedOrganizationId: organizationId,
    failedAtMs: 500,
    code: null,
  }) as TakenTask;
const task = taskOf('A', 1);
const failed: Extract<Answer, { kind: 'transient' }> = {
  kind: 'transient',
  code: 'status-503',
  detail: 'away',
  origin,
  connectionId: 'c1',
  retryAfterMs: null,
};
const document = {
  body: {},
  address: `${origin}/moved/1`,
  mediaType: 'application/json',
  connectionId: 'c1',
};

function stage() {
  const health = makeProviderHealth(() => 0.5);
  const calls: string[] = [];
  const hear = (answer: Answer, nowMs = 1000, of: TakenTask = task) =>
    hearAnswer(of, answer, {
      health,
      nowMs,
      refuseGrant: async (...refusal) => void calls.push(`refuse ${refusal.join(' ')}`),
      outageEnded: () => void calls.push('outage ended'),
      clientServed: (refusedAtMs) => void calls.push(`client served, refused at ${refusedAtMs}`),
    });
  const outage = async () => {
    for (const each of [task, taskOf('A', 2), taskOf('B', 3)]) {
      await hear(failed, 1000, { ...each, failedAtMs: null });
    }
  };
  return { health, calls, hear, outage };
}

test('failures of two organizations are an outage: then tasks are left alone, and the first success ends it', async () => {
  const { health, calls, hear, outage } = stage();
  expect(leftAlone(task, health, 1000)).toBeNull();
  await outage();
  const held = leftAlone(task, health, 1000)!;
  expect(held).toMatchObject({ kind: 'transient', code: 'provider-held', origin, connectionId: 'c1' });
  await hear(held);
  expect(health.troubles(20_000)).toHaveLength(1);
  await hear({ kind: 'ok', document });
  expect(calls).toEqual(['outage ended']);
  expect(leftAlone({ ...task, connectionId: null }, health, 1000)).toBeNull();
});

test.each(['relocation-incomplete', 'organization-unlisted', 'embed-unanswered', 'address-unsteady'])(
  'a wait for what the provider does not show (%s) is no outage, ends one, and is the item’s own',
  async (code) => {
    const { health, calls, hear, outage } = stage();
    const waits = { ...failed, code, detail: 'it is not shown' };
    for (const each of [task, taskOf('A', 2), taskOf('B', 3)]) await hear(waits, 1000, each);
    expect(health.troubles(1_000_000)).toEqual([]);
    expect(leftAlone(task, health, 2000)).toBeNull();
    expect(isOwnFailure({ ...task, failedAtMs: 900 }, waits, health)).toBe(true);
    await outage();
    await hear(waits, 2000);
    expect(calls).toEqual(['outage ended']);
  },
);

test('operations without their measurements, of two organizations and with nothing else read, age and are set aside', async () => {
  const { health, hear } = stage();
  const code = 'embed-unanswered';
  const answer = { ...failed, code, detail: 'got none', path: '/measurementTypes' };
  const rules = {
    goneAfterMs: 600_000,
    settleMs: 0,
    goneShareMax: 0.05,
    retryAgeMs: 120_000,
    backoff: { baseMs: 1000, maxMs: 60_000 },
    random: () => 0.5,
  };
  const operations = [taskOf('A', 1), taskOf('A', 2), taskOf('B', 3)].map((each) => ({
    ...each,
    failedAtMs: null as number | null,
    attempts: 0,
    agedMs: 0,
  }));
  const verbs: string[][] = [];
  for (let nowMs = 1000; nowMs <= 181_000; nowMs += 60_000) {
    const endings = [];
    for (const operation of operations) {
      expect(leftAlone(operation, health, nowMs)).toBeNull();
      await hear(answer, nowMs, operation);
      const own = isOwnFailure(operation, answer, health);
      const situation = {
        observedAt: '',
        traceparent: null,
        own,
        organizationId: null,
        isConnected: () => true,
        proven: false,
      };
      const heard = paused(operation, answer, health, nowMs);
      endings.push(decideEnding({ ...operation, takenAtMs: nowMs }, heard, situation, rules));
    }
    expect(health.troubles(nowMs + 20_000)).toEqual([]);
    verbs.push(endings.map(({ verb }) => verb));
    for (const [at, each] of endings.entries()) {
      const operation = operations[at]!;
      operation.failedAtMs = nowMs;
      operation.attempts += 1;
      if (each.verb === 'postpone') operation.agedMs += each.ending.agedMs;
      else expect(each.ending).toMatchObject({ reason: 'never-readable', path: '/measurementTypes' });
    }
    if (verbs.at(-1)?.includes('quarantineTask')) break;
  }
  const waited = Array<string>(3).fill('postpone');
  expect(verbs).toEqual([waited, waited, Array<string>(3).fill('quarantineTask')]);
});

test('failures of one organization leave another’s tasks and probes to be tried', async () => {
  const { health, hear } = stage();
  for (const machine of [1, 2, 3, 4, 5]) await hear(failed, 1000, taskOf('A', machine));
  expect(leftAlone(task, health, 1000)).toMatchObject({ code: 'provider-held' });
  expect(leftAlone({ ...task, failedAtMs: null }, health, 1000)).toBeNull();
  expect(leftAlone(taskOf('B', 9), health, 1000)).toBeNull();
  // The owner that is known counts, not what was hinted.
  expect(leftAlone({ ...task, organizationId: 'B' }, health, 1000)).toBeNull();
});

test('what was left alone did not fail: an outage in which nothing was tried any more is over', async () => {
  const { health, hear, outage } = stage();
  await outage();
  const held = leftAlone(task, health, 1000)!;
  for (const each of [task, taskOf('A', 2), taskOf('B', 3)]) await hear(held, 800_000, each);
  expect(health.troubles(901_001)).toEqual([]);
  expect(leftAlone(task, health, 901_001)).toBeNull();
});

test('a probe is left alone in an outage, by the address that it would ask', async () => {
  const { health, outage } = stage();
  const probe = {
    organizationId: 'C',
    epoch: 1,
    refusedAddress: null,
    knownAddress: task.address,
    connectionId: null,
  };
  expect(heldMs(askedBy(probe), health, 1000)).toBe(0);
  await outage();
  expect(heldMs(askedBy(probe), health, 1000)).toBeGreaterThan(0);
  expect(heldMs(askedBy({ ...probe, refusedAddress: `https://other.example/1` }), health, 1000)).toBe(0);
  expect(heldMs(askedBy({ ...probe, knownAddress: null }), health, 1000)).toBe(0);
});

test('what was tried in an outage comes back for the next trial, and no sooner than it was told', async () => {
  const { health, outage } = stage();
  expect(paused(task, failed, health, 1000)).toMatchObject({ retryAfterMs: 0 });
  await outage();
  const pauseMs = health.pauseMs(
    { ...task, origin, organizationId: 'A', lastAttemptMs: 500, connectionId: 'c1' },
    1000,
  );
  expect(pauseMs).toBeGreaterThan(0);
  expect(paused(task, failed, health, 1000)).toMatchObject({ retryAfterMs: pauseMs });
  expect(paused(task, { ...failed, retryAfterMs: 60_000 }, health, 1000)).toMatchObject({
    retryAfterMs: 60_000,
  });
  expect(paused(task, { kind: 'aborted' }, health, 1000)).toEqual({ kind: 'aborted' });
});

const refused: Answer = {
  kind: 'refused',
  code: 'status-405',
  detail: 'status 405: under maintenance',
  origin,
  connectionId: 'c1',
};

test('what is refused to everybody is an outage, and waits as its failures do', async () => {
  const { health, calls, hear } = stage();
  for (const each of [task, taskOf('A', 2), taskOf('B', 3)]) {
    await hear(refused, 1000, { ...each, failedAtMs: null });
    expect(paused(each, refused, health, 1000)).toMatchObject({ kind: 'transient', code: 'status-405' });
  }
  expect(paused(task, refused, health, 1000)).toMatchObject({
    retryAfterMs: health.pauseMs(
      { ...task, origin, organizationId: 'A', lastAttemptMs: 500, connectionId: 'c1' },
      1000,
    ),
  });
  expect(calls).toEqual([]);
  expect(health.troubles(20_000)).toMatchObject([
    { name: 'provider-unavailable', detail: 'answers 405: under maintenance' },
  ]);
});

test('what is refused alone is its own: another was answered since it was refused before', async () => {
  const { health, hear } = stage();
  await hear({ kind: 'ok', document }, 600, taskOf('B', 3));
  expect(paused({ ...task, failedAtMs: null }, refused, health, 1000)).toMatchObject({ kind: 'transient' });
  expect(paused({ ...task, failedAtMs: 700 }, refused, health, 1000)).toMatchObject({ kind: 'transient' });
  expect(paused(task, refused, health, 1000)).toBe(refused);
  // A refusal is no answer for others: of two that are refused neither makes the other's its own.
  await hear(refused, 900, taskOf('B', 4));
  expect(paused({ ...task, failedAtMs: 700 }, refused, health, 1000)).toMatchObject({ kind: 'transient' });
});

test('an address that is none is left to the gate', () => {
  expect(leftAlone({ ...task, address: 'nowhere' }, stage().health, 1000)).toBeNull();
});

test('a failure is the item’s own when others succeeded since, but not when it was left alone', async () => {
  const { health, hear, outage } = stage();
  expect(isOwnFailure(task, failed, health)).toBe(false);
  await hear({ kind: 'gone', certain: false, connectionId: 'c1', origin }, 600);
  expect(isOwnFailure(task, failed, health)).toBe(true);
  await outage();
  expect(isOwnFailure(task, leftAlone(task, health, 1000)!, health)).toBe(false);
  expect(isOwnFailure(task, { kind: 'aborted' }, health)).toBe(false);
});

test('a refused client key is told, though the provider answered', async () => {
  const { health, calls, hear, outage } = stage();
  await outage();
  await hear({ kind: 'client-refused', connectionId: 'c1', message: null });
  expect(calls).toEqual(['outage ended']);
  expect(health.troubles(1000)).toMatchObject([{ name: 'client-refused' }]);
});

test.each<[Answer, number]>([
  [{ kind: 'ok', document }, 0],
  [{ kind: 'not-modified', connectionId: 'c2' }, 0],
  [{ kind: 'gone', certain: false, connectionId: 'c2', origin }, 0],
  // What stands before it may be refused first: nothing is known of the client key.
  [{ kind: 'no-access', connectionId: 'c1', message: null }, 1],
  [{ kind: 'not-connected', actionUrl: null, connectionId: 'c1' }, 1],
  [failed, 1],
])('a refused client key is over when what was refused is answered: %j', async (answer, left) => {
  const { health, hear } = stage();
  await hear({ kind: 'client-refused', connectionId: 'c1', message: null });
  await hear(answer, 1000, taskOf('A', 2));
  expect(health.troubles(1000)).toHaveLength(1);
  await hear(answer);
  expect(health.troubles(1000)).toHaveLength(left);
});

test('a refused token is refused, and what is told to wait asks for no further pause', async () => {
  const { health, calls, hear } = stage();
  await hear({ kind: 'reauthorize', connectionId: 'c1', message: 'expired', sealedToken: 's' });
  // Asked was for the application alone.
  await hear({ kind: 'reauthorize', connectionId: '', message: 'expired', sealedToken: null });
  await hear({ kind: 'rate-limited', retryAfterMs: 3000, untilMs: 4000 });
  expect(calls).toEqual(['refuse c1 expired s']);
  expect(health.coolDownMs(1000)).toBe(0);
});

test.each([
  [{ kind: 'aborted' }],
  [{ kind: 'no-connection', detail: '' }],
  [{ kind: 'address-refused', code: 'address-refused', detail: '' }],
] as [Answer][])('%j says nothing of the provider', async (answer) => {
  const { calls, hear, outage, health } = stage();
  await outage();
  await hear(answer);
  await hear({ kind: 'no-access', connectionId: 'c1', message: null }, 1000, { ...task, address: 'nowhere' });
  expect(calls).toEqual([]);
  expect(health.troubles(20_000)).toHaveLength(1);
});

test('what the client key was refused and is answered now makes the rest due, whichever process was refused it', async () => {
  const { health, calls, hear } = stage();
  const refused: Answer = { kind: 'client-refused', connectionId: 'c1', message: null };
  await hear(refused, 1000);
  await hear({ kind: 'ok', document }, 2000, taskOf('A', 2));
  expect(calls).toEqual([]);
  await hear({ kind: 'ok', document }, 2000);
  await hear({ kind: 'ok', document }, 2000, { ...taskOf('A', 3), code: 'client-refused', failedAtMs: 700 });
  expect(calls).toEqual(['client served, refused at 500', 'client served, refused at 700']);
  expect(health.troubles(2000)).toEqual([]);
});
