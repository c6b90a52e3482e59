/**
 * Whose consent a new token is: the provider's own word, where it gives one. The catalog is read again here, in the new
 * security context; its `currentUser` names the user, else the subject of a token that is a JWT. A name is not proof of
 * anything but which connection a consent replaces, so one that cannot be read is never taken for one that is not given.
 */
import type { TokenCalls, TokenReply, UserToken } from '../model/consent';
import { callAt, GrantRefusal, refusalOf } from './grant-refusal';
import type { Patience } from './patience';

const nameText = /^\P{Cc}{1,200}$/u;
/** null when the provider does not say. Throws `GrantRefusal` where it could not be asked. */
export async function whoseToken(
  calls: Pick<TokenCalls, 'catalogAddress' | 'links' | 'read'>,
  token: UserToken,
  patience: Patience,
): Promise<string | null> {
  const { links } = await readPatiently(
    () => calls.links(token),
    callAt('the catalog', calls.catalogAddress),
    patience,
  );
  const address = links.get('currentUser');
  if (address !== undefined) {
    const call = callAt('the current user', address);
    const { document } = await readPatiently(() => calls.read(address, token), call, patience);
    if (typeof document !== 'object' || document === null)
      throw new GrantRefusal('unusable', `${call}: expected an object, got none`);
    const named = accountOf(document);
    if (named !== null) return named;
  }
  return token.auth === 'oauth2' ? subjectOf(token.token.open()) : null;
}

function readPatiently<T extends object>(
  read: () => Promise<T | TokenReply>,
  call: string,
  patience: Patience,
): Promise<T> {
  return patience(async () => {
    const reply = await read();
    if ('status' in reply) throw refusalOf(reply, call);
    return reply;
  });
}

function accountOf(document: object): string | null {
  const { accountName, userName, id } = document as Record<string, unknown>;
  return [accountName, userName, id].find(isName) ?? null;
}

/** It came from the token endpoint itself, over the connection that was just used, so its signature adds nothing. */
function subjectOf(token: string): string | null {
  const [, claims = '', signature] = token.split('.');
  if (signature === undefined) return null;
  try {
    const { sub } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as { sub?: unknown };
    return isName(sub) ? sub : null;
  } catch {
    // No JWT: an opaque token with dots in it.
    return null;
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && nameText.test(value);
}
