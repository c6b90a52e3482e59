// Goal: a test of the way to on-call tells each sink one page and its end, and says honestly what became of it.
// Method: the real sinks against strict stand-ins.
import { makeAlertmanagerSink } from '../../../src/alert/alertmanager';
import { makeLogSink } from '../../../src/alert/log-sink';
import { makePagerDutySink } from '../../../src/alert/pagerduty';
import type { AlertSink } from '../../../src/alert/sink';
import { makeSlackSink } from '../../../src/alert/slack';
import { testSinks } from '../../../src/alert/test-sinks';
import { Secret } from '../../../src/tools/secret';
import { startPagerDuty, startSlack } from '../../support/pager-server';
import { noonMs } from './samples';

const base = 'https://runbooks.example';
const started: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of started.splice(0)) await part.stop();
});

async function pagerDuty(key = 'key') {
  const stand = await startPagerDuty('key');
  started.push(stand);
  const sink = makePagerDutySink({ url: stand.url, routingKey: new Secret(key), clientUrl: null });
  return { stand, sink };
}

test('each sink gets one page, with a runbook, and its end', async () => {
  const { stand, sink } = await pagerDuty();
  const slack = await startSlack('token');
  started.push(slack);
  const written: string[] = [];
  const sinks = [
    sink,
    makeSlackSink({ url: new Secret(slack.url) }),
    makeLogSink((alert) => written.push(alert.state)),
  ];
  expect(await testSinks(sinks, base, noonMs)).toEqual([
    { sink: 'pagerduty', outcome: 'accepted', status: 202, detail: expect.stringContaining('resolved') },
    { sink: 'slack', outcome: 'accepted', status: 200, detail: expect.stringContaining('both messages') },
    { sink: 'log', outcome: 'accepted', status: null, detail: expect.stringContaining('both lines') },
  ]);
  expect([...stand.incidents.values()]).toMatchObject([{ open: false, severity: 'critical' }]);
  expect(stand.events[0]).toMatchObject({ links: [{ href: `${base}/TramlineTest.md`, text: 'Runbook' }] });
  expect(slack.texts.map((text) => text.split(' ')[0])).toEqual(['FIRING', 'RESOLVED']);
  expect(written).toEqual(['firing', 'resolved']);
});

test('two tests are two pages', async () => {
  const { stand, sink } = await pagerDuty();
  await testSinks([sink], base, noonMs);
  await testSinks([sink], base, noonMs + 1);
  expect(stand.opened).toBe(2);
});

test('a sink that refuses, does not answer or throws is told apart, and spoils no other', async () => {
  const { sink: wrongKey } = await pagerDuty('another key');
  const { stand, sink: away } = await pagerDuty();
  stand.next = [{ status: 503 }];
  const throws: AlertSink = {
    name: 'slack',
    repeats: false,
    keeps: false,
    post: () => Promise.reject(new Error('no')),
  };
  expect(await testSinks([wrongKey, away, throws, makeLogSink(() => {})], base, noonMs)).toMatchObject([
    { sink: 'pagerduty', outcome: 'refused', status: 400 },
    { sink: 'pagerduty', outcome: 'unreachable', status: 503 },
    { sink: 'slack', outcome: 'unreachable', status: null },
    { sink: 'log', outcome: 'accepted' },
  ]);
});

test('the end is told also where no success was answered: the page may be open there', async () => {
  const { stand, sink } = await pagerDuty();
  stand.next = [{ status: 500, takes: true }];
  expect(await testSinks([sink], base, noonMs)).toMatchObject([{ outcome: 'unreachable', status: 500 }]);
  expect([...stand.incidents.values()]).toMatchObject([{ open: false }]);
});

test('one that asks for a pause was reached, and is to be tested again', async () => {
  const { stand, sink } = await pagerDuty();
  stand.next = [{ status: 429 }, { status: 202 }, { status: 202 }, { status: 429 }];
  expect(await testSinks([sink], base, noonMs)).toMatchObject([
    { outcome: 'refused', status: 429, detail: expect.stringMatching(/was reached.*repeat the test/) },
  ]);
  expect(await testSinks([sink], base, noonMs)).toMatchObject([
    { outcome: 'refused', status: 429, detail: 'took the test page, but not its end' },
  ]);
});

