// The operations listener as its users meet it: through real HTTP. Every answer seen here is held against
// schemas/openapi.yaml, and the document and the routes name each other completely.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import request from 'supertest';
import type { CheckLine } from '../../../src/model/api';
import { Problem } from '../../../src/model/problem';
import type { ReplayView, ReplayWanted } from '../../../src/model/replay';
import { makeApi } from '../../../src/operations/api';
import { apiRoutes } from '../../../src/operations/routes';
import { makeOperationsServer, type OperationsServer } from '../../../src/operations/server';
import { idleView } from '../../../src/sync/progress';
import { Secret } from '../../../src/tools/secret';
import { faultOfAnswer, readOpenApi } from '../../support/openapi';
import { makeScriptedProvider } from '../../support/scripted-provider';
import { makeScriptedSubscriptions } from '../../support/scripted-subscriptions';
import { makeSampleStore, organizations, rejudge, type SampleStore } from './sample-store';

const lines: CheckLine[] = (
  ['settings', 'store', 'provider', 'kafka', 'sinks', 'alerts', 'clock'] as const
).map((name) => ({
  name,
  state: 'ok',
  detail: 'fine',
  next: null,
}));

let sample: SampleStore;
let server: OperationsServer;
let faults: unknown[];
let released: number;
/** What a replay that is to begin throws; null: nothing. */
let unfit: Error | null;
let ready: { status: 'ready' } | { status: 'not-ready'; reason: string };

const replayView = (wanted: Partial<ReplayWanted> = {}): ReplayView => ({
  state: 'running',
  how: wanted.how ?? 'newest',
  toTopic: wanted.toTopic ?? null,
  reason: null,
  dryRun: wanted.dryRun ?? false,
  resumed: false,
  leftAt: null,
  replayedBefore: 0,
  earlierUnsent: 0,
  refused: [],
  selected: 3,
  keys: 2,
  replayed: 1,
  unknown: [],
  calls: 0,
  parked: 0,
  forgotten: 0,
  waiting: 0,
  callsLeft: null,
  startedAt: '2026-03-01T12:00:00.000Z',
  tookMs: 5,
});

function open(token: Secret | null = null): OperationsServer {
  sample = makeSampleStore();
  faults = [];
  released = 0;
  unfit = null;
  ready = { status: 'ready' };
  server = makeOperationsServer({
    api: makeApi({
      listAlerts: async () => (await sample.store.listAlerts()).map((alert) => ({ ...alert, notTold: [] })),
      store: sample.store,
      rejudge,
      released: () => {
        released += 1;
      },
      probeNow: async (id) => organizations.some((organization) => organization.id === id) && 'ok',
      manageUrl: (id) => (id === '4711' ? 'https://connections.test/manage' : null),
      endConnection: async (id) => id === '4711',
      forget: async (id) => sample.forget(id),
      check: async () => lines,
      testAlerts: async () => [{ sink: 'slack', outcome: 'accepted', status: 200, detail: 'fine' }],
      config: () => ({
        PORT: { value: 8080, from: 'default' },
        OPERATIONS_TOKEN: { value: 'set', from: 'file', path: '/t' },
      }),
      provider: makeScriptedProvider().api,
      sync: { begin: () => idleView(), view: idleView },
      replay: {
        begin: async (wanted) => {
          if (unfit !== null) throw unfit;
          return replayView(wanted);
        },
        view: () => replayView(),
      },
      sandbox: async () => ({ plan: 'production', limits: [] }),
      connections: sample.connections,
      subscriptions: makeScriptedSubscriptions().api,
    }),
    health: { live: () => ({ status: 'live' }), ready: async () => ready },
    metricsText: async () => '# nothing\n',
    token,
    fault: (error) => faults.push(error),
  });
  return server;
}

type Method = 'get' | 'post' | 'delete' | 'put';

/** Asks, and holds the answer against its description, which foresees no fault of ours. */
async function ask(method: Method, address: string, headers: Record<string, string> = {}, foreseen = true) {
  const answer = await request(server.app)[method](address).set(headers);
  const mediaType = String(answer.headers['content-type'] ?? '');
  const body: unknown = mediaType.includes('json')
    ? JSON.parse(answer.text || JSON.stringify(answer.body))
    : answer.text;
  const path = address.replace(/\?.*$/s, '');
  const described = faultOfAnswer({ method, path, status: answer.status, mediaType, body });
  expect(described).toBe(foreseen ? null : `${method} ${path}: ${answer.status} is not described`);
  return {
    status: answer.status,
    body: body as never as Record<string, never>,
    text: answer.text,
    headers: answer.headers,
  };
}

