// The fault rows of the inbound side, as far as the receiver alone decides them: every row is played over a real socket
// against a receiver whose store records what it is handed. What the store makes of it (one row for one message id,
// kill -9, readiness) is shown where the store is real.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import type { Accepted } from '../../src/model/notification';
import { Secret } from '../../src/tools/secret';
import { defaultWebhookLimits, type WebhookSettings } from '../../src/webhook/settings';
import { until } from '../support/until';
import { makeFakeClock } from '../unit/webhook/fake-clock';
import {
  type Answer,
  authorization,
  notification,
  openConnection,
  post,
  type RunningReceiver,
  requestText,
  startReceiver,
  stopReceivers,
  stored,
} from '../unit/webhook/receiver';

afterEach(stopReceivers);

const hmacSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const nowMs = 1_790_000_000_000;

function signedBy(secret: string, body: string, id = 'msg_1', atMs = nowMs): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(atMs / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, new Date(atMs), body),
  };
}

function startSigned(accept?: () => Promise<Accepted>): Promise<RunningReceiver> {
  return startReceiver({
    settings: { auth: ['hmac'], hmacSecrets: () => [new Secret(hmacSecret)] },
    clock: makeFakeClock(nowMs),
    ...(accept === undefined ? {} : { accept }),
  });
}

/** A refusal tells a stranger its status and code, and nothing else. */
function expectProblem(answer: Answer, status: number, code: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(JSON.parse(answer.body)).toEqual({ type: 'about:blank', title: expect.any(String), status, code });
}

function expectNothingStored(receiver: RunningReceiver): void {
  expect([receiver.deliveries, receiver.samples]).toEqual([[], []]);
}

const good = JSON.stringify([notification()]);

describe('W1: a bad, missing, cut, empty or otherwise made credential is a 401, and nothing is stored', () => {
  test.each([
    ['missing', null, 'authorization-missing'],
    ['empty', '', 'authorization-missing'],
    ['wrong', 'Bearer canary', 'authorization-wrong'],
    ['cut', authorization.slice(0, -1), 'authorization-wrong'],
    ['longer', `${authorization}x`, 'authorization-wrong'],
    ['of another scheme', authorization.replace('Bearer', 'Basic'), 'authorization-wrong'],
  ])('an Authorization value that is %s', async (_how, value, reason) => {
    const receiver = await startReceiver();
    const answer = await post(receiver.port, good, { headers: { authorization: value } });
    expectProblem(answer, 401, 'webhook.unauthenticated');
    expect(answer.body).not.toContain('canary');
    expect(receiver.refusals).toEqual([{ reason, status: 401 }]);
    expectNothingStored(receiver);
  });

  test.each([
    ['missing', { 'webhook-signature': null }, 'signature-missing'],
    ['empty', { 'webhook-signature': '' }, 'signature-wrong'],
    ['of another secret', signedBy(Buffer.alloc(32, 1).toString('base64'), good), 'signature-wrong'],
    [
      'cut',
      { 'webhook-signature': signedBy(hmacSecret, good)['webhook-signature']?.slice(0, -3) ?? '' },
      'signature-wrong',
    ],
    [
      'of another algorithm',
      { 'webhook-signature': signedBy(hmacSecret, good)['webhook-signature']?.replace('v1', 'v1a') ?? '' },
      'signature-wrong',
    ],
  ])('a signature that is %s', async (_how, headers, reason) => {
    const receiver = await startSigned();
    const answer = await post(receiver.port, good, {
      headers: { ...signedBy(hmacSecret, good), ...(headers as Record<string, string | null>) },
    });
    expectProblem(answer, 401, 'webhook.unauthenticated');
    expect(receiver.refusals).toEqual([{ reason, status: 401 }]);
    expectNothingStored(receiver);
  });

  test.each([
    ['missing in all elements', [notification(), {}], 'token-missing'],
    ['wrong in all elements', [notification({ token: 'canary' }), notification()], 'token-wrong'],
  ])('a token that is %s', async (_how, body, reason) => {
    const tokens = () => [{ token: new Secret('dG9rZW4x'), user: null }];
    const receiver = await startReceiver({ settings: { auth: ['token'], tokens } });
    const answer = await post(receiver.port, body);
    expectProblem(answer, 401, 'webhook.unauthenticated');
    expect(receiver.refusals).toEqual([{ reason, status: 401 }]);
    expectNothingStored(receiver);
  });

  test('when two kinds are named, either one alone is not enough', async () => {
    const receiver = await startReceiver({
      settings: { auth: ['authorization', 'hmac'], hmacSecrets: () => [new Secret(hmacSecret)] },
      clock: makeFakeClock(nowMs),
    });
    const signature = signedBy(hmacSecret, good);
    const statusWith = async (headers: Record<string, string | null>) =>
      (await post(receiver.port, good, { headers })).status;
    expect(await statusWith({ ...signature, authorization: null })).toBe(401);
    expect(await statusWith({})).toBe(401);
    expect(await statusWith(signature)).toBe(204);
    expect(receiver.deliveries).toHaveLength(1);
  });
});

