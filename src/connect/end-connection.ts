/**
 * Ends an organization's connection to this application at the provider: an act of the application, with a token of its
 * own, which only OAuth 2 has. What cannot be ended is told, never thrown: whoever forgets an organization goes on.
 */
import type { Connection } from '../model/connection';
import type { TokenCalls, TokenRenewal } from '../model/consent';
import { Secret } from '../tools/secret';
import type { AuthorizationServer } from './authorization-server';

export interface EndDoors {
  calls: Pick<TokenCalls, 'call' | 'links'>;
  /** null: no issuer is configured. */
  server: Pick<AuthorizationServer, 'application'> | null;
  renewal: Pick<TokenRenewal, 'current'>;
}

/** True when the provider ended it, or has none; `seeing` are connections by which its address is found. */
export async function endConnection(
  { calls, server, renewal }: EndDoors,
  organizationId: string,
  seeing: readonly Connection[],
): Promise<boolean> {
  if (server === null) return false;
  for (const connection of seeing) {
    const current = await renewal.current(connection);
    const token = 'connection' in current ? current.connection : 'auth' in current ? current : null;
    const found = token === null ? null : await calls.links(token);
    const listing = found !== null && 'links' in found ? found.links.get('organizations') : undefined;
    const url = listing === undefined ? null : endOf(listing, organizationId);
    if (url === null) continue;
    try {
      const application = await server.application();
      const authorization = new Secret(`Bearer ${application.open()}`);
      const { status } = await calls.call({ method: 'DELETE', url, authorization, ofApi: true });
      return status === 200 || status === 204 || status === 404;
    } catch {
      // Told by the answer.
      return false;
    }
  }
  return false;
}

/** The provider documents it below the organization, which is below the listing. */
function endOf(listing: string, organizationId: string): string | null {
  const url = URL.parse(listing);
  if (url === null) return null;
  const path = url.pathname.replace(/;[^/]*/g, '').replace(/\/+$/, '');
  return `${url.origin}${path}/${encodeURIComponent(organizationId)}/connections`;
}
