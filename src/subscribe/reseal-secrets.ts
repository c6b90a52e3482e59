/**
 * Sealing stored secrets of webhooks anew with the first key, so that a former one can be taken out of the settings.
 */
import type { WebhookSecrets } from '../model/store';
import type { Sealer } from '../tools/secret';
import { contextOf } from './held-secrets';

/**
 * How many were sealed anew and how many were left; what is dropped or sealed anew meanwhile, by somebody else, is
 * neither. Throws `store.key-missing`; what was done stays.
 */
export async function resealSecrets(
  store: Pick<WebhookSecrets, 'listWebhookSecrets' | 'resealWebhookSecret'>,
  sealer: Sealer,
  firstKeyId: string,
): Promise<{ resealed: number; kept: number }> {
  let resealed = 0;
  let kept = 0;
  for (const row of await store.listWebhookSecrets()) {
    if (row.sealed.startsWith(`${firstKeyId}.`)) {
      kept += 1;
      continue;
    }
    const context = contextOf(row);
    const sealed = sealer.seal(sealer.unseal(row.sealed, context), context);
    if (await store.resealWebhookSecret(row.id, row.sealed, sealed)) resealed += 1;
  }
  return { resealed, kept };
}
