/**
 * The connections in force, opened, with the organizations that each sees as last learned. Tokens are kept in memory as
 * secrets. A token that the settings name is imported once: what the provider said of it later is kept until another
 * token is named, and a consent or a renewal replaces it.
 */
import { createHash } from 'node:crypto';
import type { Condition, ConditionName } from '../model/alert';
import type { Answer } from '../model/answer';
import {
  type Connection,
  type NamedToken,
  oauth1LifeMsMax,
  type SealedConnection,
} from '../model/connection';
import type { Connections, Organizations } from '../model/store';
import type { Clock } from '../tools/clock';
import { equalInConstantTime, type Sealer, type Secret } from '../tools/secret';
import { makeFormerTokens } from './former-tokens';
import { type HowListed, makeLearned } from './learned';
import { sealTokens, unsealConnection } from './token-vault';
import { makeUnlisted, type SightList, type SightLists } from './unlisted';

export interface SeenOrganization {
  id: string;
  name: string | null;
  /** True when it carries a `connections` link. */
  unconnected: boolean;
  /** Where a person connects it. */
  connectUrl: string | null;
  /** Where a person looks after its connection. */
  manageUrl: string | null;
}

/** A page of the organizations that a connection sees, or why the listing ended before its end. */
export type SightPage =
  | { partial: false; organizations: SeenOrganization[] }
  | { partial: true; answer: Answer | null; reason: string; detail: string };

export interface BookDoors {
  store: Connections & Organizations;
  sealer: Sealer;
  list(connectionId: string): AsyncIterable<SightPage>;
  /** The listing shows that its customer has not connected it; `epoch` is the organization's before the listing began. */
  unconnected(organizationId: string, actionUrl: string | null, epoch: number): Promise<void>;
  /** The listing was refused for this token of the connection. */
  refused(connectionId: string, message: string | null, sealedToken: string): Promise<void>;
  /** The listing came to its end, and holds these. */
  keepSights(connectionId: string, organizations: string[]): Promise<void>;
  /** Something depends on what the connections see now: `learn` is to be called. */
  wanted(): void;
  clock: Clock;
}

export interface ConnectionBook {
  connections(): readonly Connection[];
  find(connectionId: string): Connection | null;
  /** Tokens that it held lately and no longer holds: a provider may still repeat them. */
  former(connectionId: string): readonly Secret[];
  sees(connectionId: string): ReadonlySet<string>;
  /** Seals and stores what is new, and ends that were not known; reads everything back. Throws `store.key-missing`. */
  importTokens(tokens: NamedToken[]): Promise<void>;
  /** Reads connections and sights from the store. Throws `store.key-missing`. */
  refresh(): Promise<void>;
  /**
   * Reads them again if any was changed since, by whichever process, or could not be opened; true when there is something
   * new to learn. Throws `store.key-missing`.
   */
  follow(): Promise<boolean>;
  /**
   * Lists the organizations of each valid connection. False when one failed for the moment, so that it is worth asking soon
   * again; what is answered in the same way each time, such as a refusal, is asked for like what came to its end. Throws
   * `store.key-missing`.
   */
  learn(): Promise<boolean>;
  /**
   * Resolves once each valid connection was listed, as far as it can be, by the listing under way or, where it is time for one on
   * request, by one more: at once while one goes on breaking off, however many ask. Throws as `learn`.
   */
  sighted(): Promise<unknown>;
  /** Those of one connection; null when the listing did not come to its end. */
  learnOne(connectionId: string): Promise<SeenOrganization[] | null>;
  /**
   * null when what each connection sees was listed to its end by a listing that began since. Otherwise one is asked for,
   * unless `mayAsk` is false or one that did not fail for the moment began since: everything is listed again soon enough.
   */
  learnedSince(sinceMs: number, mayAsk?: boolean): number | null;
  /**
   * null there too, and where no listing told it for an hour, though none failed for the moment. Otherwise one is asked for,
   * not too often, and this is after how many milliseconds it is worth asking again.
   */
  soughtSince(sinceMs: number): number | null;
  /** Whether a listing was sought when it was too soon for one, which it is no more. */
  isSought(): boolean;
  /** Where a person looks after an organization's connection, as last listed here; null where that is not known. */
  manageUrl(organizationId: string): string | null;
  /** Why the list of a connection's organizations was refused, or could not be read, last; null where neither is known. */
  unlisted(connectionId: string): string | null;
  /** Organizations that are seen by nobody any more, and lists that go on being refused. */
  conditions(): Condition[];
  /** Those of which it is known whether they hold. */
  settled(): ConditionName[];
  /** Has each valid connection been listed at least once, as far as it can be, now or by a former process? */
  known(): boolean;
}

