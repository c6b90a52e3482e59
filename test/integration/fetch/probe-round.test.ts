/**
 * A round of probes over ten thousand blocked organizations stays within the budget of calls of each minute, whatever blocks
 * them: terms, another action, a missing connection or a refused consent. The real client and the embedded store; the provider
 * is played by a server on loopback, which counts each call at the time that the hand moves.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ProviderDoors } from '../../../src/fetch/options';
import type { DueProbe, Observation } from '../../../src/model/organization';
import type { Store } from '../../../src/model/store';
import { makeOrganizationAccess } from '../../../src/organization/access';
import { Secret } from '../../../src/tools/secret';
import { payProbeCall } from '../../../src/wire/pay-probe-call';
import { openSqlite } from '../../contract/open-sqlite';
import { makeHandClock } from '../../support/hand-clock';
import { connectionOf, stageClient } from '../../support/provider-client';

const perMinute = 600;
const organizations = 10_000;
const minuteMs = 60_000;
const stepMs = 100;

const kinds = ['terms', 'required-action', 'not-connected', 'refused-grant'] as const;
type Kind = (typeof kinds)[number];

const ids = Array.from({ length: organizations }, (_, index) => String(100_000 + index));
const kindOf = (id: string): Kind => kinds[Number(id) % kinds.length]!;
const connectionIdOf = (id: string) => (kindOf(id) === 'refused-grant' ? 'c2' : 'c1');
const seen = new Map(
  [...Map.groupBy(ids, connectionIdOf)].map(([id, some]): [string, Set<string>] => [id, new Set(some)]),
);
const axiom = { 'content-type': 'application/vnd.Acme.axiom.v3+json;charset=UTF-8' };

/** With what a blocked organization's fields are refused. */
const refusals: Record<Kind, Record<string, string>> = {
  terms: { 'x-acme-terms-location': 'https://terms.test/' },
  'required-action': { 'x-acme-warning': 'verify your account' },
  'not-connected': {},
  'refused-grant': {},
};

function organizationOf(id: string, origin: string) {
  const self = `${origin}/platform/organizations/${id}`;
  const links = [
    { rel: 'self', uri: self },
    { rel: 'fields', uri: `${self}/fields` },
    ...(kindOf(id) === 'not-connected' ? [{ rel: 'connections', uri: 'https://connections.test/' }] : []),
  ];
  return { '@type': 'Organization', id, name: `Farm ${id}`, links };
}

/** Answers as the provider would. */
function answerOf(path: string, authorization: string, origin: string): [number, object, object?] {
  if (authorization.endsWith('refused-token')) return [401, {}];
  const [, refused] = /\/organizations\/(\d+)\/fields$/.exec(path) ?? [];
  if (refused !== undefined)
    return [403, { errors: [{ message: 'Access Denied' }] }, refusals[kindOf(refused)]];
  const [, organization] = /\/organizations\/(\d+)$/.exec(path) ?? [];
  if (organization !== undefined) return [200, organizationOf(organization, origin)];
  if (path.endsWith('/organizations'))
    return [200, { links: [], values: ids.map((id) => organizationOf(id, origin)) }];
  return [200, { links: [{ rel: 'organizations', uri: `${origin}/platform/organizations` }] }];
}

/** `called` hears of each call. */
async function playProvider(called: (path: string) => void) {
  const server = createServer(({ url = '', headers }, response) => {
    const [path = ''] = url.split('?');
    called(path);
    const [status, body, more] = answerOf(path, headers.authorization ?? '', origin());
    response.writeHead(status, { ...axiom, ...more }).end(JSON.stringify(body));
  });
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { origin: origin(), close };
}

async function block(store: Store, organizationId: string): Promise<void> {
  const cause = kindOf(organizationId);
  const { epoch } = (await store.access(organizationId))!;
  const by = cause === 'not-connected' ? 'connections-link' : cause === 'refused-grant' ? 'grant' : 'probe';
  const found = { cause, actionUrl: null, message: null };
  await store.observe({ organizationId, epoch, found, by } as Observation);
}

/** The store with all of them blocked. */
async function blockAll() {
  const stored = await openSqlite({ probesPerMinute: perMinute });
  const { store } = stored;
  for (let from = 0; from < ids.length; from += 250) {
    const some = ids.slice(from, from + 250);
    await store.learn(some.map((id) => ({ id, name: null, connectionId: connectionIdOf(id) })));
    await Promise.all(some.map((id) => block(store, id)));
  }
  return stored;
}

test('no minute of it sees more calls than the budget has, of whatever cause each is', async () => {
  const stored = await blockAll();
  const { store } = stored;
  const clock = makeHandClock(stored.nowMs());
  const calls: { atMs: number; path: string }[] = [];
  const provider = await playProvider((path) => calls.push({ atMs: clock.nowMs(), path }));

  let paying = 0;
  const doors: Partial<ProviderDoors> = {
    clock,
    sees: (connectionId) => seen.get(connectionId) ?? new Set(),
    async payProbeCall() {
      paying += 1;
      await payProbeCall(store, clock);
      paying -= 1;
    },
  };
  const connections = [
    connectionOf(),
    connectionOf({ connectionId: 'c2', user: 'bob', status: 'refused', token: new Secret('refused-token') }),
  ];
  const { client } = stageClient(
    { catalogUrl: `${provider.origin}/platform/`, bodyBytesMax: 10_000_000 },
    connections,
    doors,
  );
  const found = new Map<string, number>();
  const access = makeOrganizationAccess({
    store,
    clock,
    ask: (due, signal) => client.probe(due, signal),
    heldMs: () => 0,
    heard: async () => {},
    probed: ({ found: kind }) => void found.set(kind, (found.get(kind) ?? 0) + 1),
    changed: () => {},
    connectionsChanged: async () => {},
    answered: () => {},
  });

  let going = 0;
  const probe = async (due: DueProbe) => {
    going += 1;
    await access.probe(due, new AbortController().signal);
    going -= 1;
  };
  const beganMs = clock.nowMs();
  for (let passedMs = 0; passedMs < 2 * minuteMs || going > 0; passedMs = clock.nowMs() - beganMs) {
    const wanted = passedMs < 2 * minuteMs ? 32 - going : 0;
    if (wanted > 0) for (const due of await store.takeProbes(wanted, minuteMs)) void probe(due);
    // Whoever does not wait for the budget comes to its end before the hand moves.
    while (going > paying) await new Promise(setImmediate);
    stored.advance(stepMs);
    await clock.advance(stepMs);
  }
  client.close();
  await provider.close();
  await stored.close();

  const busiest = calls.map(({ atMs }, index) => {
    const until = calls.findIndex((later) => later.atMs >= atMs + minuteMs);
    return (until < 0 ? calls.length : until) - index;
  });
  expect(Math.max(...busiest)).toBeLessThanOrEqual(perMinute);
  expect(calls.length).toBeGreaterThan(perMinute);
  expect(found.get('action-required')).toBeGreaterThan(100);
  expect(found.get('not-connected')).toBeGreaterThan(50);
  const askedOf = (kind: Kind) =>
    calls.filter(({ path }) => {
      const [, id] = /\/(\d{6})\b/.exec(path) ?? [];
      return id !== undefined && kindOf(id) === kind;
    }).length;
  expect([askedOf('terms') > 50, askedOf('required-action') > 50]).toEqual([true, true]);
  // Nothing of a refused consent's organizations is asked: the consent itself is shown now and then, and pays for that.
  expect(askedOf('refused-grant')).toBe(0);
});
