/**
 * Joins what leads to connections and keeps them: consents, their public routes, renewal, and what operators can do. The
 * service gives its own book and access; a process that reads nothing gives small ones.
 */
import type { Settings } from '../config';
import { type AuthorizationServer, makeAuthorizationServer } from '../connect/authorization-server';
import type { ConnectionBook } from '../connect/connection-book';
import { makeConnectionsApi } from '../connect/connections-api';
import { makeConsents } from '../connect/consents';
import { endConnection } from '../connect/end-connection';
import { makeExpiring } from '../connect/expiring';
import { leftBehindWords } from '../connect/given-grants';
import { GrantRefusal } from '../connect/grant-refusal';
import { makeRenewal, type Renewal } from '../connect/renewal';
import type * as Routes from '../connect/routes';
import type { ConnectRoutes } from '../connect/routes';
import type { ClientPause } from '../fetch/options';
import { makeTokenCalls } from '../fetch/token-calls';
import type { Condition } from '../model/alert';
import type { ConnectionsApi, TokenCalls, TokenRenewal } from '../model/consent';
import type { Store } from '../model/store';
import type { Observer } from '../observe/observer';
import { type Clock, endsWithin } from '../tools/clock';
import { makeSealer } from '../tools/secret';
import * as options from './options';

export interface ConnectingParts {
  store: Store;
  book: Pick<ConnectionBook, 'find' | 'refresh' | 'learnOne' | 'connections' | 'unlisted'>;
  /** Erases a connection, with all that follows for organizations; false when it is unknown. */
  erase(connectionId: string): Promise<boolean>;
  /** What a new connection sees was learned. */
  learned(): void;
  /** What a new connection sees could not be learned at once. */
  unlearned(): void;
  /** The grant of this token is over: put on record, so that nobody shows it again. Never rejects. */
  refused(connectionId: string, message: string, sealedToken: string): Promise<void>;
  /** A refused connection has tokens that are good. Rejects as the store does. */
  accepted(connectionId: string): Promise<void>;
  /** Whose consents the end leaves in doubt, in words; called once at most. */
  lost(detail: string): void;
  /** One call for tokens is made. */
  called(): Promise<void> | null;
  /** Of the client key at the API; the authorization server has limits of its own. */
  pause: ClientPause;
  clock: Clock;
  /** This process, as the holder of leases. */
  holder: string;
}

export interface Connecting {
  renewal: Renewal;
  api: ConnectionsApi;
  /** To be mounted under `/connect`; `ready` is awaited before anything is asked of the provider. */
  routes(observer: Pick<Observer, 'fault' | 'trouble'>, ready?: () => Promise<void>): ConnectRoutes;
  /** Ends an organization's connection at the provider; false when that could not be done. */
  end(organizationId: string): Promise<boolean>;
  conditions(): Condition[];
  /** Why the issuer gives no tokens now, in a sentence; null where it may, or nobody needs it. Never rejects. */
  issuerTrouble(): Promise<string | null>;
  /** Ends the renewals, within this time: true when that leaves no consent in doubt, else it is told whose. Never rejects. */
  stop(withinMs: number): Promise<boolean>;
  close(): void;
}

/** The browser waits for it. */
const learnMsMax = 10_000;

/** Throws `settings.invalid` where what it takes is missing. A page waits at most 10 s for what a new connection sees. */
export function wireConnecting(settings: Settings, parts: ConnectingParts): Connecting {
  const { store, book, clock, holder } = parts;
  const sealer = makeSealer(settings.encryptionKeys ?? []);
  const calls = makeTokenCalls(
    { ...options.providerOptions(settings), called: parts.called },
    parts.pause,
    clock,
  );
  const server = serverOf(settings, calls, clock);
  const renewal = makeRenewal({
    store,
    sealer,
    server,
    known: (connectionId) => book.find(connectionId),
    changed: () => book.refresh(),
    refused: parts.refused,
    accepted: parts.accepted,
    clock,
    holder,
    callMsMax: settings.providerTimeoutMs,
  });

  const expiring = makeExpiring();

  async function connected(connectionId: string) {
    const learning = book.learnOne(connectionId).catch(() => null);
    const seen = (await endsWithin(learning, learnMsMax, clock)) ? await learning : null;
    if (seen === null) parts.unlearned();
    else parts.learned();
    return seen;
  }

  const { providerAuth: auth, publicUrl } = settings;
  const consents = makeConsents({ store, sealer, calls, server, auth, publicUrl, connected, clock });
  return {
    renewal,
    api: makeConnectionsApi({
      store,
      sealer,
      server,
      consents,
      erase: parts.erase,
      unlisted: (connectionId) => book.unlisted(connectionId),
    }),
    routes(observer, ready = async () => {}) {
      // They bring Express, which a command has no use for.
      const { makeConnectRoutes } = require('../connect/routes') as typeof Routes;
      return makeConnectRoutes({
        consents,
        ready,
        secure: publicUrl?.startsWith('https:') === true,
        failed(error) {
          if (!(error instanceof GrantRefusal)) observer.fault('connections', error);
          else
            observer.trouble({ place: 'connections', code: `grant-${error.fault}`, detail: error.message });
        },
        refused: (code, detail) => observer.trouble({ place: 'connections', code, detail }),
      });
    },
    end: async (organizationId) =>
      parts.pause.leftMs() === 0 && (await endConnection({ calls, server }, organizationId)),
    conditions() {
      const nowMs = clock.nowMs();
      const trouble = renewal.trouble();
      const unrenewed = { name: 'provider-unavailable' as const, labels: { origin: 'tokens' } };
      return [
        ...expiring(book.connections(), nowMs),
        ...(trouble === null ? [] : [{ ...unrenewed, ...trouble }]),
      ];
    },
    async issuerTrouble() {
      const isNeeded = auth === 'oauth2' || book.connections().some((known) => known.auth === 'oauth2');
      return server === null || !isNeeded ? null : server.trouble();
    },
    async stop(withinMs) {
      const words = leftBehindWords(await renewal.end(withinMs));
      // One line: of those with the same code a second one is not told.
      if (words.length > 0) parts.lost(words.join('; '));
      return words.length === 0;
    },
    close: () => calls.close(),
  };
}

/** Of what is joined later than whoever needs it. */
export function lateRenewal(connecting: () => Connecting): TokenRenewal {
  return {
    current: (connection) => connecting().renewal.current(connection),
    renew: (connection) => connecting().renewal.renew(connection),
  };
}

/** Tokens that the settings name are imported once; then everything is known. Throws `store.key-missing`. */
export async function readConnections(
  { providerTokens }: Settings,
  book: Pick<ConnectionBook, 'refresh' | 'importTokens'>,
): Promise<void> {
  if (providerTokens === null) await book.refresh();
  else await book.importTokens([...providerTokens]);
}

function serverOf(settings: Settings, calls: TokenCalls, clock: Clock): AuthorizationServer | null {
  const { providerIssuer: issuer, providerOrigins, providerScopes } = settings;
  if (issuer === null) return null;
  const { clientKey, clientSecret } = options.providerOptions(settings);
  const given = { issuer, clientKey, clientSecret };
  return makeAuthorizationServer(
    { ...given, origins: providerOrigins ?? [], scopes: providerScopes ?? [] },
    calls,
    clock,
  );
}
