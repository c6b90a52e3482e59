// Goal: a channel gets one short message for each beginning, change and end; nothing that others wrote can mention,
// link or format; what it cannot take now is offered again. Method: a strict stand-in of incoming webhooks on loopback.
import { digestOf, makeSlackSink, messageOf } from '../../../src/alert/slack';
import { Secret } from '../../../src/tools/secret';
import { type SlackServer, startSlack } from '../../support/pager-server';
import { anAlert, noonMs } from './samples';

const token = 'T000/B000/sEcReT';
const alert = anAlert({
  annotations: {
    summary: 'Terms.',
    description: 'Green Acres is blocked.',
    owner: 'customer-success',
    runbook_url: 'https://runbooks.example/TramlineTermsRequired.md',
    action_url: 'https://provider.example/terms?of=4711&to=<all>|x',
  },
});
const many = Array.from({ length: 30 }, (_, id) =>
  anAlert({ labels: { organization_id: `${id}` }, state: id < 25 ? 'firing' : 'resolved' }),
);

let stand: SlackServer;
const sinkOf = (of = {}) => makeSlackSink({ url: new Secret(stand.url), ...of });

beforeEach(async () => {
  stand = await startSlack(token);
});
afterEach(() => stand.stop());

test('S16: an alert is one message with the page, and only our two addresses are links', async () => {
  expect(await sinkOf().post([alert], noonMs)).toMatchObject({
    taken: [alert.fingerprint],
    failed: [],
    status: 200,
  });
  expect(stand.texts).toEqual([
    [
      'FIRING TramlineTermsRequired (warning) since 2026-03-01T12:00:00Z',
      'Terms.',
      'Green Acres is blocked.',
      'About: organization_id 4711',
      'Who acts: customer-success',
      'Where: <https://provider.example/terms?of=4711&amp;to=%3Call%3E%7Cx>',
      'Runbook: <https://runbooks.example/TramlineTermsRequired.md>',
    ].join('\n'),
  ]);
});

test('what others wrote neither mentions, links nor formats', () => {
  const { text, ...settings } = messageOf({
    ...alert,
    annotations: {
      description:
        '<!channel> <@U1> @here *bold* <https://evil.example|terms> [terms](https://evil.example) a&b',
    },
  });
  expect(text).not.toMatch(/[<>]|@here|\]\(/);
  expect(text).toContain('&lt;!channel&gt;');
  expect(text).toContain('a&amp;b');
  expect(settings).toEqual({
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  });
});

test('however long the texts are, the message is bounded and still says where to act', async () => {
  const description = '<'.repeat(100_000);
  const long = { ...alert, annotations: { ...alert.annotations, description } };
  const { text } = messageOf(long);
  expect(text.length).toBeLessThan(12_000);
  expect(text).toContain('Where: <https://provider.example/terms');
  expect((await sinkOf().post([long], noonMs)).taken).toHaveLength(1);
});

test('many at once are one message with the first of them', async () => {
  expect((await sinkOf().post(many, noonMs)).taken).toHaveLength(30);
  expect(stand.texts).toHaveLength(1);
  const lines = stand.texts[0]?.split('\n') ?? [];
  expect(lines[0]).toBe('25 alerts began and 5 ended at once.');
  expect(lines).toHaveLength(22);
  expect(lines.at(-1)).toBe('and 10 more: tramline alerts');
  expect(digestOf(many.slice(0, 6)).text).not.toContain('more');
  expect(digestOf(many.slice(24)).text).toMatch(/^1 alert began and 5 ended at once\./);
});

test('of many at once the worst comes first, with who acts where and until when', () => {
  const of = (id: string, severity: 'critical' | 'warning', annotations = {}) =>
    anAlert({ name: `Tramline${id}`, severity, labels: { organization_id: id }, annotations });
  const where = 'https://provider.example/terms';
  const alerts = [
    of('4', 'warning'),
    of('3', 'warning', { owner: 'on-call', kept_until: '2026-04-01T00:00:00Z' }),
    { ...of('9', 'critical', { owner: 'platform', action_url: where }), state: 'resolved' as const },
    of('2', 'critical', { owner: 'platform' }),
    of('1', 'critical', { owner: 'customer-success', kept_until: '2026-03-05T00:00:00Z', action_url: where }),
    of('5', 'warning', { owner: 'on-call', action_url: `${where}/${'x'.repeat(400)}` }),
    of('6', 'warning', { until_when: 'no end' }),
    of('7', 'warning', { owner: 'on-call', until_when: '2026-03-20T00:00:00Z' }),
    of('8', 'warning', { owner: 'on-call', closes_at: '2026-03-01T12:01:15Z' }),
  ];
  expect(digestOf(alerts).text.split('\n')).toEqual([
    '8 alerts began and 1 ended at once.',
    `FIRING Tramline1 (critical) 1; customer-success; kept until 2026-03-05T00:00:00Z; ${where}`,
    'FIRING Tramline2 (critical) 2; platform',
    'FIRING Tramline7 (warning) 7; on-call; until 2026-03-20T00:00:00Z',
    'FIRING Tramline3 (warning) 3; on-call; kept until 2026-04-01T00:00:00Z',
    'FIRING Tramline4 (warning) 4',
    'FIRING Tramline5 (warning) 5; on-call',
    'FIRING Tramline6 (warning) 6',
    'FIRING Tramline8 (warning) 8; over, closes at 2026-03-01T12:01:15Z',
    'RESOLVED Tramline9 (critical) 9',
    'What to do about each: tramline alerts',
  ]);
});

