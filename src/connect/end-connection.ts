/**
 * Ends an organization's connection to this application at the provider: an act of the application, with a token of its
 * own, which only OAuth 2 has. Its address is found by relationship, never made. What cannot be ended is told, never
 * thrown: whoever forgets an organization goes on.
 */
import type { TokenCalls, TokenListings, TokenReply, UserToken } from '../model/consent';
import type { AuthorizationServer } from './authorization-server';
import { isPage } from './token-answer';

export interface EndDoors {
  calls: Pick<TokenCalls, 'call' | 'links'> & TokenListings;
  /** null: no issuer is configured. */
  server: Pick<AuthorizationServer, 'application'> | null;
}

/** What is not there may have moved since it was listed, or while it was: then it is looked for once more. */
const looksMax = 2;

/**
 * True when the provider ended it, or its whole listing of connections holds none of this organization. The listing is
 * looked through at most twice.
 */
export async function endConnection({ calls, server }: EndDoors, organizationId: string): Promise<boolean> {
  if (server === null) return false;
  const token = await tokenOf(server);
  if (token === null) return false;
  for (let looks = 0; looks < looksMax; looks += 1) {
    const addresses = await connectionsOf(calls, token, organizationId);
    if (addresses === null) continue;
    let moved = false;
    for (const url of addresses) {
      const reply = await calls.call({ method: 'DELETE', url, sign: { token }, ofApi: true });
      if (reply.status === 404 || reply.status === 410) moved = true;
      else if (!isDone(reply)) return false;
    }
    if (!moved) return true;
  }
  return false;
}

function isDone(reply: TokenReply): boolean {
  return reply.status !== null && reply.status < 300 && !isPage(reply);
}

/** null: none is given. */
async function tokenOf(server: Pick<AuthorizationServer, 'application'>): Promise<UserToken | null> {
  try {
    return { auth: 'oauth2', token: await server.application(), tokenSecret: null };
  } catch {
    // Told by the answer.
    return null;
  }
}

/**
 * Where the organization's connections stand, from the application's own catalog; null when that cannot be known: the
 * catalog names no listing of them, not all of it could be read, or one of them names no address.
 */
async function connectionsOf(
  calls: EndDoors['calls'],
  token: UserToken,
  organizationId: string,
): Promise<string[] | null> {
  const catalog = await calls.links(token);
  const listing = 'links' in catalog ? catalog.links.get('connections') : undefined;
  if (listing === undefined) return null;
  const addresses: string[] = [];
  for await (const entry of calls.list(listing, token)) {
    if ('partial' in entry) return null;
    const owner = ownerOf(entry.document);
    if (owner !== null && owner !== organizationId) continue;
    // One that names no organization may be the one.
    if (owner === null || entry.self === null) return null;
    addresses.push(entry.self);
  }
  return addresses;
}

function ownerOf(document: unknown): string | null {
  if (typeof document !== 'object' || document === null) return null;
  const { orgId } = document as { orgId?: unknown };
  return (typeof orgId === 'string' && orgId !== '') || typeof orgId === 'number' ? String(orgId) : null;
}
