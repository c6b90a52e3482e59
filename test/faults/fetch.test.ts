// Goal: whatever a webhook or the provider's own answer says, credentials go to the configured origins only; whatever
// an answer looks like, it is told for what it is and nothing half-read is taken for a document.
// Method: a provider on a loopback literal that the test scripts, canaries on every other place that could be reached,
// real sockets throughout. Rows are named after their ids: S1–S4, S6–S9, F-1–F-7, F-12, F-13, F-20.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { gzipSync } from 'node:zlib';
import type { ProviderOptions } from '../../src/fetch/options';
import { Secret } from '../../src/tools/secret';
import { connectionOf, requestFor, type Staged, stageClient, startMs } from '../support/provider-client';

const json = { 'content-type': 'application/vnd.acme.axiom.v3+json;charset=UTF-8' };
const document = JSON.stringify({ id: 'op-1', orgId: 4711, links: [], measurementTypes: [] });

let servers: (Server | TcpServer)[] = [];
let sockets: Socket[] = [];
let script: RequestListener;
let asked: { path: string; authorization: string | undefined }[];
let staged: Staged;
let base: string;

/** Connections that reached a canary. */
let touched: string[];

async function listen(server: Server | TcpServer, host: string, port = 0): Promise<number> {
  server.on('connection', (socket: Socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

async function canary(host: string, port = 0): Promise<number> {
  return listen(
    createTcpServer(() => touched.push(host)),
    host,
    port,
  );
}

function stage(more: Partial<ProviderOptions> = {}, connections = [connectionOf()]): Staged {
  return stageClient(
    { catalogUrl: `${base}/platform/`, equipmentUrl: `${base}/isg`, timeoutMs: 20_000, ...more },
    connections,
  );
}

beforeEach(async () => {
  servers = [];
  sockets = [];
  touched = [];
  asked = [];
  script = (_request, response) => response.writeHead(200, json).end(document);
  const provider = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked.push({ path: request.url ?? '', authorization: request.headers.authorization });
    if (request.url !== '/platform/') return script(request, response);
    const links = ['organizations', 'files'].map((rel) => ({ rel, uri: `${base}/platform/${rel}` }));
    response.writeHead(200, json).end(JSON.stringify({ links }));
  });
  base = `http://127.0.0.1:${await listen(provider, '127.0.0.1')}`;
  staged = stage();
});

afterEach(async () => {
  staged.client.close();
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});

const read = (path = '/platform/fieldOperations/op-1', more = {}) =>
  staged.client.read(requestFor(path.includes(':') ? path : `${base}${path}`, more));

describe('S1–S3, S8, S9: an address that is not the provider’s', () => {
  /** Every way to name this machine or the canaries, by row. */
  function addresses(port: number): [row: string, address: string][] {
    const own = base.slice('http://'.length);
    const ownPort = own.split(':')[1];
    return [
      ['S1', `http://localhost:${port}/a`],
      ['S1', `http://127.0.0.1.evil.test:${port}/a`],
      ['S1', `http://${own}@127.0.0.1:${port}/a`],
      ['S1', `http://127.0.0.1:${port}\\@${own}/a`],
      ['S1', `http://127.0.0.1:${port}#@${own}/a`],
      ['S1', `http://127%2e0.0.1:${ownPort}/a`],
      ['S1', `http://127。0。0。1:${ownPort}/a`],
      ['S1', `http://127.0.0.1.:${ownPort}/a`],
      ['S2', `https://${own}/a`],
      ['S2', `http://127.0.0.1:${port}/a`],
      ['S2', 'http://127.0.0.1:0/a'],
      ['S2', 'file:///etc/passwd'],
      ['S2', 'data:application/json,{}'],
      ['S2', `gopher://${own}/a`],
      ['S2', 'javascript:fetch()'],
      ['S2', `//${own}/a`],
      ['S2', '/platform/fieldOperations/op-1'],
      ['S2', `http:${own}/a`],
      ['S3', `http://2130706433:${port}/a`],
      ['S3', `http://2130706433:${ownPort}/a`],
      ['S3', `http://0x7f.1:${ownPort}/a`],
      ['S3', `http://017700000001:${ownPort}/a`],
      ['S3', `http://127.1:${ownPort}/a`],
      ['S3', `http://[::1]:${port}/a`],
      ['S3', `http://[::ffff:127.0.0.1]:${ownPort}/a`],
      ['S3', `http://0:${ownPort}/a`],
      ['S3', `http://0.0.0.0:${ownPort}/a`],
      ['S3', `http://127.0.0.2:${ownPort}/a`],
      ['S3', `http://localhost.:${ownPort}/a`],
      ['S3', 'http://169.254.169.254/latest/meta-data'],
      ['S3', 'https://10.0.0.1/a'],
      ['S8', `${base}/platform/organizations/{orgId}`],
      ['S8', `${base}/platform/organizations{?page}`],
      ['S8', `${base}/platform/organizations/%7BorgId%7D`],
      ['S9', `${base}/platform/../admin`],
      ['S9', `${base}/platform/%2e%2e/admin`],
      ['S9', `${base}//evil.test/a`],
      ['S9', `${base}/platform/%2f..%2fadmin`],
    ];
  }

  test('is refused before anything is asked, and no canary is touched', async () => {
    const port = await canary('127.0.0.1');
    await canary('::1', port).catch(() => undefined);
    await canary('127.0.0.2', Number(base.split(':')[2])).catch(() => undefined);
    for (const [row, address] of addresses(port)) {
      const { answer, cost } = await staged.client.read(requestFor(address));
      const code = row === 'S8' ? 'address-template' : 'address-refused';
      expect({ row, address, answer }).toMatchObject({ answer: { kind: 'address-refused', code } });
      expect(cost.calls).toBe(0);
    }
    expect(asked).toEqual([]);
    expect(touched).toEqual([]);
    // The canary is awake: who does connect is seen.
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    await once(servers.at(1)!, 'connection');
    expect(touched).toEqual(['127.0.0.1']);
  });

  test('S9: an address that the catalog names for authorization is never read as a resource', async () => {
    const auth = { auth: 'oauth1', tokenSecret: new Secret('s') } as const;
    staged.client.close();
    staged = stage({}, [connectionOf(auth)]);
    servers[0]!.removeAllListeners('request');
    // Not where they are documented: those are refused before anything is asked.
    const rels = [
      ['oauthRequestToken', '/platform/signing/request_token'],
      ['oauthAccessToken', '/platform/signing/access_token'],
    ];
    servers[0]!.on('request', (request: IncomingMessage, response: ServerResponse) => {
      asked.push({ path: request.url ?? '', authorization: request.headers.authorization });
      const links = rels.map(([rel, path]) => ({ rel, uri: `${base}${path}` }));
      response.writeHead(200, json).end(JSON.stringify({ links }));
    });
    expect((await read('/platform/oauth/access_token')).answer).toMatchObject({ kind: 'address-refused' });
    expect(asked).toEqual([]);
    for (const path of ['/platform/signing/request_token', '/platform/signing/ACCESS_TOKEN/?a=b']) {
      expect((await read(path)).answer).toMatchObject({ kind: 'address-refused' });
    }
    expect(asked.map(({ path }) => path)).toEqual(['/platform/', '/platform/']);
  });
});

describe('S4: a redirect of the provider', () => {
  test.each([301, 302, 303, 307, 308])('%i is not followed, wherever it leads', async (status) => {
    const port = await canary('127.0.0.1');
    const places = [
      `http://127.0.0.1:${port}/a`,
      `http://localhost:${port}/a`,
      `https://127.0.0.1:${port}/a`,
      'file:///etc/passwd',
      `${base}/platform/elsewhere`,
      '/platform/fieldOperations/op-1',
    ];
    for (const location of places) {
      script = (_request, response) => response.writeHead(status, { location }).end();
      asked = [];
      expect((await read()).answer).toMatchObject({ kind: 'transient', code: 'redirected' });
      expect(asked.filter(({ path }) => path !== '/platform/')).toHaveLength(1);
    }
    expect(touched).toEqual([]);
  });
});

test('S6: links inside an answer pass the same gate', async () => {
  const port = await canary('127.0.0.1');
  const elsewhere = `http://127.0.0.1:${port}`;
  const item = {
    id: '4711',
    links: [
      { rel: 'self', uri: `${elsewhere}/4711` },
      { rel: 'fields', uri: `${elsewhere}/fields` },
    ],
  };
  script = (_request, response) =>
    response
      .writeHead(200, json)
      .end(JSON.stringify({ values: [item], links: [{ rel: 'nextPage', uri: `${elsewhere}/2` }] }));
  const pages = [];
  for await (const page of staged.client.organizations('c1')) pages.push(page);
  expect(pages.at(-1)).toMatchObject({ partial: true, reason: 'address-refused' });
  const due = {
    organizationId: '4711',
    epoch: 1,
    refusedAddress: `${elsewhere}/a`,
    knownAddress: null,
    connectionId: null,
  };
  await staged.client.probe(due);
  await staged.client.probe(due);
  expect(touched).toEqual([]);
});

test('S7: a delivery cannot choose whose token is sent', async () => {
  const ann = connectionOf();
  const bob = connectionOf({ connectionId: 'c2', user: 'bob', token: new Secret('token-of-bob') });
  staged.client.close();
  staged = stage({}, [ann, bob]);
  staged.sees.set('c2', new Set(['5']));
  await read(undefined, { hintedUser: 'ann', hintedOrganizationId: '5' });
  expect(asked.at(-1)).toMatchObject({ authorization: 'Bearer canary-token' });
  await read(undefined, { organizationId: '4711', hintedUser: 'bob', hintedOrganizationId: '5' });
  expect(asked.at(-1)).toMatchObject({ authorization: 'Bearer canary-token' });
  expect(asked.some(({ authorization }) => authorization?.includes('bob'))).toBe(false);
});

describe('F-1, F-2: a provider that is down or asks to wait', () => {
  test.each([500, 502, 503, 504])('%i is worth another attempt', async (status) => {
    script = (_request, response) =>
      response.writeHead(status, { 'content-type': 'text/html' }).end('<html>');
    expect((await read()).answer).toMatchObject({
      kind: 'transient',
      code: `status-${status}`,
      origin: base,
    });
  });

  test.each([
    ['seconds', '120', 120_000],
    ['a date', new Date(startMs + 45_000).toUTCString(), 45_000],
    ['a year', '31536000', 3_600_000],
    ['a date in a year', new Date(startMs + 31_536_000_000).toUTCString(), 3_600_000],
    ['nothing', undefined, 30_000],
  ])('429 with %s is obeyed, an hour at most', async (_what, value, retryAfterMs) => {
    script = (_request, response) => {
      response.sendDate = false;
      response.writeHead(429, value === undefined ? {} : { 'retry-after': value }).end();
    };
    expect((await read()).answer).toMatchObject({ kind: 'rate-limited', retryAfterMs });
  });
});

describe('F-3: one deadline over headers and body', () => {
  const timeoutMs = 250;
  beforeEach(() => {
    staged.client.close();
    staged = stage({ timeoutMs });
    // What passes is said by the test: only sockets take their own time.
    jest.useFakeTimers({
      doNotFake: [
        ...(['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask'] as const),
        ...(['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const),
      ],
    });
  });
  afterEach(() => jest.useRealTimers());

  /** Not a moment before its deadline, and then at once. */
  async function expectEndAtDeadline(reading: ReturnType<typeof read>, came: string) {
    let ended = false;
    void reading.then(() => {
      ended = true;
    });
    jest.advanceTimersByTime(timeoutMs - 1);
    await new Promise(setImmediate);
    expect(ended).toBe(false);
    jest.advanceTimersByTime(1);
    const detail = `${came}: deadline`;
    expect((await reading).answer).toMatchObject({ kind: 'transient', code: 'deadline', detail });
  }

  test('ends a read without headers', async () => {
    const asking = new Promise<void>((resolve) => {
      script = () => resolve();
    });
    const reading = read();
    await asking;
    await expectEndAtDeadline(reading, 'no answer');
  });

  test('ends a read whose body drips, and its connection', async () => {
    let timer: NodeJS.Timeout | undefined;
    let drips = 0;
    const closed = new Promise<void>((resolve) => {
      script = (_request, response) => {
        response.writeHead(200, json).write('{"id":"');
        timer = setInterval(() => {
          drips += 1;
          response.write('a');
        }, 20);
        response.once('close', resolve);
      };
    });
    const reading = read();
    while (drips < 3) await new Promise(setImmediate);
    await expectEndAtDeadline(reading, 'only a part of the answer came');
    await closed;
    clearInterval(timer);
  });

  test('is one for all calls of a read', async () => {
    let ended = false;
    const asking = new Promise<void>((resolve) => {
      script = (request, response) => {
        if (request.url?.includes('organizations')) return resolve();
        jest.advanceTimersByTime(150);
        response.writeHead(403, json).end('{}');
      };
    });
    const reading = read(undefined, { organizationId: '4711' }).finally(() => {
      ended = true;
    });
    await asking;
    jest.advanceTimersByTime(timeoutMs - 150 - 1);
    await new Promise(setImmediate);
    expect(ended).toBe(false);
    jest.advanceTimersByTime(1);
    const { answer, cost } = await reading;
    expect(answer).toMatchObject({ kind: 'transient', code: 'deadline' });
    expect(cost.calls).toBe(2);
  });

  test('covers the catalog that others wait for too', async () => {
    servers[0]!.removeAllListeners('request');
    const asking = new Promise<void>((resolve) => {
      servers[0]!.on('request', () => resolve());
    });
    const reading = [read(), read()];
    await asking;
    jest.advanceTimersByTime(timeoutMs);
    const answers = await Promise.all(reading);
    for (const { answer } of answers) expect(answer).toMatchObject({ kind: 'transient', code: 'deadline' });
    expect(sockets).toHaveLength(1);
  });
});

describe('F-4: a body that was cut', () => {
  test.each<[string, RequestListener, string]>([
    [
      'short of its length',
      (_request, response) => {
        response.writeHead(200, { ...json, 'content-length': document.length + 10 }).write(document);
        setImmediate(() => response.destroy());
      },
      'body-cut',
    ],
    [
      'in the middle of its chunks',
      (_request, response) => {
        response.writeHead(200, json).write(document);
        setImmediate(() => response.destroy());
      },
      'body-cut',
    ],
    [
      'where only the connection marks the end',
      (request) => {
        request.socket.end(
          `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n${document.slice(0, -5)}`,
        );
      },
      'invalid-json',
    ],
    [
      'inside gzip',
      (_request, response) => {
        const packed = gzipSync(document);
        response
          .writeHead(200, { ...json, 'content-encoding': 'gzip' })
          .end(packed.subarray(0, packed.length - 8));
      },
      'body-cut',
    ],
    [
      'to nothing inside gzip',
      (_request, response) => {
        response
          .writeHead(200, { ...json, 'content-encoding': 'gzip' })
          .end(gzipSync(document).subarray(0, 12));
      },
      'body-cut',
    ],
  ])('%s is no document', async (_what, listener, code) => {
    script = listener;
    expect((await read()).answer).toMatchObject({ kind: 'transient', code });
  });
});

describe('F-5: a body beyond its bounds', () => {
  test('is stopped by its length before it is read', async () => {
    script = (_request, response) =>
      response.writeHead(200, { ...json, 'content-length': 10_000_000 }).flushHeaders();
    expect((await read()).answer).toMatchObject({ kind: 'transient', code: 'body-too-large' });
  });

  test('is stopped while it streams without end, and its connection with it', async () => {
    let sent = 0;
    const closed = new Promise<void>((resolve) => {
      script = (_request, response) => {
        const chunk = Buffer.alloc(16_384, 0x20);
        response.writeHead(200, json);
        const pour = () => {
          while (!response.destroyed) {
            sent += chunk.length;
            if (!response.write(chunk)) break;
          }
        };
        response.on('drain', pour).once('close', resolve);
        pour();
      };
    });
    expect((await read()).answer).toMatchObject({ kind: 'transient', code: 'body-too-large' });
    await closed;
    expect(sent).toBeLessThan(50_000_000);
  });

  test('is stopped while it expands, with flat memory', async () => {
    const bomb = gzipSync(Buffer.alloc(90_000_000, 0x20), { level: 9 });
    expect(bomb.length).toBeLessThan(100_000);
    script = (_request, response) =>
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb);
    const before = process.memoryUsage().rss;
    expect((await read()).answer).toMatchObject({ kind: 'transient', code: 'body-too-large' });
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000);
  });

  test.each(['gzip, gzip', 'br', 'deflate'])('in encoding %s is not undone', async (encoding) => {
    script = (_request, response) =>
      response.writeHead(200, { ...json, 'content-encoding': encoding }).end(gzipSync(gzipSync(document)));
    expect((await read()).answer).toMatchObject({ kind: 'transient', code: 'encoding-refused' });
  });

  test('too deep is not parsed', async () => {
    script = (_request, response) => response.writeHead(200, json).end('['.repeat(40_000));
    expect((await read()).answer).toMatchObject({ kind: 'transient', code: 'too-deep' });
  });
});

describe('F-6, F-7: a 200 that is no document', () => {
  test.each([
    ['a login page', 'text/html', '<html><form action="/login">', 'html-answer'],
    ['another media type', 'text/csv', 'a,b', 'unexpected-media-type'],
    ['no media type', '', document, 'unexpected-media-type'],
    ['nothing', 'application/json', '', 'empty-answer'],
    ['a body that is not JSON', 'application/json', 'Service temporarily down', 'invalid-json'],
    ['bytes that are no text', 'application/json', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'invalid-text'],
  ])('%s is worth another attempt, no fault of the schema', async (_what, contentType, body, code) => {
    script = (_request, response) => {
      if (contentType !== '') response.setHeader('content-type', contentType);
      response.writeHead(200).end(body);
    };
    expect((await read()).answer).toMatchObject({ kind: 'transient', code });
  });

  test('204 is worth another attempt', async () => {
    script = (_request, response) => response.writeHead(204).end();
    expect((await read()).answer).toMatchObject({ kind: 'transient', code: 'empty-answer' });
  });

  test('F-7: JSON of another shape is handed on whole, for the normalizer to judge', async () => {
    script = (_request, response) =>
      response.writeHead(200, json).end('{"id":"1","surprise":[1,{"deep":null}]}');
    expect((await read()).answer).toMatchObject({
      kind: 'ok',
      document: { body: { id: '1', surprise: [1, { deep: null }] } },
    });
  });

  test.each<[unknown, string]>([
    [{ status: 'maintenance' }, '{"status":"maintenance"}'],
    [null, 'null'],
    [null, '{"links":[],"values":[null]}'],
    [{ links: [], values: [] }, '{"links":[],"values":[]}'],
  ])(
    'F-6: JSON that names no resource at all is refused as what came, which may be everybody’s: %j of %s',
    async (body, answer) => {
      script = (_request, response) => response.writeHead(200, json).end(answer);
      expect((await read()).answer).toMatchObject({ kind: 'refused', code: 'not-a-resource', body });
    },
  );
});

test('F-12: a 403 for one resource marks neither connection nor organization', async () => {
  const listing = JSON.stringify({
    values: [{ id: '4711', links: [{ rel: 'manage_connections', uri: 'https://c.test/' }] }],
  });
  script = (request, response) => {
    if (request.url?.startsWith('/platform/organizations')) response.writeHead(200, json).end(listing);
    else response.writeHead(403, json).end(JSON.stringify({ errors: [{ message: 'Access Denied' }] }));
  };
  const { answer } = await read(undefined, { organizationId: '4711' });
  expect(answer).toEqual({ kind: 'no-access', connectionId: 'c1', message: 'Access Denied' });
});

describe('F-13: 404 and 410', () => {
  test.each([
    [404, false],
    [410, true],
  ])('%i is told after the catalog was read again', async (status, certain) => {
    const fields = [{ rel: 'fields', uri: `${base}/platform/fields` }];
    const listing = JSON.stringify({ values: [{ id: '4711', links: fields }] });
    script = (request, response) => {
      const path = request.url?.split('?')[0];
      if (path === '/platform/organizations') response.writeHead(200, json).end(listing);
      else if (path === '/platform/fields') response.writeHead(200, json).end('{"values":[]}');
      else response.writeHead(status, json).end();
    };
    const resource = { kind: 'field-operation', id: 'op-1' } as const;
    const { answer } = await read(undefined, { organizationId: '4711', resource });
    expect(answer).toMatchObject({ kind: 'gone', certain, connectionId: 'c1' });
    const order = asked.map(({ path }) => path.split('?')[0]);
    expect(order.lastIndexOf('/platform/')).toBeGreaterThan(order.indexOf('/platform/fieldOperations/op-1'));
  });
});

test('F-20: a kept connection that the provider closed costs one repetition, signed anew', async () => {
  const auth = { auth: 'oauth1', tokenSecret: new Secret('s') } as const;
  staged.client.close();
  staged = stage({}, [connectionOf(auth)]);
  expect((await read()).answer.kind).toBe('ok');
  asked = [];
  script = (request, response) => {
    if (asked.length === 1) request.socket.resetAndDestroy();
    else response.writeHead(200, json).end(document);
  };
  const { answer, cost } = await read();
  expect(answer.kind).toBe('ok');
  expect(cost.calls).toBe(1);
  const nonces = asked.map(({ authorization }) => /oauth_nonce="([^"]+)"/.exec(authorization ?? '')?.[1]);
  expect(new Set(nonces).size).toBe(2);
});

