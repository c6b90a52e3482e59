import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { Worker } from 'node:worker_threads';
import express from 'express';
import type { Accepted } from '../../../src/model/notification';
import { Problem } from '../../../src/model/problem';
import { Secret } from '../../../src/tools/secret';
import { makeWebhookServer } from '../../../src/webhook/server';
import type { WebhookSettings } from '../../../src/webhook/settings';
import { makeFakeClock } from './fake-clock';
import {
  authorization,
  codeOf,
  notification,
  openConnection,
  post,
  requestText,
  settingsWith,
  startReceiver,
  stopReceivers,
  stored,
} from './receiver';

afterEach(stopReceivers);

const doors = {
  accept: async () => stored,
  clock: makeFakeClock(),
  refused: () => {},
  keepSample: async () => {},
};

/** A promise and what settles it. */
function later<Value>() {
  return Promise.withResolvers<Value>();
}

/** Resolves once the receiver has handed over so many deliveries. */
async function handedOver(deliveries: unknown[], count: number): Promise<void> {
  while (deliveries.length < count) await new Promise((resolve) => setImmediate(resolve));
}

describe('a delivery', () => {
  test('is handed over as it was judged, and answered 204 without a body', async () => {
    const clock = makeFakeClock(1_790_000_000_123);
    const receiver = await startReceiver({ clock });
    const body = JSON.stringify([notification(), { eventTypeId: 'heartbeat' }, 5]);
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const answer = await post(receiver.port, body, { headers: { traceparent } });
    expect(answer).toMatchObject({ status: 204, body: '' });
    expect(receiver.deliveries).toEqual([
      {
        receivedAtMs: 1_790_000_000_123,
        messageId: null,
        bodyHash: createHash('sha256').update(body).digest('hex'),
        bytes: Buffer.byteLength(body),
        traceparent,
        elements: [
          expect.objectContaining({ line: 'hint', organizationId: '4711' }),
          expect.objectContaining({ line: 'acted' }),
          { line: 'quarantined', reason: 'malformed-notification', path: '', raw: '5' },
        ],
      },
    ]);
    expect(receiver.refusals).toEqual([]);
  });

  test('is answered only after the store has it', async () => {
    const saved = later<Accepted>();
    const receiver = await startReceiver({ accept: () => saved.promise });
    let answered = false;
    const answer = post(receiver.port, [notification()]).finally(() => {
      answered = true;
    });
    await handedOver(receiver.deliveries, 1);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(answered).toBe(false);
    saved.resolve(stored);
    expect((await answer).status).toBe(204);
  });

  test('that was stored before is answered 204 as well', async () => {
    const receiver = await startReceiver({ accept: async () => ({ ...stored, repeated: true }) });
    expect((await post(receiver.port, [notification()])).status).toBe(204);
  });

  test('sent twice without a message id is handed over twice', async () => {
    const receiver = await startReceiver();
    await post(receiver.port, [notification()]);
    await post(receiver.port, [notification()]);
    expect(receiver.deliveries).toHaveLength(2);
  });

  test('with tokens tells whose subscription each element is of, and sets aside those with a wrong one', async () => {
    const tokens = () => [{ token: new Secret('dG9rZW4x'), user: 'ann' }];
    const receiver = await startReceiver({ settings: { auth: ['token'], tokens } });
    const body = [notification({ token: 'dG9rZW4x' }), notification({ token: 'canary' }), notification()];
    expect((await post(receiver.port, body)).status).toBe(204);
    expect(receiver.deliveries[0]?.elements).toEqual([
      expect.objectContaining({ line: 'hint', user: 'ann' }),
      expect.objectContaining({ line: 'quarantined', reason: 'unauthenticated', path: '/token' }),
      expect.objectContaining({ line: 'quarantined', reason: 'unauthenticated', path: '/token' }),
    ]);
    expect(JSON.stringify(receiver.deliveries)).not.toMatch(/canary|dG9rZW4x/);
  });
});

