// A command asks whatever listens at TRAMLINE_URL: it may want a token, be another program, or be broken. Each is told
// apart, nothing hangs, and the token goes nowhere else.
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeClient, mayComeBack, NobodyListens } from '../../../src/commands/client';
import { serviceUrl } from '../../../src/commands/context';
import { loadSettings } from '../../../src/config';
import { Problem } from '../../../src/model/problem';
import type { OperationsServer } from '../../../src/operations/server';
import { Secret } from '../../../src/tools/secret';
import { makeSelfSigned } from '../../support/certificates';
import { freePort } from '../../support/free-port';
import { makeShell, type Shell, serveFor } from './shell';

describe('a service with a token', () => {
  let shell: Shell;
  let server: OperationsServer;
  beforeEach(async () => {
    shell = makeShell();
    server = await serveFor(shell, 'canary');
  });
  afterEach(() => server.close(10));

  test('answers who has it', async () => {
    shell.environment.OPERATIONS_TOKEN = 'canary';
    expect((await shell.json('ledger')).code).toBe(0);
  });

  test.each([undefined, 'wrong'])('ends a command that has %s with 2, naming the setting', async (token) => {
    shell.environment.OPERATIONS_TOKEN = token;
    const { code, error } = await shell.run('ledger');
    expect([code, error]).toEqual([2, expect.stringMatching(/^OPERATIONS_TOKEN must be /)]);
    expect(shell.opened).toBe(0);
  });
});

describe('what is no answer of ours', () => {
  const commands = [
    'organizations list',
    'organizations get 1',
    'organizations probe 1',
    'organizations forget 1 --yes',
    'connections list',
    'connections revoke 1',
    'connect',
    'connect --oob',
    'subscriptions list',
    'subscriptions create --event-type e',
    'subscriptions renew 1',
    'subscriptions end 1',
    'delivery get',
    'delivery set --status paused',
    'equipment list',
    'equipment get 1',
    'equipment create --organization 1 --category machine --name n',
    'equipment update 1 --name n',
    'makes',
    'types',
    'models',
    'field-operations list',
    'field-operations get 1',
    'field-operations measurements 1',
    'files list',
    'files get 1',
    `files get 1 --output ${join(tmpdir(), 'of-no-answer')}`,
    'sync',
    'replay --kind equipment',
    'events',
    'parked',
    'quarantine list',
    'quarantine show 1',
    'quarantine release 1',
    'quarantine discard 1',
    'quarantine release q1 q2',
    'quarantine discard --all --yes',
    'explain 1',
    'alerts',
    'alerts test',
    'ledger',
    'check',
  ];
  const answers: [what: string, type: string, body: string, brought: string][] = [
    ['a page', 'text/html', '<!doctype html>\n<p>Hello</p>\n', '(text/html)'],
    ['nothing', 'text/plain', '', '(text/plain)'],
    ['an array of others', 'application/json', '[{"name":"theirs"}, null]\n', ''],
    ['an object of others', 'application/json', '{"status":"ok"}\n', ''],
    ['a number', 'application/json', '17\n', ''],
    ['null in lines', 'application/x-ndjson', 'null\n', ''],
    ['an item of others in lines', 'application/x-ndjson', '{"item":{"name":"theirs"}}\n', ''],
  ];

  test.each(answers)('but %s ends every command with 1, a sentence and the address', async (...given) => {
    const [what, type, body, brought] = given;
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': type }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const shell = makeShell();
    shell.environment = { TRAMLINE_URL: address };
    const ended = [];
    for (const command of commands) {
      // These are as the provider says them: any array, any object.
      if (what === 'an array of others' && command.includes('measurements')) continue;
      if (what === 'an object of others' && command.startsWith('delivery')) continue;
      ended.push([command, await shell.run(...command.split(' '))]);
    }
    server.closeAllConnections();
    server.close();
    const told = `the service at ${address} answered 200 and is not Tramline, or another version of it: /api/`;
    expect(ended).toEqual(
      ended.map(([command]) => [
        command,
        { code: 1, out: expect.any(String), error: expect.stringContaining(`tramline: ${told}`) },
      ]),
    );
    expect(JSON.stringify(ended)).toContain(brought);
    expect(shell.opened).toBe(0);
  });
});

