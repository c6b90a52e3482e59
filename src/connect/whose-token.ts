/**
 * Whose consent a new token is: the provider's own word, where it gives one. The catalog is read again here, in the new
 * security context; its `currentUser` names the user, else the subject of a token that is a JWT. A name is not proof of
 * anything but which connection a consent replaces.
 */
import type { TokenCalls, UserToken } from '../model/consent';

const nameText = /^\P{Cc}{1,200}$/u;

/** null when the provider does not say. Never rejects. */
export async function whoseToken(calls: TokenCalls, token: UserToken): Promise<string | null> {
  const catalog = await calls.links(token);
  const address = 'links' in catalog ? catalog.links.get('currentUser') : undefined;
  const read = address === undefined ? null : await calls.read(address, token);
  const named = read !== null && 'document' in read ? accountOf(read.document) : null;
  return named ?? (token.auth === 'oauth2' ? subjectOf(token.token.open()) : null);
}

function accountOf(document: unknown): string | null {
  if (typeof document !== 'object' || document === null) return null;
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
