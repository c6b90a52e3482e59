/**
 * The catalog, once per security context: the application alone, and each connection. It is read when a context is first
 * needed, when its token changes, after five minutes, and again on demand; callers that come together share one read. So
 * one that was wrong for a while, or grew, needs nobody to act. What cannot be read takes the place of nothing that could
 * be. What it names for authorization is told to the gate; until the application's own was read, what is documented.
 */
import type { NoDocument } from '../model/answer';
import type { Connection } from '../model/connection';
import { shownAddress, withAddress } from '../model/shown-address';
import { typeNameOf } from '../model/type-name';
import { withoutEndSlashes } from '../model/without-end-slashes';
import type { Secret } from '../tools/secret';
import type { Ask } from './ask';
import { Attempt } from './attempt';
import type { Gate } from './gate';
import { linksOf, unreadLinkOf, unreadLinksOf } from './links';
import { makeSharedRead, type SharedRead } from './shared-read';
import { answerOnTheWay, cutOnTheWay, type Way, waitingAnswer } from './waiting-answer';

export interface Catalog {
  /** Where it was read. */
  address: string;
  /** Rises whenever an address in any context's catalog is another than before. */
  version: number;
  /** Relationship → address, not yet admitted by the gate. */
  links: ReadonlyMap<string, string>;
  /** Relationship → why its link cannot be read, where no former catalog had it. */
  unread: ReadonlyMap<string, string>;
}

export type CatalogResult = { catalog: Catalog } | { answer: NoDocument };

export interface Catalogs {
  /** What is known already, without waiting; null when a read is needed. */
  known(connection: Connection): Catalog | null;
  of(connection: Connection, attempt: Attempt): Promise<CatalogResult>;
  /** Reads anew: the read begins after this call. */
  again(connection: Connection, attempt: Attempt): Promise<CatalogResult>;
}

export interface CatalogsParts {
  catalogUrl: URL;
  timeoutMs: number;
  ask: Ask;
  gate: Gate;
  connections(): readonly Connection[];
  nowMs(): number;
}

/** One security context. */
interface Context {
  token: Secret | null;
  catalog: Catalog | null;
  /** When it was last read, or tried to. */
  readAtMs: number;
  read: SharedRead<CatalogResult>;
}

const applicationId = '';
const keptMsMax = 300_000;
/** Relationships of the consent flow and of tokens: their addresses are never read as resources. */
const authorizationRel = /^oauth|token/i;

/** Below the platform's root, where no catalog was read that names others: only the application's own does. */
const documentedAuthorization = ['oauth/request_token', 'oauth/access_token'];

/** A catalog is kept for at most 5 minutes. */
export function makeCatalogs(parts: CatalogsParts): Catalogs {
  const root = `${parts.catalogUrl.origin}${withoutEndSlashes(parts.catalogUrl.pathname)}`;
  parts.gate.refuseAuthorization(
    applicationId,
    documentedAuthorization.map((path) => `${root}/${path}`),
  );
  const contextOf = makeContexts(parts);
  const isCurrent = ({ catalog, readAtMs }: Context) =>
    catalog !== null && parts.nowMs() - readAtMs < keptMsMax;

  /** One that is old is used on where it cannot be read now: what it leads to may answer all the same. */
  async function readOrKeep(context: Context): Promise<CatalogResult> {
    const result = await context.read.join();
    return 'answer' in result && context.catalog !== null ? { catalog: context.catalog } : result;
  }

  /** The application's own names the authorization addresses of OAuth 1, and concerns no consent of another kind. */
  const needsApplication = ({ auth }: Connection) => auth === 'oauth1';

  async function readApplication(connection: Connection, fresh: boolean): Promise<NoDocument | null> {
    const context = contextOf(null);
    if (isCurrent(context) && !fresh) return null;
    const result = await (fresh ? context.read.next() : readOrKeep(context));
    if ('catalog' in result) return null;
    const { connectionId } = connection;
    // No token was shown, so none is refused: the client is.
    if (result.answer.kind === 'reauthorize')
      return { kind: 'client-refused', connectionId, message: result.answer.message };
    return { ...result.answer, connectionId } as NoDocument;
  }

  async function read(connection: Connection, fresh: boolean): Promise<CatalogResult> {
    const context = contextOf(connection);
    const before = context.catalog;
    let result: CatalogResult;
    if (fresh) result = await context.read.next();
    else result = before !== null && isCurrent(context) ? { catalog: before } : await readOrKeep(context);
    if ('answer' in result || !needsApplication(connection)) return result;
    const refusal = await readApplication(connection, fresh && before !== result.catalog);
    return refusal === null ? result : { answer: refusal };
  }

  async function within(attempt: Attempt, connection: Connection, fresh: boolean): Promise<CatalogResult> {
    await attempt.paid();
    const result = await attempt.during(read(connection, fresh));
    if (typeof result !== 'string') return result;
    return { answer: cutOnTheWay(result, wayOf(parts.catalogUrl, connection.connectionId)) };
  }

  function known(connection: Connection): Catalog | null {
    if (needsApplication(connection) && !isCurrent(contextOf(null))) return null;
    const context = contextOf(connection);
    return isCurrent(context) ? context.catalog : null;
  }

  return {
    known,
    async of(connection, attempt) {
      const catalog = known(connection);
      return catalog === null ? within(attempt, connection, false) : { catalog };
    },
    again: (connection, attempt) => within(attempt, connection, true),
  };
}