describe('a service of the version before', () => {
  /** A replay as it was told before its answer said more. */
  const former = {
    state: 'ended',
    how: 'newest',
    toTopic: null,
    dryRun: false,
    resumed: false,
    selected: 4,
    keys: 2,
    replayed: 2,
    calls: 0,
    callsLeft: null,
    tookMs: 1500,
    reason: null,
  };
  let server: Server;
  const answering = async (answers: Record<string, unknown>) => {
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url!, 'http://localhost');
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers[pathname]));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const shell = makeShell();
    shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    return shell;
  };
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  test('is understood by a replay, though it does not say what came to the answer since', async () => {
    const shell = await answering({ '/api/replay': former });
    expect(await shell.run('replay', '--kind', 'equipment')).toEqual({
      code: 0,
      out: expect.stringContaining('4 events selected, 2 keys: 2 records sent again, 1.5 s'),
      error: '',
    });
    const { value } = await shell.json<Record<string, unknown>>('replay', '--kind', 'equipment');
    expect(value).toMatchObject({ ...former, refused: [], unknown: [], waiting: 0, startedAt: null });
  });

  test('is understood by a replay where it names none of what was refused', async () => {
    const refused = [{ reason: 'record-too-large', records: 3 }];
    const shell = await answering({ '/api/replay': { ...former, refused } });
    const { code, error } = await shell.run('replay', '--kind', 'equipment');
    expect([code, error]).toEqual([1, expect.stringContaining('3 refused: record-too-large; ')]);
  });

  test('lists organizations without saying whether they were ever seen', async () => {
    const { seen: _seen, ...organization } = (await makeShell().api.organization('4711'))!;
    const shell = await answering({ '/api/organizations': [organization] });
    const { code, value } = await shell.json('organizations', 'list');
    expect([code, value]).toEqual([0, [{ ...organization, seen: true }]]);
  });

  test('is said to have done what it was told to where its answer is not understood', async () => {
    const { keys: _keys, ...strange } = former;
    const shell = await answering({ '/api/replay': strange, '/api/ledger': {} });
    expect(await shell.run('replay', '--kind', 'equipment')).toMatchObject({
      code: 1,
      error: expect.stringMatching(
        /\(\/keys: .*\); another version has carried out what it was asked for, or is at it: look before you ask for it again\n$/,
      ),
    });
    const looked = await shell.run('ledger');
    expect(looked.error).toContain('brought JSON that is not ours');
    expect(looked.error).not.toContain('carried out');
  });
});