describe('the store', () => {
  test('a delivery that the store cannot take as it is is kept for an operator and answered 204', async () => {
    const why: string[] = [];
    const receiver = await startReceiver({
      async accept({ elements }) {
        if (elements.some(({ line }) => line === 'hint')) throw new Problem('store.refused', 'too strange');
        return stored;
      },
      storeRefused: (detail) => why.push(detail),
    });
    const { status } = await post(receiver.port, [notification(), notification()]);
    expect(status).toBe(204);
    expect(why).toEqual(['too strange']);
    const [, kept] = receiver.deliveries;
    expect(kept!.elements).toMatchObject([{ line: 'quarantined', reason: 'store-refused' }, { path: '' }]);
    expect(kept!.elements.map((element) => 'raw' in element && JSON.parse(element.raw))).toEqual([
      notification(),
      notification(),
    ]);
  });

  test.each([
    ['throws', () => Promise.reject(new Error('no space'))],
    [
      'throws at once',
      () => {
        throw new Error('no space');
      },
    ],
  ])('that %s is a 503 with Retry-After, and its error is told to us alone', async (_how, accept) => {
    const receiver = await startReceiver({ accept });
    const answer = await post(receiver.port, [notification()]);
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
    expect(codeOf(answer)).toBe('webhook.unavailable');
    expect(answer.body).not.toContain('no space');
    expect(receiver.refusals).toEqual([
      { reason: 'store-unavailable', status: 503, cause: expect.objectContaining({ message: 'no space' }) },
    ]);
  });

  test('that is not done in time is a 503 within 4 s, and its late answer changes nothing', async () => {
    const clock = makeFakeClock();
    const saved = later<Accepted>();
    const receiver = await startReceiver({ clock, accept: () => saved.promise });
    const answer = post(receiver.port, [notification()]);
    await handedOver(receiver.deliveries, 1);
    await clock.advance(3999);
    expect(await answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    saved.resolve(stored);
    await clock.advance(1);
    expect(receiver.refusals).toEqual([{ reason: 'late', status: 503 }]);
    expect(receiver.refusalTimes).toEqual([3000]);
  });

  test('that stalls lets no more deliveries wait than the bound, and takes them again afterwards', async () => {
    const saved = later<Accepted>();
    const receiver = await startReceiver({
      settings: { limits: { deliveriesInFlightMax: 2 } },
      accept: () => saved.promise,
    });
    const waiting = [post(receiver.port, [notification()]), post(receiver.port, [notification()])];
    await handedOver(receiver.deliveries, 2);
    const refused = await post(receiver.port, [notification()]);
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    saved.resolve(stored);
    for (const one of waiting) expect((await one).status).toBe(204);
    expect((await post(receiver.port, [notification()])).status).toBe(204);
    expect(receiver.refusals).toEqual([{ reason: 'overloaded', status: 503 }]);
  });

  test('that stalls lets no more bytes wait than the bound', async () => {
    const saved = later<Accepted>();
    const receiver = await startReceiver({
      settings: { limits: { bodyBytesMax: 60_000, bytesInFlightMax: 100_000 } },
      accept: () => saved.promise,
    });
    const long = [notification({ displayName: 'x'.repeat(55_000) })];
    const first = post(receiver.port, long);
    await handedOver(receiver.deliveries, 1);
    expect((await post(receiver.port, long)).status).toBe(503);
    const short = post(receiver.port, [notification()]);
    await handedOver(receiver.deliveries, 2);
    saved.resolve(stored);
    expect([(await first).status, (await short).status]).toEqual([204, 204]);
  });

  test('that fills while a body arrives is a 503 for that body', async () => {
    const saved = later<Accepted>();
    const receiver = await startReceiver({
      settings: { limits: { deliveriesInFlightMax: 1 } },
      accept: () => saved.promise,
    });
    const text = requestText(JSON.stringify([notification()]));
    const slow = openConnection(receiver.port);
    slow.write(text.slice(0, -5));
    // Its headers are known to have been read once a later connection is served.
    expect((await post(receiver.port, '', { path: '/other' })).status).toBe(404);
    const first = post(receiver.port, [notification()]);
    await handedOver(receiver.deliveries, 1);
    slow.write(text.slice(-5));
    expect(await slow.answers(1)).toMatch(/^HTTP\/1\.1 503 /);
    slow.destroy();
    saved.resolve(stored);
    expect((await first).status).toBe(204);
    expect(receiver.deliveries).toHaveLength(1);
  });

  test('a long body without a length is refused while it arrives when there is no room for it', async () => {
    const receiver = await startReceiver({
      settings: { limits: { bodyBytesMax: 60_000, bytesArrivingMax: 60_000 } },
    });
    const head = `POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: ${authorization}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const chunk = `8000\r\n${'['.repeat(0x8000)}\r\n`;
    const first = openConnection(receiver.port);
    first.write(head + chunk);
    // The first is known to have arrived once a second can no longer be taken.
    let second: string;
    do {
      const connection = openConnection(receiver.port);
      connection.write(`${head}${chunk}0\r\n\r\n`);
      second = await connection.answers(1);
      connection.destroy();
    } while (!second.includes(' 503 '));
    expect(second).toContain('Connection: close');
    first.destroy();
    await first.ended;
    expect(receiver.refusals).toContainEqual({ reason: 'overloaded', status: 503 });
    let again: number;
    do again = (await post(receiver.port, [notification({ x: 'x'.repeat(50_000) })])).status;
    while (again !== 204);
    expect(again).toBe(204);
  });
});

describe('an authenticated body that cannot be read', () => {
  test('is a 400, and a sample without tokens is kept', async () => {
    const receiver = await startReceiver();
    const [, credentials] = authorization.split(' ');
    const body = `[{"token":"canary","note":"${authorization}","part":"${credentials}"},`;
    const answer = await post(receiver.port, body);
    expect([answer.status, codeOf(answer)]).toEqual([400, 'webhook.unreadable']);
    expect(receiver.samples).toEqual([
      {
        bodyHash: createHash('sha256').update(body).digest('hex'),
        fault: 'not-json',
        raw: Buffer.from('[{"token":"[secret]","note":"[secret]","part":"[secret]"},'),
      },
    ]);
    expect(receiver.deliveries).toEqual([]);
    expect(receiver.refusals).toEqual([{ reason: 'body-unreadable', status: 400 }]);
  });

  test('of which no sample can be kept is a 503', async () => {
    const keepSample = () => Promise.reject(new Error('no space'));
    const receiver = await startReceiver({ keepSample });
    expect((await post(receiver.port, '{}')).status).toBe(503);
  });

  test('is a 401 and leaves nothing where only tokens authenticate', async () => {
    const receiver = await startReceiver({ settings: { auth: ['token'] } });
    expect((await post(receiver.port, '{}')).status).toBe(401);
    expect([receiver.samples, receiver.deliveries]).toEqual([[], []]);
    expect(receiver.refusals).toEqual([{ reason: 'token-unreadable', status: 401 }]);
  });
});

describe('repeated failed authentication', () => {
  const limits = { failedAuthenticationsMax: 3, failedAuthenticationWindowMs: 60_000 };
  const wrong = { headers: { authorization: 'Bearer wrong' } };
  const statuses = async (port: number, count: number) => {
    const all: number[] = [];
    for (let at = 0; at < count; at += 1) all.push((await post(port, [notification()], wrong)).status);
    return all;
  };

  test('from one address is answered 429 until its window is over', async () => {
    const clock = makeFakeClock();
    const receiver = await startReceiver({ settings: { limits }, clock });
    expect(await statuses(receiver.port, 5)).toEqual([401, 401, 401, 429, 429]);
    const answer = await post(receiver.port, [notification()], wrong);
    expect([answer.headers['retry-after'], codeOf(answer)]).toEqual(['60', 'webhook.too-many-failures']);
    expect(receiver.refusals.at(-1)).toEqual({ reason: 'too-many-failures', status: 429 });
    await clock.advance(60_000);
    expect(await statuses(receiver.port, 4)).toEqual([401, 401, 401, 429]);
  });

  test('refuses no authenticated delivery, and authenticated deliveries are not counted', async () => {
    const receiver = await startReceiver({ settings: { limits } });
    for (let at = 0; at < 10; at += 1) {
      expect((await post(receiver.port, [notification()])).status).toBe(204);
    }
    expect(await statuses(receiver.port, 4)).toEqual([401, 401, 401, 429]);
    expect((await post(receiver.port, [notification()])).status).toBe(204);
  });

  test('does not count what was refused for something else', async () => {
    const receiver = await startReceiver({ settings: { limits } });
    for (let at = 0; at < 5; at += 1) {
      expect((await post(receiver.port, '{}')).status).toBe(400);
      expect((await post(receiver.port, '', { path: '/other' })).status).toBe(404);
    }
    expect(await statuses(receiver.port, 4)).toEqual([401, 401, 401, 429]);
  });
});

/** Each request on a connection of its own, from a thread that needs nothing of this one. */
const sendFromElsewhere = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { port, text, sent, count } } = require('node:worker_threads');
  let gone = 0;
  Promise.all(Array.from({ length: count }, () => new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (bytes) => (answer += bytes));
    socket.on('error', (error) => (answer += error.code));
    socket.on('close', () => resolve(answer.slice(0, 12)));
    socket.write(text, () => {
      gone += 1;
      if (gone < count) return;
      Atomics.store(sent, 0, 1);
      Atomics.notify(sent, 0);
    });
  }))).then((answers) => parentPort.postMessage(answers));
`;

describe('draining', () => {
  test('every answer closes its connection, and one that is kept still carries a delivery', async () => {
    const saved = later<Accepted>();
    const receiver = await startReceiver({ accept: () => saved.promise });
    const idle = openConnection(receiver.port);
    idle.write('GET /other HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await idle.answers(1)).toContain('Connection: keep-alive');
    const busy = openConnection(receiver.port);
    busy.write(requestText(JSON.stringify([notification()])));
    await handedOver(receiver.deliveries, 1);
    receiver.server.drain();
    idle.write(requestText(JSON.stringify([notification()])));
    await handedOver(receiver.deliveries, 2);
    saved.resolve(stored);
    expect(await idle.ended).toMatch(/HTTP\/1\.1 204 [\s\S]*Connection: close/);
    expect(await busy.ended).toMatch(/^HTTP\/1\.1 204 [\s\S]*Connection: close/);
    const afterwards = openConnection(receiver.port);
    afterwards.write(requestText(JSON.stringify([notification()])));
    expect(await afterwards.ended).toMatch(/^HTTP\/1\.1 204 [\s\S]*Connection: close/);
    expect((await post(receiver.port, '', { path: '/other' })).headers.connection).toBe('close');
  });

  test('closing ends idle connections, lets what is under way finish and takes nothing new', async () => {
    const saved = later<Accepted>();
    const receiver = await startReceiver({ accept: () => saved.promise });
    const idle = openConnection(receiver.port);
    idle.write('GET /other HTTP/1.1\r\nHost: a\r\n\r\n');
    await idle.answers(1);
    const answer = post(receiver.port, [notification()]);
    await handedOver(receiver.deliveries, 1);
    const closed = receiver.server.close(60_000);
    await idle.ended;
    saved.resolve(stored);
    expect((await answer).status).toBe(204);
    await closed;
    await expect(post(receiver.port, [notification()])).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('closing answers what was sent before, though nobody has looked at it yet', async () => {
    const receiver = await startReceiver();
    const sent = new Int32Array(new SharedArrayBuffer(4));
    const text = requestText(JSON.stringify([notification()]));
    const workerData = { port: receiver.port, text, sent, count: 5 };
    const sender = new Worker(sendFromElsewhere, { eval: true, workerData });
    const answers = once(sender, 'message');
    // This thread takes no connection and reads nothing until all has been sent.
    expect(Atomics.wait(sent, 0, 0, 60_000)).toBe('ok');
    receiver.server.drain();
    await receiver.server.close(60_000);
    expect(await answers).toEqual([Array(5).fill('HTTP/1.1 204')]);
    await sender.terminate();
  });

  test('what is not finished in the time of grace is answered 503, and nothing is left', async () => {
    const clock = makeFakeClock();
    const receiver = await startReceiver({ clock, accept: () => later<Accepted>().promise });
    const answer = post(receiver.port, [notification()]);
    const silent = openConnection(receiver.port);
    await handedOver(receiver.deliveries, 1);
    const closed = receiver.server.close(2000);
    await clock.advance(2000);
    expect(await answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    await closed;
    await silent.ended;
    await receiver.server.close(2000);
  });

  test('closing what never listened is done at once', async () => {
    const server = makeWebhookServer(settingsWith(), doors);
    await expect(server.close(1000)).resolves.toBeUndefined();
  });

  test('a connection over which nothing ever came is idle as well', async () => {
    const receiver = await startReceiver();
    const silent = openConnection(receiver.port);
    // Connections are taken in order, so an answer on a later one says that the silent one was taken.
    await post(receiver.port, [notification()]);
    void receiver.server.close(60_000);
    expect(await silent.ended).toBe('');
  });
});

describe('further routes', () => {
  test('are mounted beside the deliveries, with the headers that protect a browser', async () => {
    const receiver = await startReceiver();
    const routes = express.Router();
    routes.get('/', (_request, response) => void response.send('hello'));
    routes.get('/of/:id', (request, response) => void response.json([request.params.id, request.query]));
    routes.get('/broken', () => {
      throw new Error('canary');
    });
    receiver.server.mount('/connect', routes);
    const answer = await post(receiver.port, '', { method: 'GET', path: '/connect' });
    expect([answer.status, answer.body]).toEqual([200, 'hello']);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    const get = (path: string) => post(receiver.port, '', { method: 'GET', path });
    expect((await get('/connect/of/7?state=a%20b')).body).toBe('["7",{"state":"a b"}]');
    expect(codeOf(await get('/connect/of/%zz'))).toBe('webhook.bad-request');
    const broken = await post(receiver.port, '', { method: 'GET', path: '/connect/broken' });
    expect(broken.status).toBe(503);
    expect(broken.body).not.toContain('canary');
    expect(receiver.refusals).toEqual([
      { reason: 'not-http', status: 400 },
      { reason: 'fault', status: 503, cause: expect.objectContaining({ message: 'canary' }) },
    ]);
  });
});

describe('starting', () => {
  test('no kind of authentication at all is refused: `none` must be said', () => {
    const make = (auth: WebhookSettings['auth']) => makeWebhookServer(settingsWith({ auth }), doors);
    expect(() => make([])).toThrow(expect.objectContaining({ code: 'settings.invalid' }));
    expect(() => make('none')).not.toThrow();
  });

  test('an address that is taken rejects with the reason of the system', async () => {
    const receiver = await startReceiver();
    const refused = jest.fn();
    const second = makeWebhookServer(settingsWith(), { ...doors, refused });
    await expect(second.listen('127.0.0.1', receiver.port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    // Nobody sent anything: no delivery is told of as refused.
    expect(refused).not.toHaveBeenCalled();
  });
});

test('a connection that keeps alive carries one delivery after another', async () => {
  const receiver = await startReceiver();
  const connection = openConnection(receiver.port);
  const one = requestText(JSON.stringify([notification()]));
  for (let count = 1; count <= 3; count += 1) {
    connection.write(one);
    expect(await connection.answers(count)).toContain('Connection: keep-alive');
  }
  connection.destroy();
  expect(receiver.deliveries).toHaveLength(3);
});

test('W10: beyond as many connections as may be, each with a request under way, a further one is dropped and counted', async () => {
  const saved = later<Accepted>();
  const receiver = await startReceiver({
    settings: { limits: { connectionsMax: 1 } },
    accept: () => saved.promise,
  });
  const first = openConnection(receiver.port);
  first.write(requestText(JSON.stringify([notification()])));
  await handedOver(receiver.deliveries, 1);
  const second = openConnection(receiver.port);
  expect(await second.ended).toBe('');
  expect(receiver.refusals).toContainEqual({ reason: 'too-many-connections', status: 0 });
  saved.resolve(stored);
  expect(await first.answers(1)).toMatch(/^HTTP\/1\.1 204 /);
  first.destroy();
});

test('a sender that goes away after its body leaves its delivery with the store', async () => {
  const saved = later<Accepted>();
  const receiver = await startReceiver({ accept: () => saved.promise });
  const bytes = JSON.stringify([notification()]);
  const sent = httpRequest({
    host: '127.0.0.1',
    port: receiver.port,
    agent: false,
    method: 'POST',
    path: '/webhooks',
    headers: { authorization, 'content-type': 'application/json' },
  });
  sent.on('error', () => {});
  sent.end(bytes);
  await handedOver(receiver.deliveries, 1);
  sent.destroy();
  saved.resolve(stored);
  expect((await post(receiver.port, [notification()])).status).toBe(204);
  expect(receiver.deliveries).toHaveLength(2);
});

test('a sender, or a proxy for it, that closes its side behind its delivery is answered, and its connection ends', async () => {
  const saved = later<Accepted>();
  const receiver = await startReceiver({ accept: () => saved.promise });
  const connection = openConnection(receiver.port);
  // Over one connection: only behind the last of its answers it ends.
  connection.write(requestText(JSON.stringify([notification()])).repeat(2));
  connection.end();
  await handedOver(receiver.deliveries, 1);
  // Whoever is answered now came after that end.
  const stranger = { headers: { authorization: 'wrong' } };
  expect((await post(receiver.port, [notification()], stranger)).status).toBe(401);
  saved.resolve(stored);
  expect((await connection.ended).match(/^HTTP\/1\.1 .*/gm)).toEqual(
    Array(2).fill(expect.stringContaining('HTTP/1.1 204 ')),
  );
});

describe('what the store does not take', () => {
  test('for its own trouble is a 503, and no delivery that is set aside', async () => {
    const answers = [new Problem('store.unavailable', 'away')];
    const receiver = await startReceiver({
      accept: async () => {
        const problem = answers.shift();
        if (problem !== undefined) throw problem;
        return stored;
      },
    });
    expect((await post(receiver.port, [notification()])).status).toBe(503);
    expect(receiver.deliveries.flatMap(({ elements }) => elements.map(({ line }) => line))).toEqual(['hint']);
  });

  test('under its id, which came before with another body, is kept once for each body under an id of its own', async () => {
    const secret = new Secret(`whsec_${Buffer.alloc(32, 7).toString('base64')}`);
    const receiver = await startReceiver({
      settings: { auth: ['hmac'], hmacSecrets: () => [secret] },
      accept: async ({ messageId }) => ({ ...stored, idReused: !messageId!.includes('#') }),
    });
    const body = JSON.stringify([notification()]);
    const seconds = Math.floor(Date.now() / 1000);
    const signed = createHmac('sha256', Buffer.alloc(32, 7)).update(`m1.${seconds}.${body}`);
    const headers = {
      'webhook-id': 'm1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': `v1,${signed.digest('base64')}`,
    };
    expect((await post(receiver.port, body, { headers })).status).toBe(204);
    const { bodyHash } = receiver.deliveries[0]!;
    expect(receiver.deliveries.map(({ messageId }) => messageId)).toEqual(['m1', `m1#${bodyHash}`]);
    expect(receiver.deliveries[1]!.elements).toMatchObject([
      { line: 'quarantined', reason: 'message-id-reused', raw: expect.stringContaining('795b80cf') },
    ]);
  });
});

test('no secret that is current by then is kept of what is set aside: no token, no value, no key of a signature', async () => {
  const secrets = ['first', 'second'].map((name) => ({
    token: new Secret(`token-of-the-${name}-0123456789`),
    key: new Secret(`whsec_${Buffer.from(`key-of-the-${name}-0123456789`).toString('base64')}`),
  }));
  let now = secrets.slice(0, 1);
  const lists = () => ({ tokens: now.map(({ token }) => token), keys: now.map(({ key }) => key) });
  let current = lists();
  const receiver = await startReceiver({
    settings: {
      tokens: () => current.tokens.map((token, at) => ({ token, user: null, id: String(at) })),
      hmacSecrets: () => current.keys,
    },
  });
  for (const { token, key } of secrets) {
    await post(receiver.port, [{ surprise: [token.open(), key.open(), authorization] }]);
    now = secrets;
    current = lists();
  }
  const raw = receiver.deliveries.flatMap(({ elements }) => elements.map((one) => 'raw' in one && one.raw));
  expect(raw).toHaveLength(2);
  for (const text of raw) expect(text).not.toMatch(/of-the|whsec/);
});