/** Also a refused token: those that are left are listed without it at once. */
const passing: ReadonlySet<Answer['kind']> = new Set(['transient', 'rate-limited', 'aborted', 'reauthorize']);

const none: ReadonlySet<string> = new Set();

/**
 * Knows nothing until it is loaded from the store. Bounded by the connections and organizations that there are;
 * rejects as the store does.
 */
export function makeConnectionBook(doors: BookDoors): ConnectionBook {
  const { store, clock } = doors;
  let connections: Connection[] = [];
  let byId = new Map<string, Connection>();
  const [former, unlisted] = [makeFormerTokens(), makeUnlisted(clock)];
  // As last read, and as whoever follows knows it: others read, too.
  let [mark, followed] = ['', ''];
  let sights = new Map<string, ReadonlySet<string>>();
  const [listed, manageUrls] = [new Set<string>(), new Map<string, string | null>()];
  const learned = makeLearned(clock, () => doors.wanted());
  const sees = (id: string) => sights.get(id) ?? none;
  const isUnlisted = (one: Connection) => one.status === 'valid' && !listed.has(one.connectionId);
  const known = () => !connections.some(isUnlisted);
  const listOne = (connectionId: string) => listConnection(doors, connectionId, listed, manageUrls);

  async function refresh(): Promise<void> {
    const markBefore = await store.connectionsMark();
    const sealed = await store.listConnections();
    // What cannot be opened is read again by whoever follows, however long nobody changes it.
    mark = '';
    connections = sealed.map((connection) => unsealConnection(connection, doors.sealer));
    for (const connection of connections) former.note(connection, byId.get(connection.connectionId));
    byId = new Map(connections.map((connection) => [connection.connectionId, connection]));
    mark = markBefore;
    followed ||= mark;
    sights = new Map(sealed.map((one) => [one.connectionId, new Set(one.organizations)]));
    for (const one of sealed) if (one.organizations.length > 0) listed.add(one.connectionId);
  }

  async function follow(): Promise<boolean> {
    if ((await store.connectionsMark()) !== mark) await refresh();
    if (mark === followed) return false;
    followed = mark;
    return connections.some(isUnlisted);
  }

  async function listAll(): Promise<HowListed> {
    // First, so that the provider is not asked again and again for what cannot be kept.
    await refresh();
    followed = mark;
    const lists = await passOnMoved(doors, await listValid(connections, listOne), sees);
    await refresh();
    unlisted.note(lists, sees);
    const whole = lists.every(([, { end }]) => end === 'whole');
    return { whole, failed: lists.some(([, { end }]) => end === 'failed') };
  }

  const learn = () => learned.during(listAll);
  return {
    connections: () => connections,
    find: (connectionId) => byId.get(connectionId) ?? null,
    former: former.of,
    sees,
    async importTokens(tokens) {
      await importNamed(tokens, doors);
      await refresh();
    },
    refresh,
    follow,
    learn,
    sighted: async () => known() || (learned.underWay() ?? (learned.isDue() && learn())),
    async learnOne(connectionId) {
      await refresh();
      const list = await listOne(connectionId);
      await refresh();
      unlisted.note([[connectionId, list]], sees);
      return list.end === 'whole' ? [...list.organizations] : null;
    },
    learnedSince: learned.since,
    soughtSince: learned.soughtSince,
    isSought: learned.isSought,
    manageUrl: (organizationId) => manageUrls.get(organizationId) ?? null,
    unlisted: unlisted.unlisted,
    ...unlisted.tellOf(() => connections),
    known,
  };
}

/** One after the other. */
async function listValid(
  connections: readonly Connection[],
  listOne: (connectionId: string) => Promise<SightList<SeenOrganization>>,
): Promise<SightLists<SeenOrganization>> {
  const lists: SightLists<SeenOrganization> = [];
  for (const { connectionId, status } of connections) {
    if (status === 'valid') lists.push([connectionId, await listOne(connectionId)]);
  }
  return lists;
}

