// Secrets of the invented provider: the same for the same seed and purpose, so that a simulator started again on its
// port is the same provider. Nothing here is ever a real secret.
import { createHash } from 'node:crypto';

/** 32 bytes that depend on the seed and the purpose alone. */
export function secretFor(seed: number, purpose: string): Buffer {
  return createHash('sha256').update(`tramline simulator ${seed} ${purpose}`).digest();
}

/** Base64 with `+`, `/` and `=` in it, as the provider's token secrets are: a client has to encode it in the key. */
export function awkwardSecretFor(seed: number, purpose: string): string {
  for (let at = 0; ; at += 1) {
    const secret = secretFor(seed, `${purpose}-${at}`).toString('base64');
    if (secret.includes('+') && secret.includes('/')) return secret;
  }
}