test.each([
  [401, /^was reached and refuses the credentials: .*PAGERDUTY_ROUTING_KEY/],
  [403, /^was reached and refuses the credentials: .*PAGERDUTY_ROUTING_KEY/],
  [307, /^answers with a redirect, and none is followed/],
])('one that answers %s was reached, and is said to want something else', async (status, detail) => {
  const { stand, sink } = await pagerDuty();
  stand.next = [{ status }, { status }];
  expect(await testSinks([sink], base, noonMs)).toMatchObject([
    { outcome: 'refused', status, detail: expect.stringMatching(detail) },
  ]);
});

test('where the credentials of each sink stand is said', async () => {
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (_address, options) => {
    if (options?.body === undefined) return new Response('{"uptime":"2026-03-01T00:00:00Z"}');
    return new Response('', { status: 403 });
  });
  const sinks = [
    makeAlertmanagerSink({ urls: ['http://one:9093'] }),
    makeSlackSink({ url: new Secret('http://slack/hook') }),
  ];
  const tests = await testSinks(sinks, base, noonMs);
  jest.restoreAllMocks();
  expect(tests.map(({ outcome, detail }) => [outcome, detail])).toEqual([
    ['refused', expect.stringContaining('it is sent none')],
    ['refused', expect.stringContaining('SLACK_WEBHOOK_URL')],
  ]);
});

test('an end that is not taken is said', async () => {
  const { stand, sink } = await pagerDuty();
  stand.next = [{ status: 202 }, { status: 500 }];
  expect(await testSinks([sink], base, noonMs)).toMatchObject([
    { outcome: 'unreachable', status: 500, detail: 'took the test page, but not its end' },
  ]);
});

test('A-11: of several Alertmanagers each says for itself whether it took the page', async () => {
  const sink = makeAlertmanagerSink({ urls: ['http://live:9093', 'http://dead:9093', 'http://dies:9093'] });
  const answers = jest.spyOn(globalThis, 'fetch').mockImplementation(async (address, options) => {
    const { hostname } = new URL(String(address));
    if (hostname === 'dead') throw new Error('away');
    if (options?.body === undefined) return new Response('{"uptime":"2026-03-01T00:00:00Z"}');
    if (hostname === 'dies') return new Response('', { status: 500 });
    return new Response('');
  });
  const tests = await testSinks([sink], base, noonMs);
  answers.mockRestore();
  expect(tests).toMatchObject(
    [
      { sink: 'alertmanager', instance: 'http://live:9093', outcome: 'accepted', status: 200 },
      { instance: 'http://dead:9093', outcome: 'unreachable', status: null, detail: /no answer/ },
      { instance: 'http://dies:9093', outcome: 'unreachable', status: 500, detail: /no success/ },
    ].map((line) =>
      'detail' in line ? { ...line, detail: expect.stringMatching(line.detail as RegExp) } : line,
    ),
  );
});

test('Alertmanager is told an end that lies ahead, since it would not notify of one that is over', async () => {
  const posts: { startsAt: string; endsAt: string; labels: Record<string, string> }[][] = [];
  const sink = makeAlertmanagerSink({ urls: ['http://127.0.0.1:9'], openMs: 60_000 });
  const answers = jest.spyOn(globalThis, 'fetch').mockImplementation(async (_address, options) => {
    if (options?.body === undefined) return new Response('{"uptime":"2026-03-01T00:00:00Z"}');
    posts.push(JSON.parse(String(options.body)));
    return new Response('');
  });
  expect(await testSinks([sink], base, noonMs)).toMatchObject([{ outcome: 'accepted', status: 200 }]);
  answers.mockRestore();
  expect(posts).toHaveLength(1);
  expect(posts[0]?.[0]).toMatchObject({
    startsAt: new Date(noonMs).toISOString(),
    endsAt: new Date(noonMs + 60_000).toISOString(),
    labels: { alertname: 'TramlineTest', severity: 'critical', owner: 'on-call' },
  });
});