/** The contexts by connection: a new token begins a new one, and what no connection needs any more is forgotten. */
function makeContexts(parts: CatalogsParts): (connection: Connection | null) => Context {
  const { catalogUrl, ask, gate } = parts;
  const contexts = new Map<string, Context>();
  let version = 0;

  function forgetUnknown(): void {
    const ids = new Set(parts.connections().map((connection) => connection.connectionId)).add(applicationId);
    for (const id of contexts.keys()) if (!ids.has(id)) contexts.delete(id);
  }

  async function readCatalog(connection: Connection | null, context: Context): Promise<CatalogResult> {
    const attempt = new Attempt(parts.timeoutMs);
    const verdict = await ask({ url: catalogUrl, operation: 'catalog', connection }, attempt);
    attempt.end();
    context.readAtMs = parts.nowMs();
    const connectionId = connection?.connectionId ?? applicationId;
    if (verdict.kind !== 'ok') {
      const answer = answerOnTheWay(verdict, wayOf(catalogUrl, connectionId));
      if (!('detail' in answer)) return { answer };
      // Whoever needed it asked for something else, and knows another address if any.
      return { answer: { ...answer, detail: withAddress(answer.detail, catalogUrl.href) } };
    }
    const read = readOver(verdict.document.body, context.catalog);
    if (typeof read === 'string') {
      const detail = `${read} at ${shownAddress(catalogUrl.href) ?? catalogUrl.origin}`;
      return { answer: waitingAnswer(wayOf(catalogUrl, connectionId), detail) };
    }
    const { links, unread } = read;
    const address = catalogUrl.href;
    if (context.catalog === null || !equalLinks(context.catalog.links, links)) {
      version += 1;
      context.catalog = { address, version, links, unread };
      const named = [...links].filter(([rel]) => authorizationRel.test(rel)).map(([, uri]) => uri);
      gate.refuseAuthorization(connectionId, named);
    } else if (!equalLinks(context.catalog.unread, unread)) context.catalog = { ...context.catalog, unread };
    return { catalog: context.catalog };
  }

  return (connection) => {
    const id = connection?.connectionId ?? applicationId;
    const token = connection?.token ?? null;
    const known = contexts.get(id);
    if (known !== undefined && (known.token === token || known.token?.open() === token?.open())) return known;
    forgetUnknown();
    const read = makeSharedRead<CatalogResult>(() => readCatalog(connection, context));
    const context: Context = { token, catalog: null, readAtMs: 0, read };
    contexts.set(id, context);
    return context;
  };
}

/**
 * The links of a catalog, with those of the former one where a link cannot be read; in words why there are none. An
 * empty list is one: not everybody is shown something.
 */
function readOver(body: unknown, former: Catalog | null): Pick<Catalog, 'links' | 'unread'> | string {
  const links = linksOf(body);
  const unread = unreadLinksOf(body);
  if (links.size === 0) {
    const [words] = unread.values();
    if (words !== undefined) return words;
    const { links: many, link: one } = (body ?? {}) as { links?: unknown; link?: unknown };
    if ((many ?? one ?? null) === null)
      return `expected a list of links, got ${typeNameOf(body, 'an object without it')}`;
  }
  for (const [rel, uri] of former?.links ?? [])
    if (!links.has(rel) && unreadLinkOf(unread, [rel]) !== null) links.set(rel, uri);
  return { links, unread };
}

function wayOf(catalogUrl: URL, connectionId: string): Way {
  return { code: 'catalog-unavailable', origin: catalogUrl.origin, connectionId };
}

function equalLinks(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): boolean {
  if (left.size !== right.size) return false;
  for (const [rel, uri] of left) if (right.get(rel) !== uri) return false;
  return true;
}
