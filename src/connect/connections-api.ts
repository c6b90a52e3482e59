/**
 * What operators can do about connections: see them, ask a user for consent and follow what comes of it, and revoke. A
 * token is never among what is answered.
 */
import type { SealedConnection } from '../model/connection';
import type { ConnectionsApi, ConnectionView } from '../model/consent';
import { Problem } from '../model/problem';
import type { Connections, WebhookSecrets } from '../model/store';
import type { Sealer } from '../tools/secret';
import type { AuthorizationServer } from './authorization-server';
import { viewOf } from './connection-view';
import type { Consents } from './consents';
import { unsealConnection } from './token-vault';

export interface ConnectionsApiDoors {
  store: Pick<Connections, 'listConnections' | 'findConnection'> & Pick<WebhookSecrets, 'listWebhookSecrets'>;
  sealer: Sealer;
  /** null: no issuer is configured. */
  server: Pick<AuthorizationServer, 'revoke'> | null;
  consents: Pick<Consents, 'ask' | 'view' | 'answer'>;
  /** Erases it here, with all that follows; false when it is unknown. */
  erase(connectionId: string): Promise<boolean>;
  /** Why nobody knows what it sees now, as far as this process asked; null where nothing speaks against it. */
  unlisted(connectionId: string): string | null;
}

/** What commands ask of connections. Rejects with coded problems, and as the store does; no view holds a token. */
export function makeConnectionsApi(doors: ConnectionsApiDoors): ConnectionsApi {
  const { store, sealer, consents, unlisted } = doors;
  return {
    async list({ limit, after }) {
      const all = (await store.listConnections()).toSorted((one, other) =>
        one.connectionId < other.connectionId ? -1 : 1,
      );
      return all
        .filter(({ connectionId: id }) => after === null || id > after)
        .slice(0, limit)
        .map((connection) => ({
          ...viewOf(connection, unlisted(connection.connectionId)),
          ...unopenedOf(connection, sealer),
        }));
    },
    async revoke(id) {
      const sealed = await store.findConnection(id);
      // First: what cannot be told afterwards must not be done.
      const subscriptions = await subscribedWith(store, id);
      const atProvider = sealed !== null && (await takenBack(doors, sealed));
      if (sealed === null || !(await doors.erase(id))) {
        throw new Problem('command.not-found', 'there is no such connection');
      }
      return { id, state: 'revoked', atProvider, subscriptions };
    },
    ask: consents.ask,
    consent: consents.view,
    answer: consents.answer,
  };
}

/** Whoever lost a key has to know which connections that one sealed: whatever becomes of these, nothing is asked with them. */
function unopenedOf(sealed: SealedConnection, sealer: Sealer): Pick<ConnectionView, 'unlisted'> {
  try {
    unsealConnection(sealed, sealer);
    return {};
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { unlisted: `its tokens cannot be opened: ${why}` };
  }
}

/** Each once. */
async function subscribedWith(
  store: Pick<WebhookSecrets, 'listWebhookSecrets'>,
  id: string,
): Promise<string[]> {
  const secrets = await store.listWebhookSecrets();
  const own = secrets.filter(({ connectionId }) => connectionId === id);
  return [...new Set(own.flatMap(({ subscriptionId }) => subscriptionId ?? []))];
}

/** Only OAuth 2 has a place for it. What cannot be taken back now is erased here all the same. */
async function takenBack(
  { server, sealer }: ConnectionsApiDoors,
  sealed: SealedConnection,
): Promise<boolean> {
  if (server === null || sealed.auth !== 'oauth2') return false;
  try {
    const { token, refresh } = unsealConnection(sealed, sealer);
    // The refresh token takes the access tokens with it (RFC 7009 section 2.1).
    return await (refresh === null
      ? server.revoke(token, 'access_token')
      : server.revoke(refresh, 'refresh_token'));
  } catch {
    // Told by `atProvider`.
    return false;
  }
}
