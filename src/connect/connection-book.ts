/**
 * The connections in force, opened, with the organizations that each sees as last learned. Tokens are unsealed here and
 * kept in memory as secrets; at rest they are sealed, bound to their connection. A token that the settings name is
 * imported once: what the provider said of it later is kept until another token is named.
 */
import { createHash } from 'node:crypto';
import type { Answer } from '../model/answer';
import type { Connection, ConnectionAuth, SealedConnection } from '../model/connection';
import type { Connections, Organizations } from '../model/store';
import type { Clock } from '../tools/clock';
import type { Sealer, Secret } from '../tools/secret';

/** A token as the settings name it. */
export interface NamedToken {
  connection: string;
  user: string;
  auth: ConnectionAuth;
  token: Secret;
  secret: Secret | null;
  refresh: Secret | null;
  expiresAt: string | null;
}

export interface SeenOrganization {
  id: string;
  name: string | null;
  /** True when it carries a `connections` link. */
  unconnected: boolean;
  connectUrl: string | null;
}

/** A page of the organizations that a connection sees, or why the listing ended before its end. */
export type SightPage =
  | { partial: false; organizations: SeenOrganization[] }
  | { partial: true; answer: Answer | null };

export interface BookDoors {
  store: Connections & Organizations;
  sealer: Sealer;
  list(connectionId: string): AsyncIterable<SightPage>;
  /** The listing shows that its customer has not connected it; `epoch` is the organization's before the listing began. */
  unconnected(organizationId: string, actionUrl: string | null, epoch: number): Promise<void>;
  /** The listing was refused for the connection's token. */
  refused(connectionId: string, message: string | null): Promise<void>;
  /** Something depends on what the connections see now: `learn` is to be called. */
  wanted(): void;
  clock: Clock;
}

export interface ConnectionBook {
  connections(): readonly Connection[];
  sees(connectionId: string): ReadonlySet<string>;
  /** Seals and stores what is new, then reads everything back. Throws `store.key-missing`. */
  importTokens(tokens: NamedToken[]): Promise<void>;
  /** Reads connections and sights from the store. Throws `store.key-missing`. */
  refresh(): Promise<void>;
  /** Lists the organizations of each valid connection; true when every listing came to its end. */
  learn(): Promise<boolean>;
  /**
   * null when what each connection sees was listed to its end by a listing that began since. Otherwise one is asked for,
   * not too often, and this is after how many milliseconds it is worth asking again.
   */
  learnedSince(sinceMs: number): number | null;
  /** Has each valid connection been listed at least once, now or by a former process? */
  known(): boolean;
}

/** Listings on request take at most a twentieth of the time, however many organizations there are. */
const learnGapMsMin = 2000;
const learnGapPerMs = 20;
const learnPollMs = 1000;

export function makeConnectionBook(doors: BookDoors): ConnectionBook {
  const { store, sealer, clock } = doors;
  let connections: Connection[] = [];
  let sights = new Map<string, ReadonlySet<string>>();
  const listed = new Set<string>();
  let learning = false;
  /** When the last listing that came to its end began; and when the next one may be asked for. */
  let learnedFromMs = Number.NEGATIVE_INFINITY;
  let nextLearnMs = Number.NEGATIVE_INFINITY;
  const none: ReadonlySet<string> = new Set();

  async function refresh(): Promise<void> {
    const sealed = await store.listConnections();
    connections = sealed.map((connection) => unseal(connection, sealer));
    sights = new Map(
      sealed.map((connection) => [connection.connectionId, new Set(connection.organizations)]),
    );
    for (const { connectionId, organizations } of sealed)
      if (organizations.length > 0) listed.add(connectionId);
  }

  async function learnOne(connectionId: string): Promise<boolean> {
    const epochs = await store.epochs();
    for await (const page of doors.list(connectionId)) {
      if (page.partial) {
        if (page.answer?.kind === 'reauthorize') await doors.refused(connectionId, page.answer.message);
        return false;
      }
      await store.learn(page.organizations.map(({ id, name }) => ({ id, name, connectionId })));
      for (const { id, unconnected, connectUrl } of page.organizations) {
        if (unconnected) await doors.unconnected(id, connectUrl, epochs.get(id) ?? 1);
      }
    }
    listed.add(connectionId);
    return true;
  }

  async function learn(): Promise<boolean> {
    const beganMs = clock.nowMs();
    learning = true;
    try {
      let whole = true;
      for (const { connectionId, status } of connections) {
        if (status === 'valid' && !(await learnOne(connectionId))) whole = false;
      }
      await refresh();
      if (whole) learnedFromMs = beganMs;
      return whole;
    } finally {
      learning = false;
      const endedMs = clock.nowMs();
      nextLearnMs = endedMs + Math.max(learnGapMsMin, (endedMs - beganMs) * learnGapPerMs);
    }
  }

  return {
    connections: () => connections,
    sees: (connectionId) => sights.get(connectionId) ?? none,
    async importTokens(tokens) {
      await store.importConnections(tokens.map((token) => seal(token, sealer)));
      await refresh();
    },
    refresh,
    learn,
    learnedSince(sinceMs) {
      if (learnedFromMs >= sinceMs) return null;
      if (learning) return learnPollMs;
      const waitMs = nextLearnMs - clock.nowMs();
      if (waitMs <= 0) doors.wanted();
      return Math.max(waitMs, learnPollMs);
    },
    known: () =>
      connections.every(({ connectionId, status }) => status !== 'valid' || listed.has(connectionId)),
  };
}

function unseal(sealed: SealedConnection, sealer: Sealer): Connection {
  const { connectionId, user, auth, expiresAt, status } = sealed;
  const open = (text: string | null, part: string) =>
    text === null ? null : sealer.unseal(text, `${connectionId}/${part}`);
  return {
    connectionId,
    user,
    auth,
    token: sealer.unseal(sealed.sealedToken, `${connectionId}/token`),
    tokenSecret: open(sealed.sealedTokenSecret, 'secret'),
    refresh: open(sealed.sealedRefresh, 'refresh'),
    expiresAt,
    status,
  };
}

function seal(named: NamedToken, sealer: Sealer): SealedConnection & { importHash: string } {
  const { connection: connectionId, user, auth, token, secret, refresh, expiresAt } = named;
  const close = (value: Secret | null, part: string) =>
    value === null ? null : sealer.seal(value, `${connectionId}/${part}`);
  const parts = [token, secret, refresh].map((part) => part?.open() ?? '');
  return {
    connectionId,
    user,
    auth,
    sealedToken: sealer.seal(token, `${connectionId}/token`),
    sealedTokenSecret: close(secret, 'secret'),
    sealedRefresh: close(refresh, 'refresh'),
    expiresAt,
    status: 'valid',
    organizations: [],
    importHash: createHash('sha256').update(parts.join('\n')).digest('hex'),
  };
}