test('W2: a signature over the same JSON written differently is a 401', async () => {
  const receiver = await startSigned();
  const rewritten = JSON.stringify(JSON.parse(good), null, 1);
  const answer = await post(receiver.port, rewritten, { headers: signedBy(hmacSecret, good) });
  expectProblem(answer, 401, 'webhook.unauthenticated');
  expectNothingStored(receiver);
});

test.each([
  [-299, 204],
  [-301, 401],
  [299, 204],
  [301, 401],
])('W3: a signature of %i s from now is answered %i', async (seconds, status) => {
  const receiver = await startSigned();
  const headers = signedBy(hmacSecret, good, 'msg_1', nowMs + seconds * 1000);
  expect((await post(receiver.port, good, { headers })).status).toBe(status);
  expect(receiver.deliveries).toHaveLength(status === 204 ? 1 : 0);
});

test('W4: a message that is sent again is handed over with the same id, and answered 204 when it was stored before', async () => {
  const answers: Accepted[] = [stored, { ...stored, repeated: true, due: 0 }];
  const receiver = await startSigned(async () => answers.shift() as Accepted);
  for (let times = 0; times < 2; times += 1) {
    expect((await post(receiver.port, good, { headers: signedBy(hmacSecret, good) })).status).toBe(204);
  }
  expect(receiver.deliveries.map(({ messageId }) => messageId)).toEqual(['msg_1', 'msg_1']);
  expect(new Set(receiver.deliveries.map(({ bodyHash }) => bodyHash)).size).toBe(1);
});

test('W5: another body under the same id is handed over with its own hash, so that the store can tell', async () => {
  const receiver = await startSigned();
  const other = JSON.stringify([notification({ eventTypeId: 'equipment' })]);
  await post(receiver.port, good, { headers: signedBy(hmacSecret, good) });
  await post(receiver.port, other, { headers: signedBy(hmacSecret, other) });
  expect(receiver.deliveries.map(({ messageId, bodyHash }) => ({ messageId, bodyHash }))).toEqual(
    [good, other].map((body) => ({
      messageId: 'msg_1',
      bodyHash: createHash('sha256').update(body).digest('hex'),
    })),
  );
});

test('W7: an older notification after a newer one is the same hint: nothing of either is taken for data', async () => {
  const receiver = await startReceiver();
  const at = (time: string) => [notification({ modifiedTime: time, metadata: [] })];
  await post(receiver.port, at('2026-02-02T00:00:00Z'));
  await post(receiver.port, at('2026-01-01T00:00:00Z'));
  const [newer, older] = receiver.deliveries;
  expect(newer?.elements).toEqual(older?.elements);
  expect(JSON.stringify(receiver.deliveries)).not.toContain('2026-');
});