describe('the bytes of a file over a slow line', () => {
  const file = randomBytes(1_200_000);
  let ranges: string[];

  /** So many bytes of an answer come before the deadline, by where they begin. */
  function lineOf(
    bytesOf: (from: number) => number,
    cut: 'stalls' | 'ends' = 'stalls',
    timeoutMs = 1000,
  ): void {
    staged.client.close();
    staged = stage({ timeoutMs, bodyBytesMax: 1_000_000 });
    ranges = [];
    const links = [{ rel: 'self', uri: `${base}/platform/files/f1` }];
    script = ({ url, headers }, response) => {
      const record = { id: 'f1', nativeSize: String(file.length), links };
      const values = url?.startsWith('/platform/files?') ? [record] : [];
      if (!url?.startsWith('/platform/files/'))
        return response.writeHead(200, json).end(JSON.stringify({ values }));
      if (headers.range === undefined) return response.writeHead(200, json).end(JSON.stringify(record));
      ranges.push(headers.range);
      const [from, to] = (/(\d+)-(\d+)/.exec(headers.range) ?? []).slice(1).map(Number) as [number, number];
      const part = file.subarray(from, to + 1);
      response.writeHead(206, {
        'content-type': 'application/octet-stream',
        'content-length': part.length,
        'content-range': `bytes ${from}-${from + part.length - 1}/${file.length}`,
        etag: '"v1"',
      });
      const bytes = bytesOf(from);
      if (part.length <= bytes) response.end(part);
      else response.write(part.subarray(0, bytes), () => cut === 'ends' && response.destroy());
    };
  }
  const download = async () => {
    const read = await staged.client.data.fileContent('f1', 0, null);
    if ('fault' in read) throw new Error(read.fault.detail);
    const chunks: Uint8Array[] = [];
    for await (const chunk of read.value.chunks) chunks.push(chunk);
    return Buffer.concat(chunks);
  };

  test.each(['stalls', 'ends'] as const)('that %s within a range come in smaller ones', async (cut) => {
    lineOf(() => 300_000, cut);
    expect((await download()).equals(file)).toBe(true);
    expect(ranges.slice(0, 3)).toEqual(['bytes=0-999999', 'bytes=0-149999', 'bytes=150000-299999']);
  });

  test('that failed once come in larger ranges again, where those come quickly', async () => {
    lineOf(() => (ranges.length === 1 ? 300_000 : 1_000_000), 'ends', 20_000);
    expect((await download()).equals(file)).toBe(true);
    const later = ['bytes=150000-299999', 'bytes=300000-599999', 'bytes=600000-1199999'];
    expect(ranges.slice(2)).toEqual(later);
  });

  test('that cuts whatever is larger come in few ranges that are asked for twice', async () => {
    lineOf(() => 70_000, 'ends', 20_000);
    expect((await download()).equals(file)).toBe(true);
    const begins = ranges.map((range) => range.split('-')[0]!);
    expect(begins.length - new Set(begins).size).toBeLessThanOrEqual(4);
  });

  test('that cuts every answer at 20 kB come whole, in ranges of which few are asked for twice', async () => {
    lineOf(() => 20_000, 'ends', 20_000);
    expect((await download()).equals(file)).toBe(true);
    expect(ranges.length).toBeLessThan(150);
  });

  test('that gives less than the smallest range are told as what came, and what bounds it', async () => {
    lineOf(() => 2000);
    const within = 'came within PROVIDER_TIMEOUT_MS (1000): over a line that slow, raise it';
    await expect(download()).rejects.toThrow(`only 2000 of 4096 bytes ${within}`);
    expect(ranges).toEqual(['bytes=0-999999', 'bytes=0-4095']);
    lineOf((from) => (from === 0 ? 1_000_000 : 2000));
    await expect(download()).rejects.toMatchObject({
      code: 'provider.unavailable',
      message: `the file was cut: only 2000 of 4096 bytes ${within} (${base}/platform/files/f1)`,
    });
    lineOf(() => 2000, 'ends');
    await expect(download()).rejects.toThrow('the answer was cut: 2000 of 4096 bytes came');
  });

  test('that gives nothing are asked for once, and told as no answer', async () => {
    lineOf(() => 0);
    await expect(download()).rejects.toThrow('no answer: deadline');
    expect(ranges).toHaveLength(1);
  });
});
