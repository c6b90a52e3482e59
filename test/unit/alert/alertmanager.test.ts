// Goal: every instance is told everything in the form it takes, one bad alert spoils no other, and nothing hangs.
// Method: instances are plain HTTP servers on loopback that answer what the test wants and keep what they were told.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeAlertmanagerSink } from '../../../src/alert/alertmanager';
import type { PostableAlert } from '../../../src/alert/alertmanager-payload';
import type { Alert, SentState } from '../../../src/model/alert';
import { makeHandClock } from '../../support/hand-clock';
import { anAlert, minuteMs, noonMs } from './samples';

type Answer = (alerts: PostableAlert[], response: ServerResponse) => void;

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const instance of open.splice(0)) await instance.close();
});

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

async function startInstance(path = '') {
  const posts: PostableAlert[][] = [];
  const instance = {
    url: '',
    posts,
    contentTypes: [] as (string | undefined)[],
    status: (response: ServerResponse): void => void response.end(JSON.stringify({ uptime: 'monday' })),
    answer: ((_, response) => void response.end()) as Answer,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer(async (request, response) => {
    if (request.method === 'GET' && request.url === `${path}/api/v2/status`) return instance.status(response);
    if (request.method !== 'POST' || request.url !== `${path}/api/v2/alerts`) {
      response.statusCode = 404;
      return void response.end();
    }
    const alerts = JSON.parse(await textOf(request)) as PostableAlert[];
    instance.contentTypes.push(request.headers['content-type']);
    posts.push(alerts);
    instance.answer(alerts, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  instance.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  open.push(instance);
  return instance;
}

type Instance = Awaited<ReturnType<typeof startInstance>>;

/** Resolves when the instance is asked for its status, with the answer that is the caller's to give. */
function held(instance: Instance): Promise<ServerResponse> {
  return new Promise((resolve) => {
    instance.status = resolve;
  });
}

/** Resolves when the instance is told alerts, and has answered as `answer` does. */
function posted(instance: Instance, answer: Answer = (_, response) => void response.end()): Promise<void> {
  return new Promise((resolve) => {
    instance.answer = (alerts, response) => {
      answer(alerts, response);
      resolve();
    };
  });
}

/** Time that the test moves: 6 s for an instance, and 50 ms for the others when one took everything. */
function handTime() {
  const clock = makeHandClock(noonMs);
  let waits = () => {};
  const abortAfter = (ms: number): AbortSignal => {
    const patience = new AbortController();
    void clock.wait(ms).then(() => patience.abort());
    if (ms === 50) waits();
    return patience.signal;
  };
  /** Resolves when the others are waited for. */
  const waited = () => new Promise<void>((resolve) => (waits = resolve));
  return { clock, waited, patience: { timeoutMs: 6000, othersMs: 50, abortAfter } };
}

async function isUnderWay(post: Promise<unknown>): Promise<boolean> {
  const isOver = post.then(() => false);
  return Promise.race([isOver, new Promise<boolean>((resolve) => setImmediate(resolve, true))]);
}

const say =
  (status: number): Answer =>
  (_, response) =>
    void response.writeHead(status).end('{"code":400,"message":"no"}');

function numbered(count: number): Alert[] {
  return Array.from({ length: count }, (_, id) => anAlert({ labels: { organization_id: `${id}` } }));
}

function sentAs(of: Partial<SentState> = {}): Alert['sent'] {
  const sent: SentState = {
    state: 'firing',
    severity: 'warning',
    sinceMs: noonMs,
    atMs: noonMs,
    failures: 0,
  };
  return { alertmanager: { ...sent, ...of } };
}

const alert = anAlert();
const { fingerprint } = alert;
const ended = anAlert({ state: 'resolved', resolvedAtMs: noonMs + minuteMs });

test('A-3, A-10: a firing alert is posted with its start and an end that lies ahead', async () => {
  const instance = await startInstance();
  const sink = makeAlertmanagerSink({ urls: [instance.url], generatorUrl: 'https://tramline.example/' });
  expect(await sink.post([alert], noonMs + minuteMs)).toEqual({
    taken: [fingerprint],
    failed: [],
    status: 200,
  });
  expect(instance.contentTypes).toEqual(['application/json']);
  expect(instance.posts).toEqual([
    [
      {
        labels: {
          alertname: 'TramlineTermsRequired',
          service: 'tramline',
          severity: 'warning',
          owner: 'customer-success',
          organization_id: '4711',
        },
        annotations: { summary: 'Terms.', owner: 'customer-success' },
        startsAt: '2026-03-01T12:00:00.000Z',
        endsAt: '2026-03-01T12:06:00.000Z',
        generatorURL: 'https://tramline.example/',
      },
    ],
  ]);
});

test('an instance may live under a path', async () => {
  const instance = await startInstance('/alertmanager');
  for (const url of [instance.url, `${instance.url}/`]) {
    expect(await makeAlertmanagerSink({ urls: [url] }).post([alert], noonMs)).toMatchObject({
      taken: [fingerprint],
    });
  }
});

test('an end is posted with the time at which the alert was resolved', async () => {
  const instance = await startInstance();
  const sink = makeAlertmanagerSink({ urls: [instance.url], openMs: 0 });
  await sink.post([{ ...ended, sent: sentAs() }], noonMs + 2 * minuteMs);
  expect(instance.posts).toMatchObject([
    [{ startsAt: '2026-03-01T12:00:00.000Z', endsAt: '2026-03-01T12:02:00.000Z' }],
  ]);
  await sink.post([{ ...ended, sent: sentAs() }], noonMs + 3 * minuteMs);
  expect(instance.posts[1]).toMatchObject([{ endsAt: '2026-03-01T12:01:00.000Z' }]);
});

test('an instance that was started anew is told the alert again before its end', async () => {
  const instance = await startInstance();
  const sink = makeAlertmanagerSink({ urls: [instance.url] });
  const tell = (what: Alert, seconds: number) =>
    sink.post([{ ...what, sent: sentAs() }], noonMs + seconds * 1000);
  await tell(alert, 0);
  instance.status = (response) => void response.end(JSON.stringify({ uptime: 'tuesday' }));
  await tell(ended, 90);
  await tell(ended, 149);
  await tell(ended, 150);
  expect(instance.posts.map(([post]) => post?.endsAt)).toEqual([
    '2026-03-01T12:05:00.000Z',
    '2026-03-01T12:02:30.000Z',
    '2026-03-01T12:02:30.000Z',
    '2026-03-01T12:01:00.000Z',
  ]);
});

test.each([600, -7200])('an instance whose clock is ahead by %i s is told by that one', async (aheadS) => {
  const instance = await startInstance();
  instance.status = (response) => {
    response.setHeader('date', new Date(Date.now() + aheadS * 1000).toUTCString());
    response.end(JSON.stringify({ uptime: new Date(noonMs - 60_000 + aheadS * 1000).toISOString() }));
  };
  const sink = makeAlertmanagerSink({ urls: [instance.url] });
  await sink.post([alert], noonMs);
  await sink.post([{ ...ended, sent: sentAs() }], noonMs + 3 * minuteMs);
  const there = (iso: string) => Math.round((Date.parse(iso) - aheadS * 1000 - noonMs) / minuteMs) + 0;
  expect(instance.posts.flat().map(({ startsAt, endsAt }) => [there(startsAt), there(endsAt)])).toEqual([
    [0, 5],
    [0, 1],
  ]);
});

test('what is told again only for its end sends nobody to act, and its end tells what it was', async () => {
  const instance = await startInstance();
  instance.status = (response) =>
    void response.end(JSON.stringify({ uptime: new Date(noonMs + 2 * minuteMs).toISOString() }));
  const sink = makeAlertmanagerSink({ urls: [instance.url] });
  const annotations = {
    ...{ summary: 'Terms.', description: 'Blocked.', owner: 'customer-success' },
    ...{ action_url: 'https://provider.example/terms', first_step: 'Send it.' },
  };
  const over = { ...ended, annotations, sent: sentAs({ state: 'resolved' }) };
  const folded = anAlert({ ...over, labels: { organization_id: '4724' } });
  folded.annotations = { ...annotations, folded_into: 'TramlineManyOrganizationsBlocked' };
  for (const seconds of [0, 60]) await sink.post([over, folded], noonMs + 3 * minuteMs + seconds * 1000);
  const [again, end] = instance.posts.map((post) => post.map((alert) => alert.annotations));
  const told = {
    description: 'Nobody has to act on it. It told: Terms.',
    owner: 'customer-success',
    first_step: 'None: it is told once more, so that its end is told as well.',
  };
  expect(again).toEqual([
    { ...told, summary: 'It is over since 2026-03-01T12:01:00Z.' },
    { ...told, summary: 'It goes on as TramlineManyOrganizationsBlocked since 2026-03-01T12:01:00Z.' },
  ]);
  expect(end).toEqual([annotations, { ...annotations, folded_into: 'TramlineManyOrganizationsBlocked' }]);
});

test.each<[string, (response: ServerResponse) => void]>([
  ['refuses to say', (response) => void response.writeHead(403).end('{"uptime":"monday"}')],
  ['says something else', (response) => void response.end('[1]')],
  ['says nothing', (response) => void response.end('null')],
  ['is no JSON', (response) => void response.end('<html>')],
  ['says a number', (response) => void response.end('{"uptime":1}')],
  [
    'says too much',
    (response) => void response.end(`{"uptime":"monday","config":"${'x'.repeat(1_100_000)}"}`),
  ],
])('one whose status %s is told all the same', async (_, status) => {
  const instance = await startInstance();
  instance.status = status;
  const sink = makeAlertmanagerSink({ urls: [instance.url] });
  expect(await sink.post([alert], noonMs)).toMatchObject({ taken: [fingerprint] });
});

test('another severity ends the old label set in the same post', async () => {
  const instance = await startInstance();
  const sink = makeAlertmanagerSink({ urls: [instance.url] });
  await sink.post([{ ...alert, severity: 'critical', sent: sentAs() }], noonMs + minuteMs);
  expect(instance.posts).toMatchObject([
    [
      { labels: { severity: 'critical' }, endsAt: '2026-03-01T12:06:00.000Z' },
      { labels: { severity: 'warning' }, endsAt: '2026-03-01T12:01:00.000Z' },
    ],
  ]);
});

test('what begins by another severity ends what fires there for its former end alone', async () => {
  const instance = await startInstance();
  const sink = makeAlertmanagerSink({ urls: [instance.url] });
  await sink.post([{ ...ended, sent: sentAs({ state: 'firing' }) }], noonMs + minuteMs);
  const again = { ...alert, severity: 'critical' as const, startsAtMs: noonMs + 2 * minuteMs };
  const offered = sentAs({ state: null, severity: 'critical' });
  for (let times = 0; times < 2; times += 1)
    await sink.post([{ ...again, sent: offered }], noonMs + 2 * minuteMs);
  const told = instance.posts.map((post) => post.map(({ labels, endsAt }) => [labels?.severity, endsAt]));
  expect(told).toEqual([
    [['warning', '2026-03-01T12:02:00.000Z']],
    [
      ['critical', '2026-03-01T12:07:00.000Z'],
      ['warning', '2026-03-01T12:02:00.000Z'],
    ],
    [['critical', '2026-03-01T12:07:00.000Z']],
  ]);
});

test('an end goes to the label set that is known', async () => {
  const instance = await startInstance();
  const sink = makeAlertmanagerSink({ urls: [instance.url], openMs: 0 });
  await sink.post([{ ...ended, severity: 'critical', sent: sentAs() }], noonMs);
  await sink.post([{ ...ended, severity: 'critical', sent: {} }], noonMs);
  expect(instance.posts).toMatchObject([
    [{ labels: { severity: 'warning' } }],
    [{ labels: { severity: 'critical' } }],
  ]);
});

test('labels that would be refused are not posted, and not tried again', async () => {
  const instance = await startInstance();
  const bad = anAlert({ labels: { 'organization-id': '1' } });
  const sink = makeAlertmanagerSink({ urls: [instance.url] });
  expect(await sink.post([bad, alert], noonMs)).toEqual({
    taken: [fingerprint],
    failed: [{ fingerprint: bad.fingerprint, retry: false }],
    status: 200,
  });
  expect(instance.posts).toHaveLength(1);
});

test('one alert that is refused spoils no other', async () => {
  const instance = await startInstance();
  instance.answer = (alerts, response) => {
    const isBad = alerts.some(({ labels }) => labels.organization_id === '5');
    response.writeHead(isBad ? 400 : 200).end();
  };
  const alerts = numbered(9);
  const { taken, failed } = await makeAlertmanagerSink({ urls: [instance.url] }).post(alerts, noonMs);
  expect(failed).toEqual([{ fingerprint: alerts[5]?.fingerprint, retry: false }]);
  expect(taken).toHaveLength(8);
});

test('thousands of alerts are few posts', async () => {
  const instance = await startInstance();
  const { taken } = await makeAlertmanagerSink({ urls: [instance.url] }).post(numbered(2500), noonMs);
  expect(taken).toHaveLength(2500);
  expect(instance.posts.map((post) => post.length)).toEqual([1000, 1000, 500]);
});

test.each([401, 404, 429, 500, 503, 302])('an answer of %i is to be tried again', async (status) => {
  const instance = await startInstance();
  instance.answer = say(status);
  expect(await makeAlertmanagerSink({ urls: [instance.url] }).post([alert], noonMs)).toEqual({
    taken: [],
    failed: [{ fingerprint, retry: true }],
    status,
  });
});

test('an instance that stops answering in the middle keeps what it took', async () => {
  const instance = await startInstance();
  instance.answer = (_, response) => {
    if (instance.posts.length > 1) response.destroy();
    else response.end();
  };
  const { taken, failed, status } = await makeAlertmanagerSink({ urls: [instance.url] }).post(
    numbered(2500),
    noonMs,
  );
  expect([taken.length, failed.length, status]).toEqual([1000, 1500, null]);
  expect(instance.posts).toHaveLength(2);
});

test('an instance that does not answer is given up in time', async () => {
  const instance = await startInstance();
  const asked = posted(instance, () => {});
  const time = handTime();
  const post = makeAlertmanagerSink({ urls: [instance.url], ...time.patience }).post([alert], noonMs);
  await asked;
  await time.clock.advance(6000);
  expect(await post).toMatchObject({
    taken: [],
    failed: [{ fingerprint, retry: true }],
  });
});

test('an answer without end is not read to its end', async () => {
  const instance = await startInstance();
  instance.answer = (_, response) => {
    const drip = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      if (!response.destroyed) response.once('drain', drip);
    };
    drip();
  };
  const sink = makeAlertmanagerSink({ urls: [instance.url] });
  expect(await sink.post([alert], noonMs)).toMatchObject({ taken: [fingerprint] });
});

test('of two instances with one away, the post counts, and all is told to the one that is there', async () => {
  const [there, away] = [await startInstance(), await startInstance()];
  await away.close();
  const sink = makeAlertmanagerSink({ urls: [away.url, there.url] });
  const instances = [
    { name: new URL(away.url).origin, outcome: 'unreachable', status: null },
    { name: new URL(there.url).origin, outcome: 'accepted', status: 200 },
  ];
  expect(await sink.post([alert], noonMs)).toEqual({
    taken: [fingerprint],
    failed: [],
    status: null,
    instances,
  });
  expect(there.posts).toHaveLength(1);
  expect(away.posts).toHaveLength(0);
});

describe('of two instances, one that hangs', () => {
  test.each(['status', 'post'] as const)(
    'in its %s delays the other’s news by its own time, and none of the next while it hangs',
    async (place) => {
      const [there, hanging] = [await startInstance(), await startInstance()];
      const time = handTime();
      const sink = makeAlertmanagerSink({ urls: [hanging.url, there.url], ...time.patience });
      const isTold = new Promise<ServerResponse>((resolve) => {
        if (place === 'status') hanging.status = resolve;
        else hanging.answer = (_, response) => resolve(response);
      });
      const waits = time.waited();
      const post = sink.post([alert], noonMs);
      const [response] = await Promise.all([isTold, waits]);
      await time.clock.advance(49);
      expect(await isUnderWay(post)).toBe(true);
      await time.clock.advance(1);
      const missed = { name: new URL(hanging.url).origin, outcome: 'unreachable', status: null };
      const expected = { taken: [fingerprint], instances: [missed, { outcome: 'accepted' }] };
      expect(await post).toMatchObject(expected);
      // No time passes: it is not asked again before it has answered.
      expect(await sink.post([ended], noonMs)).toMatchObject(expected);
      expect([there.posts.length, hanging.posts.length]).toEqual([2, place === 'status' ? 0 : 1]);

      const answers = await startInstance();
      hanging.status = answers.status;
      if (place === 'status') answers.status(response);
      else response.end();
      hanging.answer = answers.answer;
      // As soon as it has answered for what it was told first, it is told everything.
      let last = await sink.post([ended], noonMs);
      while (last.instances?.[0]?.outcome !== 'accepted') last = await sink.post([ended], noonMs);
      expect(last).toMatchObject({ taken: [fingerprint], instances: [{}, { outcome: 'accepted' }] });
      expect(hanging.posts.map(([told]) => told?.labels.alertname)).toEqual([alert.name, alert.name]);
    },
  );
});

test('a lone instance, or where all hang, is given the whole time again', async () => {
  const instances = [await startInstance(), await startInstance()];
  for (const some of [instances.slice(0, 1), instances]) {
    const time = handTime();
    const sink = makeAlertmanagerSink({ urls: some.map(({ url }) => url), ...time.patience });
    for (const instance of some) instance.status = (response) => void response.destroy();
    expect(await sink.post([alert], noonMs)).toMatchObject({ taken: [] });
    const asked = Promise.all(some.map(held));
    const post = sink.post([alert], noonMs);
    const statuses = await asked;
    await time.clock.advance(5999);
    for (const status of statuses) status.end(JSON.stringify({ uptime: 'monday' }));
    expect(await post).toMatchObject({ taken: [fingerprint] });
  }
});

test('what one instance refused of a post is told of that instance', async () => {
  const [one, other] = [await startInstance(), await startInstance()];
  const sink = makeAlertmanagerSink({ urls: [one.url, other.url] });
  one.answer = say(400);
  expect(await sink.post([alert], noonMs)).toMatchObject({
    taken: [fingerprint],
    instances: [
      { name: new URL(one.url).origin, outcome: 'refused', status: 400 },
      { name: new URL(other.url).origin, outcome: 'accepted', status: 200 },
    ],
  });
});

test('of two instances that both refuse, it is refused; when one only failed, it is tried again', async () => {
  const [one, other] = [await startInstance(), await startInstance()];
  const sink = makeAlertmanagerSink({ urls: [one.url, other.url] });
  one.answer = say(400);
  other.answer = say(422);
  expect(await sink.post([alert], noonMs)).toMatchObject({ failed: [{ retry: false }], status: 422 });
  other.answer = say(503);
  expect(await sink.post([alert], noonMs)).toMatchObject({ failed: [{ retry: true }], status: 503 });
});

test.each([[[]], [['not an address']], [['ftp://alertmanager/']], [['https://jo:secret@alertmanager/']]])(
  'addresses %j are refused, and not repeated in the refusal',
  (urls) => {
    expect(() => makeAlertmanagerSink({ urls })).toThrow(
      expect.objectContaining({ code: 'settings.invalid', message: expect.not.stringContaining('secret') }),
    );
  },
);