/** What a list held no more, and one that was asked for after it held, went from the one to the other. `sees`: before the lists. */
async function passOnMoved(
  { keepSights }: BookDoors,
  lists: SightLists<SeenOrganization>,
  sees: ConnectionBook['sees'],
): Promise<SightLists<SeenOrganization>> {
  const idsOf = (list: SightList) => (list.end === 'whole' ? list.organizations.map(({ id }) => id) : []);
  const shown = new Set(lists.flatMap(([, list]) => idsOf(list)));
  for (const [connectionId, list] of lists) {
    const ids = new Set(idsOf(list));
    const isMoved = (id: string) => !ids.has(id) && shown.has(id);
    if (list.end === 'whole' && [...sees(connectionId)].some(isMoved))
      await keepSights(connectionId, [...ids]);
  }
  return lists;
}

function listOf({
  answer,
  reason,
  detail,
}: Extract<SightPage, { partial: true }>): Exclude<SightList, { end: 'whole' }> {
  const passes = answer !== null && passing.has(answer.kind);
  if (passes || reason === 'changed-meanwhile') return { end: 'failed', detail };
  return { end: 'refused', detail, ofClient: answer?.kind === 'client-refused' };
}

/** Where a listing did not come to its end, what it held so far is kept, and nothing is taken as absent. */
async function listConnection(
  { store, list, unconnected, refused, keepSights }: BookDoors,
  connectionId: string,
  listed: Set<string>,
  manageUrls: Map<string, string | null>,
): Promise<SightList<SeenOrganization>> {
  const epochs = await store.epochs();
  const seen: SeenOrganization[] = [];
  for await (const page of list(connectionId)) {
    if (page.partial) {
      const { answer } = page;
      if (answer?.kind === 'reauthorize' && answer.sealedToken !== null)
        await refused(connectionId, answer.message, answer.sealedToken);
      const list = listOf(page);
      if (list.end !== 'failed') listed.add(connectionId);
      return list;
    }
    await store.learn(page.organizations.map(({ id, name }) => ({ id, name, connectionId })));
    for (const organization of page.organizations) {
      const { id, connectUrl } = organization;
      manageUrls.set(id, organization.manageUrl);
      if (organization.unconnected) await unconnected(id, connectUrl, epochs.get(id) ?? 1);
    }
    seen.push(...page.organizations);
  }
  const ids = seen.map(({ id }) => id);
  await keepSights(connectionId, ids);
  listed.add(connectionId);
  return { end: 'whole', organizations: seen };
}

/**
 * Imports what is new. A token that was imported before stays as it is, and still has an end: the one that the settings name since, else the
 * latest that it can have where none was ever known. Not one that a consent or a renewal has replaced.
 */
async function importNamed(tokens: NamedToken[], { store, sealer, clock }: BookDoors): Promise<void> {
  await store.importConnections(tokens.map((token) => seal(token, sealer, clock.nowMs())));
  const named = new Map(tokens.map((token) => [token.connection, token]));
  for (const sealed of await store.listConnections()) {
    const { connectionId, auth, sealedToken, sealedTokenSecret, sealedRefresh, expiresAt: known } = sealed;
    const token = named.get(connectionId);
    if (token === undefined || token.auth !== auth) continue;
    const expiresAt = token.expiresAt ?? known ?? latestEnd(auth, clock.nowMs());
    if (expiresAt === known) continue;
    const inForce = unsealConnection(sealed, sealer).token;
    if (!equalInConstantTime(token.token.open(), inForce.open())) continue;
    const tokens = { sealedToken, sealedTokenSecret, sealedRefresh, expiresAt };
    await store.replaceTokens(connectionId, sealedToken, tokens);
  }
}

function latestEnd(auth: Connection['auth'], nowMs: number): string | null {
  return auth === 'oauth1' ? new Date(nowMs + oauth1LifeMsMax).toISOString() : null;
}

function seal(named: NamedToken, sealer: Sealer, nowMs: number): SealedConnection & { importHash: string } {
  const { connection: connectionId, user, auth, token, secret: tokenSecret, refresh } = named;
  // What is known here already is not imported again, so that this is counted from the first time.
  const expiresAt = named.expiresAt ?? latestEnd(auth, nowMs);
  const parts = [token, tokenSecret, refresh].map((part) => part?.open() ?? '');
  return {
    ...sealTokens(connectionId, { token, tokenSecret, refresh, expiresAt }, sealer),
    connectionId,
    user,
    auth,
    status: 'valid',
    organizations: [],
    importHash: createHash('sha256').update(parts.join('\n')).digest('hex'),
  };
}