test('of many at once, what is lost first is named and comes first, also where a consent ends before the rest', () => {
  const of = (id: string, consent: object) => {
    const annotations = {
      kept_until: '2026-03-31T12:00:00Z',
      until_when: '2026-03-31T12:00:00Z',
      ...consent,
    };
    return anAlert({ labels: { organization_id: id }, annotations });
  };
  const ends = '2026-03-06T12:00:00Z';
  const { text } = digestOf([of('1', {}), of('2', { until_when: ends, consent_ends: ends })]);
  expect(text.split('\n').slice(1, 3)).toEqual([
    `FIRING TramlineTermsRequired (warning) 2; until ${ends}`,
    'FIRING TramlineTermsRequired (warning) 1; kept until 2026-03-31T12:00:00Z',
  ]);
});

test('an id that holds a line break or an address breaks no line of a digest', () => {
  const { text } = digestOf([anAlert({ labels: { organization_id: 'a\nFIRING x jo@example.com' } })]);
  expect(text.split('\n')).toHaveLength(3);
  expect(text).not.toContain('jo@');
});

test.each([
  [{ status: 429, headers: { 'retry-after': '30' } }, true, 30_000],
  [{ status: 500 }, true, null],
  [{ status: 302, headers: { location: 'http://127.0.0.1:1/' } }, true, null],
  [{ status: 404, body: 'no_service' }, true, null],
  [{ status: 200, body: '{"ok":false,"error":"channel_not_found"}' }, true, null],
  [{ status: 400, body: 'invalid_payload' }, false, null],
])(
  '%j is no success, and whether the same message is offered again is %s',
  async (answer, retry, pauseMs) => {
    stand.next = [answer];
    expect(await sinkOf().post([alert], noonMs)).toEqual({
      taken: [],
      failed: [{ fingerprint: alert.fingerprint, retry }],
      status: answer.status,
      retryAfterMs: pauseMs,
    });
    expect(stand.bodies).toHaveLength(1);
  },
);

test('messages go in order, and stop at the first for which the far side is away or asks for a pause', async () => {
  const alerts = many.slice(0, 4);
  stand.next = [{ status: 200, body: '{"success":true}' }, { status: 400 }, { status: 503 }];
  const { taken, failed } = await sinkOf().post(alerts, noonMs);
  const [first, second, third, fourth] = alerts.map(({ fingerprint }) => fingerprint);
  expect(taken).toEqual([first]);
  expect(failed).toEqual([
    { fingerprint: second, retry: false },
    { fingerprint: third, retry: true },
    { fingerprint: fourth, retry: true },
  ]);
  expect(stand.bodies).toHaveLength(3);
});

test('a message that is answered as a failure each time keeps none of those after it', async () => {
  const alerts = many.slice(0, 3);
  stand.next = [
    { status: 500, body: 'rollup_error' },
    { status: 200, body: 'ok' },
    { status: 200, body: 'ok' },
  ];
  const { taken, failed } = await sinkOf().post(alerts, noonMs);
  const [first, ...others] = alerts.map(({ fingerprint }) => fingerprint);
  expect([taken, failed]).toEqual([others, [{ fingerprint: first, retry: true }]]);
});

test('an address where nobody answers, or that is none, leaves the message to be told', async () => {
  const { url } = stand;
  await stand.stop();
  for (const address of [url, 'no address']) {
    const result = await makeSlackSink({ url: new Secret(address), timeoutMs: 200 }).post([alert], noonMs);
    expect(result).toMatchObject({ taken: [], failed: [{ retry: true }], status: null });
  }
});
