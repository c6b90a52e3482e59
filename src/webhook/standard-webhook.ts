/**
 * The signature of Standard Webhooks (specification 1.0, "Verifying signatures"): HMAC-SHA256 over id, timestamp and the
 * raw body, in several versions and under several secrets at once. Pure; the time is handed in.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Secret } from '../tools/secret';
import type { RefusalReason } from './refusals';

/** Both into the past and into the future; the boundary itself is accepted. */
const toleranceSeconds = 300;
const signaturesMax = 16;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const printable = /^[\x21-\x7e]{1,256}$/;

const keys = new WeakMap<Secret, Buffer | null>();

/** The key of a secret, or null when it is not base64 (with or without `whsec_`) of at least one byte. */
export function hmacKeyOf(secret: Secret): Buffer | null {
  let key = keys.get(secret);
  if (key === undefined) {
    const text = secret.open().replace(/^whsec_/, '');
    key = text !== '' && base64.test(text) ? Buffer.from(text, 'base64') : null;
    keys.set(secret, key);
  }
  return key;
}

/**
 * Why the headers and the body do not hold, or null when they do. Looks at every secret and every one of the first 16
 * signatures.
 */
export function checkStandardWebhook(
  headers: IncomingHttpHeaders,
  body: Buffer,
  secrets: readonly Secret[],
  nowMs: number,
): RefusalReason | null {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') {
    return 'signature-missing';
  }
  // The id goes into the store. A full stop in it is harmless: moved to the timestamp's side, it would leave a body that
  // begins with digits and a full stop, which is no array.
  if (!printable.test(id) || !/^\d{1,12}$/.test(timestamp)) return 'signature-wrong';
  // Between two headers of that name, node:http writes a comma as well.
  const presented = signatures.split(/,? /, signaturesMax).filter((one) => one.startsWith('v1,'));
  let holds = false;
  for (const secret of secrets) {
    const key = hmacKeyOf(secret);
    if (key === null) continue;
    const expected = Buffer.from(
      `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
    );
    for (const one of presented) if (equalBytes(expected, Buffer.from(one))) holds = true;
  }
  if (!holds) return 'signature-wrong';
  // Only now, so that a wrong clock is told of those alone who hold a secret.
  const aheadSeconds = Number(timestamp) - Math.floor(nowMs / 1000);
  if (aheadSeconds > toleranceSeconds) return 'timestamp-in-the-future';
  if (aheadSeconds < -toleranceSeconds) return 'timestamp-too-old';
  return null;
}

/** The length of a signature is public, so only its bytes are compared in constant time. */
function equalBytes(expected: Buffer, presented: Buffer): boolean {
  return expected.length === presented.length && timingSafeEqual(expected, presented);
}
