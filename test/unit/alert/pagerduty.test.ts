// Goal: PagerDuty opens one incident for each alert, says what is needed, and closes it; what it cannot take now is
// offered again. Method: a strict stand-in of its Events API on loopback.
import { eventOf, makePagerDutySink } from '../../../src/alert/pagerduty';
import { Secret } from '../../../src/tools/secret';
import { type PagerDutyServer, startPagerDuty } from '../../support/pager-server';
import { anAlert, noonMs } from './samples';

const routingKey = 'R0UT1NGKEYxxxxxxxxxxxxxxxxxxxxxx';
const options = { url: '', routingKey: new Secret(routingKey), clientUrl: 'https://tramline.example/' };
const alert = anAlert({
  severity: 'critical',
  annotations: {
    summary: 'Terms.',
    description: 'Green Acres is blocked.',
    owner: 'customer-success',
    runbook_url: 'https://runbooks.example/TramlineTermsRequired.md',
    action_url: 'https://provider.example/terms',
  },
});
const over = { ...alert, state: 'resolved', resolvedAtMs: noonMs + 60_000 } as const;

let stand: PagerDutyServer;
const sinkOf = (of = {}) => makePagerDutySink({ ...options, url: stand.url, ...of });

beforeEach(async () => {
  stand = await startPagerDuty(routingKey);
});
afterEach(() => stand.stop());

test('a firing alert opens an incident with who, what, since when, where and the runbook', async () => {
  expect(await sinkOf().post([alert], noonMs)).toMatchObject({
    taken: [alert.fingerprint],
    failed: [],
    status: 202,
  });
  expect(stand.events).toEqual([
    {
      routing_key: routingKey,
      event_action: 'trigger',
      dedup_key: `tramline ${alert.fingerprint}`,
      client: 'Tramline',
      client_url: 'https://tramline.example/',
      payload: {
        summary: 'Terms. Green Acres is blocked.',
        source: 'tramline',
        severity: 'critical',
        timestamp: '2026-03-01T12:00:00.000Z',
        component: 'tramline',
        group: 'customer-success',
        class: 'TramlineTermsRequired',
        custom_details: expect.objectContaining({ organization_id: '4711', since: '2026-03-01T12:00:00Z' }),
      },
      links: [
        { href: 'https://runbooks.example/TramlineTermsRequired.md', text: 'Runbook' },
        { href: 'https://provider.example/terms', text: 'Where to act' },
      ],
    },
  ]);
});

test('A-4: repeated and changed events are one incident, its end closes it, and a later one opens anew', async () => {
  const sink = sinkOf();
  await sink.post([{ ...alert, severity: 'warning' }], noonMs);
  await sink.post([alert], noonMs);
  const key = `tramline ${alert.fingerprint}`;
  expect(stand.incidents.get(key)).toMatchObject({ open: true, severity: 'critical', triggers: 2 });
  await sink.post([over], noonMs);
  expect(stand.incidents.get(key)).toMatchObject({ open: false });
  expect(stand.opened).toBe(1);
  await sink.post([alert], noonMs);
  expect([stand.opened, stand.incidents.size]).toEqual([2, 1]);
});

test.each([
  [429, true],
  [500, true],
  [503, true],
  [307, true],
  [403, true],
  [400, false],
])('an answer %i is no success, and whether the same event is offered again is %s', async (status, retry) => {
  stand.next = [{ status, headers: { location: `${stand.url}?again`, 'retry-after': '7' } }];
  expect(await sinkOf().post([alert], noonMs)).toEqual({
    taken: [],
    failed: [{ fingerprint: alert.fingerprint, retry }],
    status,
    retryAfterMs: 7000,
  });
  expect(stand.events).toHaveLength(1);
});

test('a refused event does not keep the others back; a pause keeps back the rest of the round', async () => {
  const alerts = Array.from({ length: 30 }, (_, id) => anAlert({ labels: { organization_id: `${id}` } }));
  stand.next = [{ status: 400 }];
  const refused = await sinkOf().post(alerts, noonMs);
  expect([refused.taken.length, refused.failed.length]).toEqual([29, 1]);
  stand.next = Array.from({ length: 30 }, () => ({ status: 429 }));
  stand.events.length = 0;
  const paused = await sinkOf().post(alerts, noonMs);
  expect(paused.failed.map(({ retry }) => retry)).toEqual(alerts.map(() => true));
  expect(stand.events.length).toBeLessThanOrEqual(4);
});

test('an address where nobody answers in time leaves everything to be told, and tells nothing of the key', async () => {
  const { url } = stand;
  await stand.stop();
  const result = await makePagerDutySink({ ...options, url, timeoutMs: 200 }).post([alert], noonMs);
  expect(result).toEqual({
    taken: [],
    failed: [{ fingerprint: alert.fingerprint, retry: true }],
    status: null,
    retryAfterMs: null,
  });
});

test('texts and keys that are too long are cut to what PagerDuty takes, and stay different', async () => {
  const long = (id: string) =>
    anAlert({
      labels: { organization_id: id.padEnd(400, 'x') },
      annotations: { summary: 'a'.repeat(2000), owner: 'on-call' },
    });
  const result = await sinkOf().post([long('1'), long('2')], noonMs);
  expect(result.taken).toHaveLength(2);
  expect(stand.incidents.size).toBe(2);
  const [first] = [...stand.incidents.keys()];
  expect(first).toMatch(/^tramline [0-9a-f]{64}$/);
});

test('without an address of its own and without links the event leaves them out', () => {
  const bare = eventOf(anAlert({ annotations: {} }), { ...options, clientUrl: null });
  expect(bare).not.toHaveProperty('client_url');
  expect(bare.links).toEqual([]);
  expect(bare.payload?.summary).toBe('TramlineTermsRequired');
});
