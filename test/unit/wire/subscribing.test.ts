// Goal: whoever evaluates alerts hears of a secret of deliveries that no key opens, whichever process it is that lacks the
// key. Method: the real embedded store; a receiver follows it, a worker is asked.

import { loadSettings } from '../../../src/config';
import type { Alert, Condition } from '../../../src/model/alert';
import type { Connection } from '../../../src/model/connection';
import { Secret } from '../../../src/tools/secret';
import { type Subscribing, wireSubscribing } from '../../../src/wire/subscribing';
import { openSqlite } from '../../contract/open-sqlite';
import type { StoreUnderTest } from '../../contract/store-hand';
import { makeHandClock } from '../../support/hand-clock';
import { connectionOf } from '../../support/provider-client';
import { makeScriptedCalls } from '../../support/scripted-calls';
import { until } from '../../support/until';

const soon = { withinMs: 10_000 };
const keyOf = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;

let under: StoreUnderTest;
/** Nobody has a subscription at the provider. */
const calls = makeScriptedCalls();
beforeEach(async () => {
  under = await openSqlite();
});
afterEach(() => under.close());

/** With these keys, or none, on the store as it is. */
function subscribingWith(
  keys: string | null,
  clock = makeHandClock(Date.now()),
  more: Record<string, string> = {},
  connections: Connection[] = [],
): Subscribing {
  const { settings } = loadSettings('command', {
    ...(keys === null ? { ROLE: 'receiver' } : { ENCRYPTION_KEYS: keys }),
    PUBLIC_URL: 'http://127.0.0.1:8080',
    ...more,
  });
  return wireSubscribing(settings, {
    store: under.store,
    clock,
    calls: () => {
      if (connections.length === 0) throw new Error('nobody is asked');
      return calls;
    },
    connections: () => connections,
    sees: () => new Set(),
    ready: async () => {},
    pausedMs: () => 0,
    failed: () => {},
  });
}

const missing: Partial<Condition> = {
  name: 'delivery-secret-unopened',
  detail: expect.stringContaining(
    'cannot be opened: no encryption key with id k1 is configured. It is the token of s1.',
  ),
};

async function activeToken(): Promise<string> {
  const { book } = subscribingWith(keyOf('k1', 1));
  const { id } = await book.offer(new Secret('made-token'), {
    kind: 'token',
    user: 'ann',
    connectionId: 'c1',
  });
  await book.bind(id, 's1');
  return id;
}

test('a worker knows of a token that no key opens, until it is dropped', async () => {
  const id = await activeToken();
  const { book, conditions } = subscribingWith(keyOf('k2', 2));
  await book.refresh();
  const [first] = conditions();
  expect(first).toMatchObject(missing);
  await book.refresh();
  expect(conditions()).toEqual([first]);
  await book.drop(id);
  expect(conditions()).toEqual([]);
});

/** What a receiver without keys told after it was started. */
async function toldWithoutKeys(more: Record<string, string> = {}): Promise<Condition[]> {
  const receiver = subscribingWith(null, makeHandClock(Date.now()), more);
  await receiver.start(null);
  await receiver.stop();
  return receiver.conditions();
}

test('a receiver without keys tells of what it could not know a delivery by, and of nothing else', async () => {
  const { book } = subscribingWith(keyOf('k1', 1));
  const value = { kind: 'authorization', user: null, connectionId: null } as const;
  const { id } = await book.offer(new Secret('Bearer made'), value);
  expect(await toldWithoutKeys()).toEqual([]);
  await book.confirm(id);
  const detail = expect.stringContaining('a receiver has no ENCRYPTION_KEYS. It is the Authorization value.');
  expect(await toldWithoutKeys()).toMatchObject([{ name: 'delivery-secret-unopened', detail }]);
  const hmac = {
    WEBHOOK_AUTH: 'hmac',
    WEBHOOK_HMAC_SECRETS: `whsec_${Buffer.alloc(32, 3).toString('base64')}`,
  };
  expect(await toldWithoutKeys(hmac)).toEqual([]);
  await activeToken();
  expect(await toldWithoutKeys(hmac)).toMatchObject([
    { detail: expect.stringContaining('the token of s1.') },
  ]);
});

test('a replaced value that no key opens is told where the settings may name it still', async () => {
  const named = { WEBHOOK_AUTHORIZATION: 'Bearer set' };
  const { book } = subscribingWith(keyOf('k1', 1), makeHandClock(Date.now()), named);
  const value = { kind: 'authorization', user: null, connectionId: null } as const;
  await book.confirm((await book.offer(new Secret('Bearer made'), value)).id);
  await book.drop(book.held('authorization')[0]!.id);
  const toldWith = async (more: Record<string, string>) => {
    const worker = subscribingWith(keyOf('k2', 2), makeHandClock(Date.now()), more);
    await worker.book.refresh();
    return worker.conditions();
  };
  expect(await toldWith({})).toEqual([]);
  const detail =
    'What deliveries are known by cannot be opened: no encryption key with id k1 is configured. It is an Authorization ' +
    'value that was replaced. What comes with a replaced value is accepted again where WEBHOOK_AUTHORIZATION names it';
  // Deliveries are taken, so none is lost.
  expect(await toldWith(named)).toMatchObject([{ detail, losesNothing: true }]);
  await activeToken();
  expect(await toldWith(named)).toMatchObject([{ losesNothing: false }]);
});

test('a receiver tells whoever evaluates alerts, each time it follows, and once that it is over', async () => {
  const id = await activeToken();
  const clock = makeHandClock(Date.now());
  const receiver = subscribingWith(keyOf('k2', 2), clock);
  const told = async () =>
    (await under.store.shareConditions('worker', [], 1000)).map(({ conditions }) => conditions);
  await receiver.start(null);
  try {
    await until(async () => (await told()).length > 0, soon);
    expect(await told()).toMatchObject([[missing]]);
    await under.store.dropWebhookSecret(id);
    await until(async () => {
      await clock.advance(1000);
      return (await told()).flat().length === 0;
    }, soon);
    expect(await told()).toEqual([[]]);
  } finally {
    await receiver.stop();
  }
});

test('a worker that starts goes on telling that a subscription has ended whose consent is refused since', async () => {
  await activeToken();
  const told = { name: 'TramlineSubscriptionEnded', severity: 'critical', state: 'firing' } as const;
  const alertOf = (subscription_id: string, more: Partial<Alert> = {}): Alert => ({
    ...told,
    fingerprint: `${subscription_id} ${more.name}`,
    labels: { subscription_id },
    annotations: {},
    startsAtMs: 5000,
    resolvedAtMs: null,
    returns: 0,
    quietSinceMs: null,
    coversUntilMs: null,
    sent: {},
    ...more,
  });
  const over = { name: 'TramlineSubscriptionExpired', quietSinceMs: 6000 };
  await under.store.saveAlerts([alertOf('s1'), alertOf('s1', over), alertOf('s2')]);
  const worker = subscribingWith(keyOf('k1', 1), makeHandClock(Date.now()), {}, [
    connectionOf({ status: 'refused' }),
    connectionOf({ connectionId: 'c2', user: 'bob' }),
  ]);
  const ended = () => worker.conditions().filter(({ name }) => name !== 'subscription-silent');
  await worker.start('worker');
  try {
    await until(async () => ended().length > 0, soon);
    expect(ended()).toMatchObject([
      { name: 'subscription-ended', sinceMs: 5000, labels: { subscription_id: 's1' } },
    ]);
  } finally {
    await worker.stop();
  }
});
