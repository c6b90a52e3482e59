/**
 * What one read tells of the provider as a whole, and when a failure is the item's own.
 */
import { hearAnswer, isOwnFailure, leftAlone } from '../../../src/inbox/hear-answer';
import { makeProviderHealth } from '../../../src/inbox/provider-health';
import type { Answer } from '../../../src/model/answer';
import type { TakenTask } from '../../../src/model/task';

const origin = 'https://provider.example';
const task = { address: `${origin}/equipment/1`, connectionId: 'c1', failedAtMs: 500 } as TakenTask;
const failed: Answer = {
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
      refuseGrant: async (id, message) => void calls.push(`refuse ${id} ${message}`),
      outageEnded: async () => void calls.push('outage ended'),
    });
  const outage = async () => {
    for (let count = 0; count < 5; count += 1) await hear(failed);
  };
  return { health, calls, hear, outage };
}

test('five failures are an outage: then tasks are left alone, and the first success ends it', async () => {
  const { health, calls, hear, outage } = stage();
  expect(leftAlone(task, health, 1000)).toBeNull();
  await outage();
  const held = leftAlone(task, health, 1000)!;
  expect(held).toMatchObject({ kind: 'transient', code: 'provider-held', origin, connectionId: 'c1' });
  await hear(held);
  expect(health.troubles(1000)).toHaveLength(1);
  await hear({ kind: 'ok', document });
  expect(calls).toEqual(['outage ended']);
  expect(leftAlone({ ...task, connectionId: null }, health, 1000)).toBeNull();
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

test('a refused token is refused, and a 429 cools down', async () => {
  const { health, calls, hear } = stage();
  await hear({ kind: 'reauthorize', connectionId: 'c1', message: 'expired' });
  await hear({ kind: 'rate-limited', retryAfterMs: 3000 });
  expect(calls).toEqual(['refuse c1 expired']);
  expect(health.coolDownMs(1000)).toBe(3000);
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
  expect(health.troubles(1000)).toHaveLength(1);
});
