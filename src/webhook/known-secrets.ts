/**
 * Comparison with the current secrets: every one is looked at, and the time says neither which one was equal nor how far
 * an unequal one agreed. Digests are kept per secret, so that each presented value is hashed once.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../tools/secret';

const digests = new WeakMap<Secret, Buffer>();

function digestOf(secret: Secret): Buffer {
  let digest = digests.get(secret);
  if (digest === undefined) {
    digest = hash('sha256', secret.open(), 'buffer');
    digests.set(secret, digest);
  }
  return digest;
}

/** The last entry whose secret equals `presented`, or null. An empty value equals nothing. */
export function findBySecret<Entry>(
  presented: string,
  entries: readonly Entry[],
  secretOf: (entry: Entry) => Secret,
): Entry | null {
  const digest = hash('sha256', presented, 'buffer');
  let found: Entry | null = null;
  for (const entry of entries) if (timingSafeEqual(digest, digestOf(secretOf(entry)))) found = entry;
  return presented === '' ? null : found;
}