describe('another program', () => {
  let server: Server;
  const listen = async (listener: RequestListener, timeoutMs = 10_000) => {
    server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return makeClient({ url, token: new Secret('canary'), timeoutMs });
  };
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  test('is told from Tramline by its answers', async () => {
    const page = await listen((_request, response) => response.end('<html>'));
    await expect(page.ledger()).rejects.toMatchObject({
      message: expect.stringContaining('200 and is not Tramline'),
    });
    server.close();
    const lost = await listen((_request, response) => response.writeHead(404).end('{"error":"x"}'));
    await expect(lost.explain('x')).rejects.toMatchObject({
      code: 'store.unavailable',
      message: expect.stringMatching(/answered 404 and is not Tramline; TRAMLINE_URL must name the service$/),
    });
  });

  test('that is our own public listener is said to be the wrong one', async () => {
    const problem = JSON.stringify({ title: 'Not found', status: 404, code: 'webhook.not-found' });
    const client = await listen((_request, response) => response.writeHead(404).end(problem));
    await expect(client.ledger()).rejects.toMatchObject({
      code: 'settings.invalid',
      message: expect.stringMatching(/^TRAMLINE_URL must name the operations listener: .* takes deliveries$/),
    });
  });

  test('that leads elsewhere does not get the token there', async () => {
    const seen: unknown[] = [];
    const client = await listen((request, response) => {
      seen.push(request.url);
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    await expect(client.ledger()).rejects.toMatchObject({
      code: 'store.unavailable',
      message: expect.stringMatching(/leads elsewhere, which is not followed; TRAMLINE_URL must name/),
    });
    expect(seen).toEqual(['/api/ledger']);
  });

  test('that does not answer is given up', async () => {
    const client = await listen(() => {}, 100);
    await expect(client.ledger()).rejects.toThrow(/no answer in time/);
  });

  test('that begins an answer and does not end it is given up', async () => {
    const client = await listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    }, 100);
    await expect(client.ledger()).rejects.toThrow(/no answer in time/);
  });

  test('that breaks its answer off is told as such', async () => {
    const client = await listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{', () => response.destroy());
    });
    await expect(client.ledger()).rejects.toThrow(/cannot be reached: ECONNRESET; TRAMLINE_URL must name/);
  });

  test('that goes over to another protocol, which nobody asked for, is told as such', async () => {
    const client = await listen((request) => {
      request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n');
    });
    await expect(client.ledger()).rejects.toThrow(/cannot be reached: its answer is broken; TRAMLINE_URL/);
  });

  test('that hangs up is told as such', async () => {
    const client = await listen((request) => request.socket.destroy());
    await expect(client.ledger()).rejects.toThrow(
      /cannot be reached: .+; TRAMLINE_URL must name the service$/,
    );
  });

  test('that says a code of ours without words is told by its status', async () => {
    const client = await listen((_request, response) => {
      response.writeHead(500, { 'content-type': 'application/problem+json' });
      response.end('{"code":"operations.fault"}');
    });
    await expect(client.ledger()).rejects.toThrow(/answered 500 operations.fault/);
  });
});

test('a service that is stopping is told as such, and is one that may come back', async () => {
  const shell = makeShell();
  const server = await serveFor(shell);
  shell.api.startReplay = () => Promise.reject(new Problem('store.closed', 'the process stops'));
  const { code, error } = await shell.run('replay', '--kind', 'equipment');
  expect([code, error]).toEqual([1, expect.stringContaining('is stopping')]);
  expect(error).not.toMatch(/store|check/);
  const wantedReplay = {
    events: null,
    organizationId: null,
    toTopic: null,
    kind: 'equipment',
    how: 'newest',
    dryRun: false,
  } as const;
  const client = makeClient({ url: shell.environment.TRAMLINE_URL!, token: null });
  const given = client.startReplay(wantedReplay).catch((reason: unknown) => reason);
  expect(mayComeBack(await given)).toBe(true);
  await server.close(10);
});

test('an id with signs of its own stays one part of the path', async () => {
  const shell = makeShell();
  const server = await serveFor(shell);
  expect((await shell.run('organizations', 'get', '../ledger')).code).toBe(3);
  expect((await shell.run('organizations', 'get', 'a?b#c%')).code).toBe(3);
  await server.close(10);
});

test('a service whose certificate nobody here trusts is not spoken to, and why is told', async () => {
  const asked: unknown[] = [];
  const certificate = makeSelfSigned({ names: ['localhost'] });
  const server = createSecureServer(certificate, (request) => asked.push(request.url));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  await expect(makeClient({ url, token: new Secret('canary') }).ledger()).rejects.toThrow(
    `the service at ${url} cannot be reached: DEPTH_ZERO_SELF_SIGNED_CERT; TRAMLINE_URL must name`,
  );
  expect(asked).toEqual([]);
  server.close();
});

