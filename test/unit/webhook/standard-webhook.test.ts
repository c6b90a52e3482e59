import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Secret } from '../../../src/tools/secret';
import { checkStandardWebhook, hmacKeyOf } from '../../../src/webhook/standard-webhook';
import fc from '../../support/properties';

const secretText = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const secret = new Secret(secretText);
const nowMs = 1_790_000_000_500;
const nowSeconds = Math.floor(nowMs / 1000);
const body = Buffer.from('[{"eventTypeId":"heartbeat"}]');

function signed(differences: { id?: string; seconds?: number; body?: Buffer; by?: string } = {}) {
  const id = differences.id ?? 'msg_1';
  const seconds = differences.seconds ?? nowSeconds;
  const oracle = new Webhook(differences.by ?? secretText);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': oracle.sign(id, new Date(seconds * 1000), (differences.body ?? body).toString()),
  };
}

test('what the reference implementation signs holds, for any text and secret', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.stringMatching(/^[\x21-\x7e]{1,40}$/),
      fc.uint8Array({ minLength: 1, maxLength: 64 }),
      (text, id, key) => {
        const by = Buffer.from(key).toString('base64');
        const bytes = Buffer.from(text);
        const headers = signed({ id, body: bytes, by });
        expect(checkStandardWebhook(headers, bytes, [new Secret(by)], nowMs)).toBeNull();
      },
    ),
    { numRuns: 200 },
  );
});

test('what is signed here, the reference implementation verifies', () => {
  const seconds = Math.floor(Date.now() / 1000);
  const key = hmacKeyOf(secret) as Buffer;
  const signature = createHmac('sha256', key).update(`msg_9.${seconds}.`).update(body).digest('base64');
  const headers = {
    'webhook-id': 'msg_9',
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  };
  expect(new Webhook(secretText).verify(body, headers)).toEqual([{ eventTypeId: 'heartbeat' }]);
  expect(checkStandardWebhook(headers, body, [secret], seconds * 1000)).toBeNull();
});

test('a body that differs in a single byte does not hold', () => {
  fc.assert(
    fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const altered = Buffer.from(body);
      altered[at] = (altered[at] as number) ^ change;
      expect(checkStandardWebhook(signed(), altered, [secret], nowMs)).toBe('signature-wrong');
    }),
  );
});

test.each([
  [-300, null],
  [-299, null],
  [-301, 'timestamp-too-old'],
  [300, null],
  [299, null],
  [301, 'timestamp-in-the-future'],
])('a timestamp %i s from now gives %s', (seconds, reason) => {
  const headers = signed({ seconds: nowSeconds + seconds });
  expect(checkStandardWebhook(headers, body, [secret], nowMs)).toBe(reason);
});

test('several signature headers are one list, in whichever order they come', () => {
  const headers = signed();
  const right = headers['webhook-signature'] as string;
  // As node:http joins them.
  for (const both of [`${right}, v1,AAAA`, `v1,AAAA, ${right}`]) {
    expect(checkStandardWebhook({ ...headers, 'webhook-signature': both }, body, [secret], nowMs)).toBeNull();
  }
});

test('one right signature among several, and one right secret among several, is enough', () => {
  const headers = signed();
  const other = new Secret(randomBytes(32).toString('base64'));
  const several = `v1,${'A'.repeat(43)}= v1a,abc ${headers['webhook-signature']} v2,zzz`;
  expect(
    checkStandardWebhook({ ...headers, 'webhook-signature': several }, body, [other, secret], nowMs),
  ).toBeNull();
});

test.each([
  ['another version', (one: string) => one.replace('v1,', 'v1a,')],
  ['no version', (one: string) => one.slice(3)],
  ['a cut signature', (one: string) => one.slice(0, -4)],
  ['a longer signature', (one: string) => `${one}AAAA`],
  ['another case of the same letters', (one: string) => `v1,${one.slice(3).toLowerCase()}`],
  [
    'the base64url alphabet',
    (one: string) => `v1,${Buffer.from(one.slice(3), 'base64').toString('base64url')}`,
  ],
  ['nothing after the version', () => 'v1,'],
  ['commas instead of spaces', (one: string) => `v1,x,${one}`],
  ['nothing', () => ''],
])('%s does not hold', (_what, change) => {
  const headers = signed();
  const changed = { ...headers, 'webhook-signature': change(headers['webhook-signature']) };
  expect(checkStandardWebhook(changed, body, [secret], nowMs)).toBe('signature-wrong');
});

test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('without %s nothing holds', (name) => {
  const { [name]: _left, ...rest } = signed() as Record<string, string>;
  expect(checkStandardWebhook(rest, body, [secret], nowMs)).toBe('signature-missing');
});

test.each([
  ['an empty id', { id: '' }],
  ['an id with a space', { id: 'a b' }],
  ['an id that is too long', { id: 'a'.repeat(257) }],
  ['an id outside ASCII', { id: 'é' }],
])('%s is refused though it is signed', (_what, differences) => {
  expect(checkStandardWebhook(signed(differences), body, [secret], nowMs)).toBe('signature-wrong');
});

test.each(['1e9', '-5', '', '12 34', '0x10', '9999999999999'])('the timestamp %j is refused', (timestamp) => {
  const headers = { ...signed(), 'webhook-timestamp': timestamp };
  expect(checkStandardWebhook(headers, body, [secret], nowMs)).toBe('signature-wrong');
});

test('a signature cannot be used for another id or timestamp', () => {
  const headers = signed();
  const otherId = { ...headers, 'webhook-id': 'msg_2' };
  const otherTime = { ...headers, 'webhook-timestamp': String(nowSeconds + 1) };
  expect(checkStandardWebhook(otherId, body, [secret], nowMs)).toBe('signature-wrong');
  expect(checkStandardWebhook(otherTime, body, [secret], nowMs)).toBe('signature-wrong');
});

test('without a secret nothing holds', () => {
  expect(checkStandardWebhook(signed(), body, [], nowMs)).toBe('signature-wrong');
});

test.each(['whsec_', '', 'not base64!', 'whsec_abc'])('%j is no secret', (text) => {
  expect(hmacKeyOf(new Secret(text))).toBeNull();
});

test('a secret that is none does not keep a right one from holding', () => {
  expect(checkStandardWebhook(signed(), body, [new Secret('not base64!'), secret], nowMs)).toBeNull();
});
