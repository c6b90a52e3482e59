/**
 * Seals every stored token with the first key of the settings. Safe to repeat and to break off: a row is replaced only
 * as it was read, and what is sealed with the first key already is left as it is.
 */
import type { Settings } from '../config';
import { resealTokens } from '../connect/reseal-tokens';
import type { Store } from '../model/store';
import { resealSecrets } from '../subscribe/reseal-secrets';
import { makeSealer } from '../tools/secret';

/** Throws `settings.invalid` without keys, `store.key-missing` when a token was sealed with a key that is not listed. */
export async function reencryptTokens(
  settings: Settings,
  store: Store,
): Promise<{ resealed: number; kept: number }> {
  const keys = settings.encryptionKeys ?? [];
  const sealer = makeSealer(keys);
  const firstKeyId = keys[0]?.id ?? '';
  const tokens = await resealTokens(store, sealer, firstKeyId);
  const secrets = await resealSecrets(store, sealer, firstKeyId);
  return { resealed: tokens.resealed + secrets.resealed, kept: tokens.kept + secrets.kept };
}
