// The HTTP client against real servers on loopback: what connections do to a request.
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import * as tls from 'node:tls';
import { Attempt } from '../../../src/fetch/attempt';
import { type Exchange, type HttpClient, makeHttpClient } from '../../../src/fetch/client';
import { makeAuthority } from '../../support/certificates';

let client: HttpClient;
let open: (HttpServer | Server)[] = [];
let sockets: Socket[] = [];

beforeEach(() => {
  client = makeHttpClient({ bodyBytesMax: 1000, connectionsMax: 4 });
});

afterEach(async () => {
  client.close();
  for (const socket of sockets) socket.destroy();
  await Promise.all(open.map((server) => new Promise((resolve) => server.close(resolve))));
  open = [];
  sockets = [];
});

async function listen(server: HttpServer | Server): Promise<URL> {
  server.on('connection', (socket: Socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

const serve = (listener: RequestListener) => listen(createServer(listener));
/** A server that answers bytes, whatever it is asked. */
const answerBytes = (bytes: string) =>
  listen(createTcpServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(bytes))));

async function get(
  url: URL,
  headersOf = () => ({}),
  timeoutMs = 2000,
  signal?: AbortSignal,
): Promise<Exchange> {
  const attempt = new Attempt(timeoutMs, signal);
  const exchange = await client.send({ method: 'GET', url, body: null }, headersOf, attempt);
  attempt.end();
  return exchange;
}

const codeOf = (exchange: Exchange) => (exchange.status === null ? exchange.code : exchange.status);

test('a connection is kept and used again', async () => {
  const url = await serve((_request, response) => response.end('{}'));
  for (let at = 0; at < 3; at += 1) expect(await get(url)).toMatchObject({ status: 200, wireBytes: 2 });
  expect(sockets).toHaveLength(1);
});

test('a kept connection that the far side resets is replaced once, with headers made anew', async () => {
  let requests = 0;
  const url = await serve((request, response) => {
    requests += 1;
    if (requests === 2) request.socket.resetAndDestroy();
    else response.end(String(request.headers['x-nonce']));
  });
  let nonce = 0;
  const headersOf = () => {
    nonce += 1;
    return { 'x-nonce': String(nonce) };
  };
  await get(url, headersOf);
  const attempt = new Attempt(2000);
  const exchange = await client.send({ method: 'GET', url, body: null }, headersOf, attempt);
  expect(attempt.end().resends).toBe(1);
  expect(exchange).toMatchObject({ status: 200, body: Buffer.from('3') });
  expect(sockets).toHaveLength(2);
});

test('a body is sent with its length, and a POST is not repeated, since it may have been acted upon', async () => {
  const seen: string[] = [];
  const url = await serve((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      seen.push(`${request.method} ${request.headers['content-length']} ${Buffer.concat(parts)}`);
      if (seen.length > 1) request.socket.resetAndDestroy();
      else response.end();
    });
  });
  const attempt = new Attempt(2000);
  const post = () => client.send({ method: 'POST', url, body: Buffer.from('{"a":1}') }, () => ({}), attempt);
  expect(codeOf(await post())).toBe(200);
  expect(codeOf(await post())).toBe('connection-reset');
  attempt.end();
  expect(seen).toEqual(['POST 7 {"a":1}', 'POST 7 {"a":1}']);
});

describe('what is asked whether it may still be sent', () => {
  const post = async (url: URL, maySend: () => boolean, timeoutMs = 2000) => {
    const attempt = new Attempt(timeoutMs);
    const sent = { method: 'POST', url, body: Buffer.from('a=b'), maySend } as const;
    const exchange = await client.send(sent, () => ({}), attempt);
    attempt.end();
    return codeOf(exchange);
  };

  test('is written where it may, and nothing of it where it may not, on a new connection and on a kept one', async () => {
    let requests = 0;
    const url = await serve((request, response) => {
      requests += 1;
      request.resume().on('end', () => response.end());
    });
    expect(await post(url, () => false)).toBe('held-back');
    expect(await post(url, () => true)).toBe(200);
    expect(await post(url, () => true)).toBe(200);
    expect(sockets).toHaveLength(2);
    expect(await post(url, () => false)).toBe('held-back');
    expect([requests, sockets.length]).toEqual([2, 2]);
  });

  test('is not asked before its connection stands', async () => {
    const gone = createTcpServer();
    const url = await listen(gone);
    await new Promise((resolve) => gone.close(resolve));
    open = [];
    const asked = jest.fn(() => true);
    expect(await post(url, asked)).toBe('connection-refused');
    const silent = await listen(createTcpServer());
    silent.protocol = 'https:';
    expect(await post(silent, asked, 300)).toBe('deadline');
    expect(asked).not.toHaveBeenCalled();
  });

  test('leaves its place to the next where it may not be sent', async () => {
    client = makeHttpClient({ bodyBytesMax: 1000, connectionsMax: 1 });
    const url = await serve((request, response) => request.resume().on('end', () => response.end()));
    const codes = await Promise.all([0, 1, 2, 3].map((nth) => post(url, () => nth % 2 === 1)));
    expect(codes).toEqual(['held-back', 200, 'held-back', 200]);
  });

  test('is not written any more once the client is closed, nor is what waits for a connection', async () => {
    client = makeHttpClient({ bodyBytesMax: 1000, connectionsMax: 1 });
    let requests = 0;
    const url = await serve(() => {
      requests += 1;
      client.close();
    });
    const asked = jest.fn(() => true);
    const codes = await Promise.all(
      [post(url, () => true), post(url, asked), get(url)].map(async (one) => one),
    );
    expect([codes[0], codes[1], codeOf(codes[2] as Exchange)]).toEqual(['aborted', 'aborted', 'aborted']);
    expect([requests, asked.mock.calls.length, sockets.length]).toEqual([1, 0, 1]);
  });

  test('is asked once a TLS connection stands', async () => {
    const authority = makeAuthority();
    const trusted = tls.getCACertificates('default');
    tls.setDefaultCACertificates([...trusted, authority.cert]);
    try {
      let requests = 0;
      const url = await listen(
        createTlsServer(authority.issue({ names: ['127.0.0.1'] }), (request, response) => {
          requests += 1;
          request.resume().on('end', () => response.end());
        }),
      );
      url.protocol = 'https:';
      expect(await post(url, () => false)).toBe('held-back');
      expect(await post(url, () => true)).toBe(200);
      expect(requests).toBe(1);
    } finally {
      tls.setDefaultCACertificates(trusted);
    }
  });
});