describe('W8: a body that is no array of notifications is a 400, and a sample of it is kept', () => {
  test.each([
    ['', 'empty'],
    ['[', 'not-json'],
    ['nonsense', 'not-json'],
    ['[]', 'no-elements'],
    ['null', 'not-an-array'],
    ['5', 'not-an-array'],
    ['"text"', 'not-an-array'],
    ['{"eventTypeId":"equipment"}', 'not-an-array'],
    [JSON.stringify(Array.from({ length: 257 }, () => 0)), 'too-many-elements'],
  ])('%# (%s)', async (body, fault) => {
    const receiver = await startReceiver();
    expectProblem(await post(receiver.port, body), 400, 'webhook.unreadable');
    expect(receiver.samples).toEqual([
      expect.objectContaining({ fault, bodyHash: createHash('sha256').update(body).digest('hex') }),
    ]);
    expect(receiver.deliveries).toEqual([]);
  });

  test('but an array of things that are none is accepted, and each of them set aside', async () => {
    const receiver = await startReceiver();
    expect((await post(receiver.port, [null, 5, 'text', [], {}])).status).toBe(204);
    expect(receiver.deliveries[0]?.elements.map(({ line }) => line)).toEqual(Array(5).fill('quarantined'));
  });
});

describe('W9: a body that is too large is a 413 before it is read, and costs its sender the connection', () => {
  const bodyBytesMax = 100_000;

  test('by its declared length', async () => {
    const receiver = await startReceiver({ settings: { limits: { bodyBytesMax } } });
    const connection = openConnection(receiver.port);
    connection.write(
      `POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: ${authorization}\r\nContent-Length: 4000000000\r\n\r\n[`,
    );
    const text = await connection.answers(1);
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).toContain('Connection: close');
    expect(await connection.ended).toContain('webhook.too-large');
    expect(receiver.refusals[0]).toEqual({ reason: 'body-too-large', status: 413 });
    expectNothingStored(receiver);
  });

  test('by what comes, when it declares no length', async () => {
    const receiver = await startReceiver({ settings: { limits: { bodyBytesMax } } });
    const connection = openConnection(receiver.port);
    connection.write(
      `POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: ${authorization}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = `8000\r\n${'['.repeat(0x8000)}\r\n`;
    for (let count = 0; count < 4; count += 1) connection.write(chunk);
    const text = await connection.ended;
    expect(text).toMatch(/^HTTP\/1\.1 413 [\s\S]*Connection: close/);
    expectNothingStored(receiver);
  });

  test('at the bound it is read, one byte above it is not', async () => {
    const receiver = await startReceiver({ settings: { limits: { bodyBytesMax } } });
    const padded = (bytes: number) => good.padEnd(bytes, ' ');
    expect((await post(receiver.port, padded(bodyBytesMax))).status).toBe(204);
    expectProblem(await post(receiver.port, padded(bodyBytesMax + 1)), 413, 'webhook.too-large');
  });

  test('a sender that writes all of it before it listens still reads the answer', async () => {
    const receiver = await startReceiver({ settings: { limits: { bodyBytesMax } } });
    const answer = await post(receiver.port, Buffer.alloc(20_000_000, 0x5b));
    expectProblem(answer, 413, 'webhook.too-large');
  });
});

describe('W10: a slow sender is a 408, and slows nobody else', () => {
  const limits = { headersTimeoutMs: 150, requestTimeoutMs: 300, connectionsCheckMs: 25 };
  const slow = /^HTTP\/1\.1 408 [\s\S]*"code":"webhook\.slow-sender"/;

  test('slow headers', async () => {
    const receiver = await startReceiver({ settings: { limits } });
    const connection = openConnection(receiver.port);
    connection.write('POST /webhooks HTTP/1.1\r\nHost: a\r\nX-');
    expect(await connection.ended).toMatch(slow);
    expect(receiver.refusals).toEqual([{ reason: 'slow-sender', status: 408 }]);
  });

  test('a slow body', async () => {
    const receiver = await startReceiver({ settings: { limits } });
    const connection = openConnection(receiver.port);
    connection.write(requestText(good).slice(0, -10));
    expect(await connection.ended).toMatch(slow);
    expect(receiver.refusals).toContainEqual({ reason: 'slow-sender', status: 408 });
    expectNothingStored(receiver);
  });

  test.each<[string, Partial<WebhookSettings>, RegExp]>([
    ['authorization', {}, /^HTTP\/1\.1 503 [\s\S]*Retry-After: 5/],
    ['hmac', { auth: ['hmac'], hmacSecrets: () => [new Secret(hmacSecret)] }, slow],
    ['token', { auth: ['token'], tokens: () => [{ token: new Secret('t1'), user: null }] }, slow],
  ])('long bodies that stop take nothing from a delivery that is whole (%s)', async (mode, auth, ended) => {
    const clock = makeFakeClock(nowMs);
    const room = { bodyBytesMax: 60_000, bytesArrivingMax: 110_000, bytesInFlightMax: 110_000 };
    const receiver = await startReceiver({ clock, settings: { ...auth, limits: room } });
    const bodyOf = (more: object) => JSON.stringify([notification({ token: 't1', ...more })]);
    const deliver = async (body: string) =>
      (await post(receiver.port, body, { headers: signedBy(hmacSecret, body) })).status;
    const short = bodyOf({});
    const long = bodyOf({ displayName: 'x'.repeat(50_000) });
    const slowSenders = [openConnection(receiver.port), openConnection(receiver.port)];
    const stops = requestText('x'.repeat(55_000)).slice(0, mode === 'authorization' ? -54_999 : -1);
    for (const sender of slowSenders) sender.write(stops);
    // They are known to hold all room once a long body finds none.
    await until(async () => (await deliver(long)) === 503, { withinMs: 30_000, everyMs: 1 });
    expect(await deliver(short)).toBe(204);
    const inPieces = openConnection(receiver.port);
    const signed = Object.entries(signedBy(hmacSecret, short)).map(
      ([name, value]) => `\r\n${name}: ${value}`,
    );
    inPieces.write(
      `POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: ${authorization}${signed.join('')}\r\nTransfer-Encoding: chunked\r\n\r\n${short.length.toString(16)}\r\n${short}\r\n0\r\n\r\n`,
    );
    expect(await inPieces.answers(1)).toMatch(/^HTTP\/1\.1 204 /);
    inPieces.destroy();
    await clock.advance(defaultWebhookLimits.arrivalProgressMs);
    expect(await deliver(long)).toBe(204);
    // One of them was enough for it.
    expect(await Promise.race(slowSenders.map((sender) => sender.ended))).toMatch(ended);
    for (const sender of slowSenders) sender.destroy();
  });

  test('the real times are 10 s for headers and 20 s for all, looked at twice a second', () => {
    expect(defaultWebhookLimits).toMatchObject({
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 20_000,
      connectionsCheckMs: 500,
    });
  });

  test('1000 idle connections: each is ended in time, and deliveries in between are answered', async () => {
    const receiver = await startReceiver({
      settings: { limits: { ...limits, headersTimeoutMs: 1500, requestTimeoutMs: 1500 } },
    });
    const delivered = async (): Promise<number> => {
      const tookMs: number[] = [];
      for (let count = 0; count < 100; count += 1) {
        const beganMs = performance.now();
        expect((await post(receiver.port, good)).status).toBe(204);
        tookMs.push(performance.now() - beganMs);
      }
      return tookMs.toSorted((left, right) => left - right)[94]!;
    };
    const quietMs = await delivered();
    const idle = Array.from({ length: 1000 }, () => openConnection(receiver.port));
    await Promise.all(idle.map(({ opened }) => opened));
    // Whoever waited behind one idle connection would take more than a second.
    expect(await delivered()).toBeLessThan(2 * quietMs + 200);
    for (const text of await Promise.all(idle.map(({ ended }) => ended))) expect(text).toMatch(slow);
  });
});

test('W11: an unknown type, version or field is accepted and handed over as unknown', async () => {
  const receiver = await startReceiver();
  const body = [
    notification({ eventTypeId: 'boundary', version: '9.0', extra: { a: [1] } }),
    notification({ version: '9.0', extra: null }),
  ];
  expect((await post(receiver.port, body)).status).toBe(204);
  expect(receiver.deliveries[0]?.elements).toEqual([
    { line: 'ignored', eventTypeId: 'boundary', address: expect.any(String) },
    expect.objectContaining({ line: 'hint', organizationId: '4711' }),
  ]);
  expect(receiver.refusals).toEqual([]);
});

test('W12: a field that is missing, null or of another type sets its element aside with the place', async () => {
  const receiver = await startReceiver();
  const { targetResource: _left, ...missing } = notification();
  const body = [
    missing,
    notification({ targetResource: null }),
    notification({ metadata: { orgId: '4711' } }),
    notification({ metadata: [{ key: 'orgId', value: null }] }),
    notification({ eventTypeId: 5 }),
    notification({ links: null }),
  ];
  expect((await post(receiver.port, body)).status).toBe(204);
  const paths = [
    '/targetResource',
    '/targetResource',
    '/metadata',
    '/metadata/0/value',
    '/eventTypeId',
    '/links',
  ];
  expect(receiver.deliveries[0]?.elements).toEqual(
    paths.map((path) => ({
      line: 'quarantined',
      reason: 'malformed-notification',
      path,
      raw: expect.any(String),
    })),
  );
});

test('W13: one bad element among 256 is set aside, and 255 go on', async () => {
  const receiver = await startReceiver();
  const body = Array.from({ length: 256 }, (_, at) =>
    at === 100
      ? { bad: true }
      : notification({ targetResource: `https://api.acme.test/fieldOperations/${at}` }),
  );
  expect((await post(receiver.port, body)).status).toBe(204);
  const elements = receiver.deliveries[0]?.elements ?? [];
  expect(elements.filter(({ line }) => line === 'hint')).toHaveLength(255);
  expect(elements[100]).toEqual({
    line: 'quarantined',
    reason: 'malformed-notification',
    path: '/eventTypeId',
    raw: '{"bad":true}',
  });
});

describe('W14: JSON made to hurt is a 400 or set aside; nothing crashes, and ids keep their bytes', () => {
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const keys = Array.from({ length: 300_000 }, (_, at) => `"k${at}":1`).join(',');

  test.each([
    ['nested 200,000 deep', bytes('['.repeat(200_000) + ']'.repeat(200_000)), 'too-deep'],
    ['with hundreds of thousands of members', bytes(`[{${keys}}]`), 'too-many-values'],
    ['with a byte order mark', bytes([0xef, 0xbb, 0xbf], good), 'not-json'],
    ['that is not UTF-8', bytes('[{"eventTypeId":"', [0xff, 0xfe], '"}]'), 'not-utf8'],
  ])('a body %s', async (_how, body, fault) => {
    const receiver = await startReceiver();
    expectProblem(await post(receiver.port, body), 400, 'webhook.unreadable');
    expect(receiver.samples).toEqual([expect.objectContaining({ fault })]);
    expect(receiver.samples[0]?.raw.length).toBeLessThanOrEqual(8192);
    expect((await post(receiver.port, good)).status).toBe(204);
  });

  test('members named `__proto__` and `constructor` change no prototype and give nothing to inherit', async () => {
    const receiver = await startReceiver();
    const body = `[{"__proto__":${JSON.stringify(notification())}},{"constructor":{"prototype":{"hurt":1}},"eventTypeId":"heartbeat"}]`;
    expect((await post(receiver.port, body)).status).toBe(204);
    expect(receiver.deliveries[0]?.elements.map(({ line }) => line)).toEqual(['quarantined', 'acted']);
    expect(({} as { hurt?: number }).hurt).toBeUndefined();
  });

  test('an element with two members of one name is set aside, whichever was meant; others are not', async () => {
    const receiver = await startReceiver();
    const twice = good.slice(1, -1).replace('{', '{"event\\u0054ypeId":"heartbeat",');
    const deep = good.slice(1, -1).replace('"key"', '"key":"other","key"');
    expect((await post(receiver.port, `[${good.slice(1, -1)},${twice},${deep}]`)).status).toBe(204);
    expect(receiver.deliveries[0]?.elements).toMatchObject([
      { line: 'hint', address: notification().targetResource },
      { line: 'quarantined', reason: 'repeated-member', path: '/eventTypeId' },
      { line: 'quarantined', reason: 'repeated-member', path: '/metadata/0/key' },
    ]);
    // Of both an operator reads what each name held.
    expect(receiver.deliveries[0]?.elements).toMatchObject([
      {},
      { raw: expect.stringMatching(/"eventTypeId":"heartbeat".*"eventTypeId":"fieldOperation"/) },
      { raw: expect.stringMatching(/"key":"other","key":"orgId"/) },
    ]);
  });

  test('an id beyond 2^53 keeps its digits', async () => {
    const receiver = await startReceiver();
    await post(receiver.port, good.replace('"4711"', '9007199254740993'));
    expect(receiver.deliveries[0]?.elements).toEqual([
      expect.objectContaining({ line: 'hint', organizationId: '9007199254740993' }),
    ]);
  });

  test.each(['\\u0000', '\\ud800'])('%s in an id or an address sets the element aside', async (character) => {
    const receiver = await startReceiver();
    const inId = good.replace('4711', `47${character}`);
    const inAddress = good.replace('795b80cf', character);
    await post(receiver.port, `[${inId.slice(1, -1)},${inAddress.slice(1, -1)}]`);
    expect(receiver.deliveries[0]?.elements).toMatchObject([
      { line: 'quarantined', path: '/metadata/0/value' },
      { line: 'quarantined', path: '/targetResource' },
    ]);
    expect(JSON.stringify(receiver.deliveries)).not.toMatch(/\0/);
  });
});

test('W15: a compressed body is a 415, and is never decompressed', async () => {
  const receiver = await startReceiver();
  const bomb = gzipSync(Buffer.alloc(50_000_000, 0x5b));
  const answer = await post(receiver.port, bomb, { headers: { 'content-encoding': 'gzip' } });
  expectProblem(answer, 415, 'webhook.media-type');
  expect(receiver.refusals).toEqual([{ reason: 'content-encoding', status: 415 }]);
  expectNothingStored(receiver);
});

describe('W16: what is asked wrongly is told so, and nothing of it is repeated', () => {
  const canary = JSON.stringify([notification({ displayName: 'canary' })]);

  test.each(['text/plain', 'application/xml', 'application/json; charset=latin-1'])(
    'the content type %s is a 415',
    async (type) => {
      const receiver = await startReceiver();
      const answer = await post(receiver.port, canary, { headers: { 'content-type': type } });
      expectProblem(answer, 415, 'webhook.media-type');
      expectNothingStored(receiver);
    },
  );

  test.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('%s is a 405 that allows POST', async (method) => {
    const receiver = await startReceiver();
    const answer = await post(receiver.port, canary, { method });
    expectProblem(answer, 405, 'webhook.method');
    expect(answer.headers.allow).toBe('POST');
    expectNothingStored(receiver);
  });

  test('HEAD is a 405 without a body', async () => {
    const receiver = await startReceiver();
    const answer = await post(receiver.port, '', { method: 'HEAD' });
    expect([answer.status, answer.headers.allow, answer.body]).toEqual([405, 'POST', '']);
  });

  test.each(['/', '/webhooks/', '/Webhooks', '/webhooks/canary', '//webhooks', '/%zz', '/webhook?canary'])(
    'the path %s is a 404',
    async (path) => {
      const receiver = await startReceiver();
      const answer = await post(receiver.port, canary, { path });
      expectProblem(answer, 404, 'webhook.not-found');
      expect(answer.body).not.toContain('canary');
      expectNothingStored(receiver);
    },
  );

  test('a query is of no concern', async () => {
    const receiver = await startReceiver();
    expect((await post(receiver.port, good, { path: '/webhooks?subscription=7' })).status).toBe(204);
  });
});

test('W18: while two values are current both hold; once the old one is taken away it is a 401', async () => {
  let current = ['Bearer old', 'Bearer new'];
  const receiver = await startReceiver({
    settings: { authorizationValues: () => current.map((value) => new Secret(value)) },
  });
  const statusOf = async (value: string) =>
    (await post(receiver.port, good, { headers: { authorization: value } })).status;
  expect([await statusOf('Bearer old'), await statusOf('Bearer new')]).toEqual([204, 204]);
  current = ['Bearer new'];
  expect([await statusOf('Bearer old'), await statusOf('Bearer new')]).toEqual([401, 204]);
  expect(receiver.deliveries).toHaveLength(3);
});

test('W19: a clock that is wrong by 10 minutes shows as its own reason', async () => {
  const clock = makeFakeClock(nowMs + 600_000);
  const receiver = await startReceiver({
    settings: { auth: ['hmac'], hmacSecrets: () => [new Secret(hmacSecret)] },
    clock,
  });
  await post(receiver.port, good, { headers: signedBy(hmacSecret, good) });
  clock.set(nowMs - 600_000);
  await post(receiver.port, good, { headers: signedBy(hmacSecret, good) });
  expect(receiver.refusals.map(({ reason }) => reason)).toEqual([
    'timestamp-too-old',
    'timestamp-in-the-future',
  ]);
});

describe('W21: a sender that goes away', () => {
  test('in the middle of its body leaves nothing', async () => {
    const receiver = await startReceiver();
    for (const cut of [10, 100, requestText(good).length - 1]) {
      const connection = openConnection(receiver.port);
      connection.write(requestText(good).slice(0, cut));
      connection.end();
      await connection.ended;
    }
    expect((await post(receiver.port, good)).status).toBe(204);
    expect(receiver.deliveries).toHaveLength(1);
    expect(receiver.samples).toEqual([]);
  });

  test('after its body, before the answer, has its delivery stored, and the next sender is served', async () => {
    const saved = Promise.withResolvers<Accepted>();
    const receiver = await startReceiver({ accept: () => saved.promise });
    const connection = openConnection(receiver.port);
    connection.write(requestText(good));
    while (receiver.deliveries.length === 0) await new Promise((resolve) => setImmediate(resolve));
    connection.destroy();
    await connection.ended;
    saved.resolve(stored);
    expect((await post(receiver.port, good)).status).toBe(204);
    expect(receiver.deliveries).toHaveLength(2);
  });
});

describe('W23: unusual HTTP is correct or refused', () => {
  test('Expect: 100-continue', async () => {
    const receiver = await startReceiver();
    const connection = openConnection(receiver.port);
    const [head = '', body = ''] = requestText(good, ['Expect: 100-continue', 'Connection: close']).split(
      '\r\n\r\n',
    );
    connection.write(`${head}\r\n\r\n`);
    connection.write(body);
    const text = await connection.ended;
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 204 /);
  });

  test('HTTP/1.0', async () => {
    const receiver = await startReceiver();
    const connection = openConnection(receiver.port);
    connection.write(requestText(good, [], '1.0'));
    expect(await connection.ended).toMatch(/^HTTP\/1\.1 204 [\s\S]*Connection: close/);
    expect(receiver.deliveries).toHaveLength(1);
  });

  test('pipelining: every delivery is answered, in order', async () => {
    const first = Promise.withResolvers<Accepted>();
    let count = 0;
    const receiver = await startReceiver({
      accept: () => {
        count += 1;
        return count === 1 ? first.promise : Promise.reject(new Error('second'));
      },
    });
    const connection = openConnection(receiver.port);
    connection.write(requestText(good) + requestText(good));
    while (receiver.deliveries.length < 2) await new Promise((resolve) => setImmediate(resolve));
    first.resolve(stored);
    const text = await connection.answers(2);
    expect(text.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 204', 'HTTP/1.1 503']);
    connection.destroy();
  });

  test('pipelining: who sends more than 16 requests ahead loses the connection, and the rest is not looked at', async () => {
    const receiver = await startReceiver();
    const connection = openConnection(receiver.port);
    connection.write('GET /x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
    await connection.ended;
    expect(receiver.refusals).toHaveLength(16);
    expect(await post(receiver.port, good)).toMatchObject({ status: 204 });
  });

  test('pipelining: what is broken after a delivery that waits is never answered in its place', async () => {
    const saved = Promise.withResolvers<Accepted>();
    const receiver = await startReceiver({ accept: () => saved.promise });
    const connection = openConnection(receiver.port);
    connection.write(`${requestText(good)}canary\r\n\r\n`);
    expect(await connection.ended).toBe('');
    saved.resolve(stored);
    expect(receiver.deliveries).toHaveLength(1);
    expect(receiver.refusals).toEqual([{ reason: 'not-http', status: 0 }]);
  });

  test('chunks and trailers', async () => {
    const receiver = await startReceiver();
    const connection = openConnection(receiver.port);
    const head = requestText('', ['Transfer-Encoding: chunked', 'Trailer: X-Canary', 'Connection: close']);
    const chunked = `${good.length.toString(16)}\r\n${good}\r\n0\r\nX-Canary: 1\r\n\r\n`;
    connection.write(head.replace('Content-Length: 0\r\n', '') + chunked);
    expect(await connection.ended).toMatch(/^HTTP\/1\.1 204 /);
    expect(receiver.deliveries).toHaveLength(1);
  });

  test.each([
    ['no HTTP at all', 'canary canary\r\n\r\n', 400],
    ['a length and chunks at once', requestText(good, ['Transfer-Encoding: chunked']), 400],
    ['two lengths', requestText(good, ['Content-Length: 3']), 400],
    [
      'a chunk that is none',
      requestText('zz\r\n', ['Transfer-Encoding: chunked']).replace('Content-Length: 4\r\n', ''),
      400,
    ],
    ['headers of 20 kB', requestText(good, [`X-Long: ${'a'.repeat(20_000)}`]), 431],
  ])('%s', async (_what, text, status) => {
    const receiver = await startReceiver();
    const connection = openConnection(receiver.port);
    connection.write(text);
    const answer = await connection.ended;
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*"status":${status}`));
    expect(answer).not.toContain('canary');
    expectNothingStored(receiver);
  });
});

describe('T2: requests on connections that keep alive, while the process drains', () => {
  test('are served, close their connection, and none is lost', async () => {
    const receiver = await startReceiver();
    const connections = Array.from({ length: 20 }, () => openConnection(receiver.port));
    // The first half of a request is on its way when the draining begins.
    const text = requestText(good);
    for (const connection of connections) {
      connection.write(text);
      await connection.answers(1);
      connection.write(text.slice(0, 40));
    }
    await post(receiver.port, good);
    receiver.server.drain();
    for (const connection of connections) connection.write(text.slice(40));
    for (const connection of connections) {
      const answers = await connection.ended;
      expect(answers.match(/^HTTP\/1\.1 204/gm)).toHaveLength(2);
      expect(answers.match(/^Connection: close/gm)).toHaveLength(1);
    }
    expect(receiver.deliveries).toHaveLength(41);
    await receiver.server.close(1000);
  });
});