describe('on this machine, without a token', () => {
  beforeEach(() => void open());

  test('the document and the routes name each other completely', () => {
    const described = Object.entries(readOpenApi().paths)
      .filter(([path]) => path !== '/webhooks' && !path.startsWith('/connect'))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
    const stack = (
      server.app.router as unknown as {
        stack: { route?: { path: string; methods: Record<string, boolean> } }[];
      }
    ).stack;
    const served = stack.flatMap(({ route }) => {
      if (route === undefined) return [];
      const path = route.path.replace(/:(\w+)/g, '{$1}');
      return Object.keys(route.methods)
        .filter((method) => method !== '_all')
        .map((method) => `${method} ${path}`);
    });
    expect(served.sort()).toEqual(described.sort());
    expect(apiRoutes.length).toBe(served.filter((route) => route.includes('/api/')).length);
  });

  test('connections are listed, asked for, answered by a body, and revoked', async () => {
    expect((await ask('get', '/api/connections')).body).toMatchObject([{ id: 'c1', user: 'ann' }]);
    const made = await ask('post', '/api/connections/links?user=ann&callback=farm-app%3Adone');
    expect(made.body).toMatchObject({ id: 'a-consent', address: expect.any(String) });
    expect(
      (await ask('post', '/api/connections/links?callback=https%3A%2F%2Felsewhere.example')).status,
    ).toBe(400);
    expect((await ask('post', '/api/connections/links?auth=none')).status).toBe(400);
    expect((await ask('get', '/api/connections/links/a-consent')).status).toBe(200);
    expect((await ask('get', '/api/connections/links/unknown')).status).toBe(404);
    expect((await ask('get', '/api/connections/links')).headers.allow).toBe('POST');
    expect((await ask('delete', '/api/connections/c1')).body).toMatchObject({ state: 'revoked' });
    expect((await ask('delete', '/api/connections/c9')).status).toBe(404);
    const answer = (body: string, type = 'application/json') =>
      request(server.app)
        .post('/api/connections/links/a-consent/answer')
        .set('content-type', type)
        .send(body);
    expect((await answer('{"code":"v","token":"t"}')).body).toMatchObject({ step: 'done' });
    expect(sample.asked.at(-1)).toEqual({ code: 'v', token: 't' });
    for (const body of ['', '{', '{"code":7}', '{"code":"v","more":1}', `{"code":"${'x'.repeat(20_000)}"}`]) {
      const refused = await answer(body);
      expect([refused.status, refused.headers['content-type']]).toEqual([
        400,
        'application/problem+json; charset=utf-8',
      ]);
    }
    expect((await answer('code=v', 'application/x-www-form-urlencoded')).status).toBe(400);
    expect(faults).toEqual([]);
  });

  test('an organization is shown with the times by which it was announced to act', async () => {
    sample.announced = ['2026-12-01T00:00:00.000Z'];
    expect((await ask('get', '/api/organizations/4711')).body).toMatchObject({ announced: sample.announced });
  });

  test('an organization is shown with its history, and forgotten', async () => {
    expect((await ask('get', '/api/organizations/4712')).body.history).toHaveLength(1);
    expect((await ask('delete', '/api/organizations/4712')).body).toEqual({
      id: '4712',
      state: 'forgotten',
      discarded: 3,
      ended: false,
      seenBy: ['c2'],
      revoked: [{ connection: 'c1', atProvider: true, subscriptions: ['s1', 's2'] }],
    });
    expect(sample.forgotten).toEqual(['4712']);
    expect((await ask('delete', '/api/organizations/4799')).status).toBe(404);
  });

  test('probes and metrics answer', async () => {
    expect((await ask('get', '/healthz')).body).toEqual({ status: 'live' });
    expect((await ask('get', '/readyz')).status).toBe(200);
    ready = { status: 'not-ready', reason: 'draining' };
    expect((await ask('get', '/readyz')).status).toBe(503);
    const metrics = await ask('get', '/metrics');
    expect(metrics.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(metrics.text).toBe('# nothing\n');
  });

  test('the index names every route', async () => {
    const { text } = await ask('get', '/');
    for (const { path } of apiRoutes) expect(text).toContain(path.replace(':id', '{id}'));
  });

  test('organizations are paged by id', async () => {
    expect((await ask('get', '/api/organizations')).body).toEqual(organizations);
    expect((await ask('get', '/api/organizations?limit=1&after=4711')).body).toEqual([organizations[1]]);
    expect((await ask('get', '/api/organizations/4712')).body).toMatchObject(organizations[1]!);
    expect((await ask('post', '/api/organizations/4712/probe')).body).toMatchObject(organizations[1]!);
    for (const address of ['/api/organizations/none', '/api/organizations/none%2F..%2Fx']) {
      expect((await ask('get', address)).status).toBe(404);
    }
    expect((await ask('post', '/api/organizations/none/probe')).status).toBe(404);
  });

  test('tasks are listed by state', async () => {
    expect((await ask('get', '/api/tasks')).body).toHaveLength(1);
    expect((await ask('get', '/api/tasks?state=due')).body).toEqual([]);
    expect((await ask('get', '/api/tasks?state=parked&after=1')).body).toEqual([]);
  });

  test('quarantine is listed, shown, released and discarded', async () => {
    expect((await ask('get', '/api/quarantine?after=q1')).body).toHaveLength(1);
    expect((await ask('get', '/api/quarantine/q1')).body).toMatchObject({
      id: 'q1',
      reason: 'malformed-notification',
    });
    expect((await ask('post', '/api/quarantine/q1/release')).body).toEqual({ id: 'q1', state: 'released' });
    expect((await ask('post', '/api/quarantine/q1/release')).status).toBe(404);
    const refused = await ask('post', '/api/quarantine/q2/release');
    expect([refused.status, refused.body.code]).toEqual([409, 'operations.refused']);
    expect((await ask('post', '/api/quarantine/q2/discard')).body).toEqual({ id: 'q2', state: 'discarded' });
    expect((await ask('get', '/api/quarantine/q9')).status).toBe(404);
    expect((await ask('post', '/api/quarantine/q9/discard')).status).toBe(404);
  });

  test('several entries are decided at once, each on its own, and what is none is refused before', async () => {
    const several = await ask('post', '/api/quarantine/release?entries=q2,q1,q9');
    expect(several.body).toEqual([
      { id: 'q2', state: 'refused' },
      { id: 'q1', state: 'released' },
      { id: 'q9', state: 'not-found' },
    ]);
    expect(released).toBe(1);
    const discarded = await ask('post', '/api/quarantine/discard?entries=q2');
    expect(discarded.body).toEqual([{ id: 'q2', state: 'discarded' }]);
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `q${index}`).join();
    expect((await ask('post', `/api/quarantine/discard?entries=${ids(500)}`)).body).toHaveLength(500);
    for (const search of ['', '?entries=', '?entries=q1,', '?entries=1', `?entries=${ids(501)}`])
      expect((await ask('post', `/api/quarantine/release${search}`)).status).toBe(400);
  });

  test('a notification is released as what its kept bytes say now, and wakes the work', async () => {
    sample.entries = ['{"eventTypeId":"heartbeat"}', '{"bad":1}', 'cut {', null].map((raw, index) => ({
      ...sample.entries[0]!,
      id: `q${index + 5}`,
      raw,
    }));
    expect((await ask('post', '/api/quarantine/q5/release')).body).toEqual({ id: 'q5', state: 'released' });
    expect(released).toBe(1);
    for (const id of ['q6', 'q7', 'q8']) {
      expect((await ask('post', `/api/quarantine/${id}/release`)).status).toBe(409);
    }
    expect((await ask('post', '/api/quarantine/q5/release')).status).toBe(404);
    expect(released).toBe(1);
  });

  test('events come in order after a position, by type and by organization', async () => {
    const all = (await ask('get', '/api/events?after=0')).body as never as {
      position: number;
      reconciled?: boolean;
    }[];
    expect(all.map(({ position }) => position)).toEqual([1, 2, 3]);
    expect(all.map(({ reconciled }) => reconciled)).toEqual([undefined, true, undefined]);
    expect((await ask('get', '/api/events?organization=4712')).body).toHaveLength(1);
    expect((await ask('get', '/api/events?type=io.tramline.equipment.deleted.v1')).body).toEqual([]);
    expect((await ask('get', '/api/events?after=2&limit=1')).body).toHaveLength(1);
  });

  test('an event that cannot be read back is told with its place and why, among the others', async () => {
    Object.assign(sample.events[1]!, { damaged: 'The record cannot be read back: it is cut.' });
    const [first, second, third] = (await ask('get', '/api/events')).body as never as unknown[];
    expect(second).toEqual({
      specversion: '1.0',
      id: sample.events[1]!.record.eventId,
      type: 'io.tramline.damaged',
      subject: '4711/equipment/2',
      position: 2,
      topic: 'tramline.equipment.v1',
      partition: 3,
      offset: '17',
      data: null,
      damaged: 'The record cannot be read back: it is cut.',
    });
    expect([first, third]).toMatchObject([{ position: 1 }, { position: 3 }]);
  });

  test('a position above the last is of another log: an error that names where this one ends', async () => {
    const ahead = await ask('get', '/api/events?after=4&kept=true');
    expect([ahead.status, ahead.body.code]).toEqual([410, 'operations.expired']);
    expect(ahead.body.detail).toContain('--after 3');
    expect((await ask('get', '/api/events?after=3')).body).toEqual([]);
  });

  test('a position below the oldest event that is kept is an error that names it', async () => {
    sample.floor = 2;
    const expired = await ask('get', '/api/events?after=1');
    expect([expired.status, expired.body.code]).toEqual([410, 'operations.expired']);
    expect(expired.body.detail).toContain('--after 2');
    expect((await ask('get', '/api/events?after=2')).body).toHaveLength(1);
    expect((await ask('get', '/api/events')).body).toHaveLength(3);
    expect((await ask('get', '/api/events?after=1&kept=true')).body).toHaveLength(2);
  });

  test('alerts, journeys, the ledger, checks and settings are told', async () => {
    expect((await ask('post', '/api/alerts/test')).body).toEqual([
      { sink: 'slack', outcome: 'accepted', status: 200, detail: 'fine' },
    ]);
    expect((await ask('get', '/api/alerts')).body).toMatchObject([
      { state: 'firing', since: '2025-03-01T10:00:00.000Z' },
    ]);
    expect((await ask('get', '/api/explain?of=d1')).body).toMatchObject({ what: 'delivery' });
    expect((await ask('get', '/api/explain?of=d2')).status).toBe(404);
    expect((await ask('get', '/api/explain')).status).toBe(400);
    expect((await ask('get', '/api/ledger')).body).toMatchObject({ accepted: 9, published: 5, lost: 0 });
    expect((await ask('get', '/api/check')).body).toHaveLength(7);
    expect((await ask('get', '/api/config')).body).toMatchObject({
      OPERATIONS_TOKEN: { value: 'set', from: 'file' },
    });
  });

  test.each([
    '/api/organizations?limit=0',
    '/api/organizations?limit=1001',
    '/api/organizations?limit=1e2',
    '/api/organizations?limit=',
    '/api/organizations?limit=1&limit=2',
    '/api/organizations?unknown=1',
    '/api/organizations?__proto__=1',
    '/api/organizations?constructor=1',
    '/api/organizations/4711?x=1',
    '/api/tasks?state=other',
    '/api/tasks?after=-1',
    '/api/tasks?after=99999999999999999',
    '/api/events?after=9007199254740993',
    '/api/events?type=',
    '/api/events?type=%00',
    `/api/explain?of=${'x'.repeat(8193)}`,
    '/api/explain?of=%0a',
    '/api/ledger?limit=1',
    '/api/organizations/%',
    '/api/organizations/%ff',
  ])('%s is refused as malformed', async (address) => {
    const answer = await ask('get', address);
    expect(answer.status).toBe(400);
    expect(faults).toEqual([]);
  });

  test('a wrong method, and what is not there, are refused by name', async () => {
    const wrong = await ask('delete', '/api/tasks');
    expect([wrong.status, wrong.headers.allow]).toEqual([405, 'GET, HEAD']);
    expect((await ask('get', '/api/organizations/1/probe')).headers.allow).toBe('POST');
    expect((await ask('put', '/healthz')).status).toBe(405);
    for (const address of ['/api/nothing', '/nothing', '/api/tasks/', '/API/tasks']) {
      expect((await ask('get', address)).status).toBe(404);
    }
    expect((await ask('get', `/api/quarantine/${'9'.repeat(201)}`)).status).toBe(404);
  });

  test('a store that does not answer is 503, and a fault of ours 500, and neither tells a secret', async () => {
    sample.failure = new Problem('store.unavailable', 'canary path');
    const unavailable = await ask('get', '/api/ledger');
    expect([unavailable.status, faults.length]).toEqual([503, 0]);
    // Whoever is told no more than that has to know what is away, and what says more.
    expect(unavailable.body.title).toMatch(/^The store .*`tramline check`/);
    sample.failure = new TypeError('canary');
    const fault = await ask('get', '/api/ledger', {}, false);
    expect([fault.status, faults.length]).toEqual([500, 1]);
    expect(unavailable.text + fault.text).not.toContain('canary');
  });

  test.each([
    ['publish.unavailable', '', 503, '5'],
    ['publish.unavailable', '&dryRun=true', 503, '5'],
    ['publish.refused', '', 502, undefined],
  ] as const)(
    'history whose Kafka says %s is no fault of ours%s: %s, with the reason',
    async (code, more, status, seconds) => {
      unfit = new Problem(code, 'Kafka cannot be used: no answer');
      const told = await ask('post', `/api/replay?kind=equipment&toTopic=audit${more}`);
      expect([told.status, told.body.detail, told.headers['retry-after'], faults]).toEqual([
        status,
        'Kafka cannot be used: no answer',
        seconds,
        [],
      ]);
    },
  );

  test('a replay is told as described, when it is asked for and while it runs', async () => {
    unfit = null;
    const begun = await ask('post', '/api/replay?kind=equipment&toTopic=audit');
    const shown = await ask('get', '/api/replay');
    expect([begun.body.toTopic, shown.status, shown.body.waiting]).toEqual(['audit', 200, 0]);
  });

  test('a process that stops says so, and where to ask again, and nothing of the store', async () => {
    sample.failure = new Problem('store.closed', 'the process stops');
    const { status, body } = await ask('get', '/api/ledger');
    expect([status, body.code, faults.length]).toEqual([503, 'operations.stopping', 0]);
    expect(body.title).toMatch(/^The process at this address is stopping: ask .*TRAMLINE_URL/);
  });

  test.each([
    { Host: 'tramline.evil.example' },
    { Host: 'localhost.evil.example:9464' },
    { 'X-Forwarded-For': '10.0.0.1' },
    { Forwarded: 'for=10.0.0.1' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { 'Sec-Fetch-Site': 'cross-site' },
  ])('a request with %j is not from an operator of this machine', async (headers) => {
    for (const address of ['/api/ledger', '/api/nothing']) {
      const answer = await ask('get', address, headers as Record<string, string>);
      expect([answer.status, answer.body.code]).toEqual([403, 'operations.forbidden']);
    }
    expect((await ask('get', '/healthz', headers as Record<string, string>)).status).toBe(200);
  });

  test.each(['127.0.0.1:9464', 'localhost', '[::1]:1'])('the host %s is this machine', async (host) => {
    expect((await ask('get', '/api/ledger', { Host: host })).status).toBe(200);
  });
});

describe('with a token', () => {
  beforeEach(() => void open(new Secret('canary-token')));

  test('only who sends it is answered, and from anywhere', async () => {
    const right = { Authorization: 'Bearer canary-token', Host: 'tramline.example' };
    expect((await ask('get', '/api/ledger', right)).status).toBe(200);
    for (const given of ['Bearer canary-toke', 'Bearer', 'Basic canary-token', 'canary-token', '']) {
      const answer = await ask('get', '/api/ledger', given === '' ? {} : { Authorization: given });
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
      expect(answer.text).not.toContain('canary');
    }
    expect((await ask('delete', '/api/ledger')).status).toBe(401);
    expect((await ask('get', '/api/nothing')).status).toBe(401);
  });

  test('probes and metrics need none', async () => {
    for (const address of ['/healthz', '/readyz', '/metrics', '/'])
      expect((await ask('get', address)).status).toBe(200);
  });
});

describe('as a listener', () => {
  /** Sends bytes and gives what comes back until the connection ends. */
  function send(port: number, text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let received = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      socket.on('data', (part) => {
        received += part.toString();
      });
      socket.on('close', () => resolve(received));
      socket.on('error', reject);
    });
  }

  test('a thousand sockets that ask nothing keep no probe out', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    const silent = Array.from({ length: 1000 }, () => connect(port, '127.0.0.1'));
    for (const socket of silent) socket.on('error', () => {});
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    const answer = await send(port, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    for (const socket of silent) socket.destroy();
    await server.close(1000);
  });

  test('a journey is asked for by an address as long as what is kept of a notification', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    const asked: string[] = [];
    sample.store.explain = async (of) => {
      asked.push(of);
      return null;
    };
    const addresses = ['x'.repeat(8192), 'é'.repeat(4096)];
    const answers: string[] = [];
    for (const address of addresses) {
      const head = `GET /api/explain?of=${encodeURIComponent(address)} HTTP/1.1\r\nHost: localhost\r\nConnection: close`;
      answers.push((await send(port, `${head}\r\n\r\n`)).slice(0, 12));
    }
    await server.close(100);
    expect(answers).toEqual(addresses.map(() => 'HTTP/1.1 404'));
    expect(asked).toEqual(addresses);
  });

  test('what is not HTTP gets a problem document and the end of the connection', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    expect(await send(port, 'HELLO\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*"operations\.bad-request"/);
    const large = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`;
    expect(await send(port, large)).toMatch(/^HTTP\/1\.1 431 [\s\S]*"operations\.headers-too-large"/);
    await server.close(100);
  });

  test.each([
    ['GET / HTTP/1.1\r\nHost: localhost\r\nExpect: cake\r\n\r\n', 417, 'expectation'],
    ['GET / HTTP/1.1\r\n\r\n', 400, 'bad-request'],
    ['CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405, 'method'],
  ])('what Node would answer by itself is answered as all else: %j', async (text, status, code) => {
    const { port } = await open().listen('127.0.0.1', 0);
    const answer = await send(port, text);
    expect(answer.match(/^HTTP\//gm)).toHaveLength(1);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*"code":"operations\\.${code}"}$`));
    expect(answer).toMatch(/^Connection: close\r$/m);
    await server.close(100);
  });

  test.each(['BREW\r\n\r\n', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'])(
    'behind a question without an answer yet, %j gets none: it would be taken for that one',
    async (broken) => {
      const { port } = await open().listen('127.0.0.1', 0);
      sample.store.ledger = () => new Promise(() => {});
      const question = 'GET /api/ledger HTTP/1.1\r\nHost: localhost\r\n\r\n';
      expect(await send(port, question + broken)).toBe('');
      await server.close(10);
    },
  );

  test('a body is not read, and ends the connection', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    const text = 'POST /api/quarantine/q1/discard HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}';
    expect(await send(port, text)).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close/i);
    await server.close(100);
  });

  test('while draining, probes are answered on connections that close', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    server.drain();
    ready = { status: 'not-ready', reason: 'draining' };
    const answer = await send(port, 'GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 503 [\s\S]*Connection: close/i);
    await Promise.all([server.close(100), server.close(100)]);
    await expect(send(port, 'x')).rejects.toThrow('ECONNREFUSED');
  });

  test('an answer that hangs does not outlive the grace of closing', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    sample.store.ledger = () => new Promise(() => {});
    const hanging = send(port, 'GET /api/ledger HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await request(`http://127.0.0.1:${port}`).get('/healthz');
    expect(await server.close(50)).toBe(false);
    expect(await hanging).toBe('');
  });

  test('a probe that closes its side behind its question is answered', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    const held = Promise.withResolvers<void>();
    const { ledger } = sample.store;
    sample.store.ledger = () => held.promise.then(ledger);
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.end('GET /api/ledger HTTP/1.0\r\nHost: localhost\r\n\r\n');
    await send(port, 'GET /healthz HTTP/1.0\r\n\r\n');
    held.resolve();
    await once(socket, 'end');
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(await server.close(50)).toBe(true);
  });

  test('nobody is cut off who asked nothing, or has gone before the end', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    sample.store.ledger = () => new Promise(() => {});
    const [silent, gone, reset] = [0, 1, 2].map(() => connect(port, '127.0.0.1')) as [Socket, Socket, Socket];
    await Promise.all([silent, gone, reset].map((socket) => once(socket, 'connect')));
    for (const asker of [gone, reset]) asker.write('GET /api/ledger HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await send(port, 'GET /healthz HTTP/1.0\r\n\r\n');
    gone.destroy();
    reset.resetAndDestroy();
    await send(port, 'GET /healthz HTTP/1.0\r\n\r\n');
    expect(await server.close(50)).toBe(true);
  });

  test('what somebody began who has gone before the end is cut off all the same', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    sample.forget = () => new Promise(() => {}) as never;
    const gone = connect(port, '127.0.0.1');
    await once(gone, 'connect');
    gone.write('DELETE /api/organizations/4711 HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await send(port, 'GET /healthz HTTP/1.0\r\n\r\n');
    gone.destroy();
    await send(port, 'GET /healthz HTTP/1.0\r\n\r\n');
    expect(await server.close(50)).toBe(false);
  });

  test('a port that is taken is an error of the system', async () => {
    const { port } = await open().listen('127.0.0.1', 0);
    const first = server;
    await expect(open().listen('127.0.0.1', port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await first.close(10);
  });
});
