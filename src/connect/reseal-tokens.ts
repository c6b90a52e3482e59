/**
 * Sealing stored tokens anew with the first key, so that a former one can be taken out of the settings. Consents on their
 * way are left: they are over in minutes.
 */
import type { SealedTokens } from '../model/connection';
import type { Connections } from '../model/store';
import type { Sealer } from '../tools/secret';
import { sealTokens, unsealConnection } from './token-vault';

/**
 * How many connections were sealed anew and how many were left. A connection whose tokens are replaced meanwhile was
 * sealed by a process of these settings and is looked at once more. Throws `store.key-missing`; what was done stays.
 */
export async function resealTokens(
  store: Pick<Connections, 'listConnections' | 'findConnection' | 'replaceTokens'>,
  sealer: Sealer,
  firstKeyId: string,
): Promise<{ resealed: number; kept: number }> {
  let resealed = 0;
  let kept = 0;
  for (const { connectionId } of await store.listConnections()) {
    for (;;) {
      const sealed = await store.findConnection(connectionId);
      if (sealed === null || isSealedWith(sealed, firstKeyId)) {
        kept += sealed === null ? 0 : 1;
        break;
      }
      const tokens = sealTokens(connectionId, unsealConnection(sealed, sealer), sealer);
      if (!(await store.replaceTokens(connectionId, sealed.sealedToken, tokens))) continue;
      resealed += 1;
      break;
    }
  }
  return { resealed, kept };
}

/** The form begins with the key's id. */
function isSealedWith(
  { sealedToken, sealedTokenSecret, sealedRefresh }: SealedTokens,
  keyId: string,
): boolean {
  return [sealedToken, sealedTokenSecret, sealedRefresh].every(
    (text) => text === null || text.startsWith(`${keyId}.`),
  );
}