test('a kept connection that is reset twice is not asked a third time', async () => {
  let requests = 0;
  const url = await serve((request, response) => {
    requests += 1;
    if (requests > 1) request.socket.resetAndDestroy();
    else response.end();
  });
  await get(url);
  expect(codeOf(await get(url))).toBe('connection-reset');
  expect(requests).toBe(3);
});

test('a fresh connection that is reset is not asked again', async () => {
  let requests = 0;
  const url = await serve((request) => {
    requests += 1;
    request.socket.resetAndDestroy();
  });
  expect(codeOf(await get(url))).toBe('connection-reset');
  expect(requests).toBe(1);
});

test('a stopping process ends what is under way, and its reset is not repeated', async () => {
  const stop = new AbortController();
  const url = await serve(() => stop.abort());
  expect(codeOf(await get(url, undefined, 2000, stop.signal))).toBe('aborted');
});

test('a closed client ends what is under way and begins nothing', async () => {
  const url = await serve(() => client.close());
  expect(codeOf(await get(url))).toBe('aborted');
  expect(codeOf(await get(url))).toBe('aborted');
});

test('a cut attempt begins nothing', async () => {
  const url = await serve((_request, response) => response.end());
  const stop = new AbortController();
  stop.abort();
  expect(codeOf(await get(url, undefined, 2000, stop.signal))).toBe('aborted');
  expect(sockets).toHaveLength(0);
});

test('requests beyond the connections wait for one, within their deadline', async () => {
  const url = await serve((request, response) => {
    if (request.url === '/fast') response.end();
  });
  const slow = Array.from({ length: 4 }, () => get(url, undefined, 300));
  const queued = get(new URL('/fast', url), undefined, 100);
  expect(codeOf(await queued)).toBe('deadline');
  expect((await Promise.all(slow)).map(codeOf)).toEqual(Array(4).fill('deadline'));
});

test.each([
  ['an answer that is no HTTP', 'SSH-2.0-x\r\n\r\n', 'answer-malformed'],
  ['no answer', '', 'connection-reset'],
  [
    'a switch of protocols that nobody asked for',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    'connection-reset',
  ],
  ['headers without an end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(20_000)}`, 'answer-malformed'],
])('%s has a code', async (_what, bytes, code) => {
  expect(codeOf(await get(await answerBytes(bytes)))).toBe(code);
});

test('F-23: informational answers are passed over', async () => {
  const url = await answerBytes(
    'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}',
  );
  expect(codeOf(await get(url))).toBe(200);
});

test('a body without length ends with its connection', async () => {
  const exchange = await get(await answerBytes('HTTP/1.0 200 OK\r\n\r\n{"a":1}'));
  expect(exchange).toMatchObject({ status: 200, body: Buffer.from('{"a":1}') });
});

test('where nothing listens, the connection is refused', async () => {
  const url = await serve((_request, response) => response.end());
  await new Promise((resolve) => open.pop()!.close(resolve));
  expect(codeOf(await get(url))).toBe('connection-refused');
});

test('IPv6 loopback is reached by its literal', async () => {
  const server = createServer((_request, response) => response.end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '::1', resolve));
  open.push(server);
  const { port } = server.address() as AddressInfo;
  expect(codeOf(await get(new URL(`http://[::1]:${port}/`)))).toBe(200);
});

test.each(['http', 'https'])(
  'S5: a name that leads to this machine is left before a byte is sent over %s',
  async (scheme) => {
    const chunks: Buffer[] = [];
    let left: () => void;
    const closed = new Promise<void>((resolve) => {
      left = resolve;
    });
    const url = await listen(
      createTcpServer((socket) =>
        socket
          .on('error', () => {})
          .on('data', (chunk) => chunks.push(chunk))
          .on('close', () => left()),
      ),
    );
    const named = new URL(`${scheme}://localhost:${url.port}/`);
    expect(codeOf(await get(named, () => ({ Authorization: 'Bearer canary' })))).toBe('address-private');
    await closed;
    expect(chunks).toEqual([]);
  },
);

test('headers that cannot be sent fail the request alone', async () => {
  const url = await serve((_request, response) => response.end('{}'));
  expect(codeOf(await get(url, () => ({ Authorization: 'a\nb' })))).toBe('request-invalid');
  expect(codeOf(await get(url))).toBe(200);
});