test('a service at a port that browsers do not ask is asked as any other', async () => {
  const server = createServer((_request, response) => response.end('[]'));
  for (const port of [6665, 6666, 6667, 6668, 6669]) {
    const listening = new Promise((resolve) => server.once('listening', resolve).once('error', resolve));
    server.listen(port, '127.0.0.1');
    if ((await listening) === undefined) break;
  }
  const { port } = server.address() as AddressInfo;
  const asked = makeClient({ url: `http://127.0.0.1:${port}`, token: null }).ledger();
  await expect(asked).rejects.toMatchObject({
    message: expect.stringContaining('answered 200 and is not Tramline'),
  });
  server.close();
});

test('nobody at all is an error of its own', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  await expect(makeClient({ url, token: null }).ledger()).rejects.toBeInstanceOf(NobodyListens);
});

test('where another machine does not answer, no store of this one is opened instead', async () => {
  const shell = makeShell();
  shell.environment = { TRAMLINE_URL: 'http://192.0.2.1:9464' };
  const { code } = await shell.run('ledger');
  expect([code, shell.opened]).toEqual([1, 0]);
});

test('a store that another command has for a moment is waited for, at most 5 s', async () => {
  const shell = makeShell();
  shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${await freePort()}` };
  shell.refused = new Problem('store.locked', 't.db is in use by another process');
  const { wait } = shell.clock;
  let leftMs = 4000;
  shell.clock.wait = async (ms) => {
    await wait(ms);
    leftMs -= ms;
    if (leftMs <= 0) shell.refused = null;
  };
  expect(await shell.run('ledger')).toMatchObject({ code: 0 });
  expect([shell.opened, shell.closed]).toEqual([1, 1]);
  leftMs = 60_000;
  shell.refused = new Problem('store.locked', 't.db is in use by another process');
  const beganMs = shell.clock.steadyMs();
  expect(await shell.run('ledger')).toMatchObject({ code: 2 });
  expect(shell.clock.steadyMs() - beganMs).toBe(5000);
});

test('where nobody listens and yet somebody has the store, it is said that a service may be starting', async () => {
  const shell = makeShell();
  shell.environment = { TRAMLINE_URL: `http://127.0.0.1:${await freePort()}` };
  shell.refused = new Problem('store.locked', 't.db is in use by another process');
  for (const words of [['ledger'], ['sync'], ['check']]) {
    const { code, error } = await shell.run(...words);
    expect(code).toBe(2);
    expect(error).toMatch(
      /in use by another process; one that is still starting answers there in a moment\n$/,
    );
  }
});

test.each([
  [{}, 'http://127.0.0.1:9464'],
  [{ OPERATIONS_PORT: '9500' }, 'http://127.0.0.1:9500'],
  [{ OPERATIONS_PORT: '0' }, 'http://127.0.0.1:9464'],
  [{ OPERATIONS_HOST: '0.0.0.0' }, 'http://127.0.0.1:9464'],
  [{ OPERATIONS_HOST: '::', OPERATIONS_PORT: '1' }, 'http://[::1]:1'],
  [{ OPERATIONS_PORT: '9500', TRAMLINE_URL: 'https://tramline.example' }, 'https://tramline.example'],
])('with %j the service is looked for at %s', (environment, url) => {
  expect(serviceUrl(loadSettings('command', environment as Record<string, string>))).toBe(url);
});

test('which store answers instead of a service is said, and that it was not there before', async () => {
  const shell = makeShell();
  shell.environment = {
    TRAMLINE_URL: `http://127.0.0.1:${await freePort()}`,
    DATABASE_URL: 'sqlite:./no/store.db',
  };
  const path = join(process.cwd(), 'no/store.db');
  expect((await shell.run('ledger')).error).toMatch(new RegExp(`; using the store itself: ${path}\n$`));
  expect((await shell.run('sync')).error).toMatch(new RegExp(`: ${path}, which is made now\n`));
  expect((await shell.run('check')).error).toMatch(new RegExp(`: ${path}, which is not there\n$`));
});
