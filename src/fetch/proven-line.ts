/**
 * A refused token is refused everywhere: a 401 also comes for what one address does not give this application or user.
 * So before a 401 counts as the token's, the same token is shown once somewhere else. However many calls are refused
 * together, it is shown once for them. What the provider answers there costs the refused call nothing. By OAuth 1 the
 * client's own secret signs as well: where it is refused without any token, no token was, or OAuth 1 has ended.
 */
import type { Answer } from '../model/answer';
import { type Connection, oauth1Ending } from '../model/connection';
import type { Secret } from '../tools/secret';
import type { Line } from './ask';
import { Attempt } from './attempt';
import type { Verdict } from './classify';
import type { Exchange } from './client';
import { errorMessageOf } from './error-message';
import { mediaTypeOf } from './parse-document';
import { makeSharedRead, type SharedRead } from './shared-read';
import { answerOnTheWay, cutOnTheWay, type Way } from './waiting-answer';

export interface ProofParts {
  /** Calls with the token as it is. */
  plain: Line;
  /** Puts the renewal of tokens around a line, where they can be renewed. */
  renewed(line: Line, show: ShowToken): Line;
  /** Needs the user's token and costs the least. */
  catalogUrl: URL;
  timeoutMs: number;
}

type Refusal = Extract<Verdict, { kind: 'reauthorize' }>;

interface Refused {
  exchange: Exchange;
  refusal: Refusal;
  connection: Connection;
  url: URL;
}

/** What the provider says to this token from now on, away from where it was refused. Never rejects. */
export type ShowToken = (connection: Connection, refusedAt: URL | null) => Promise<Verdict>;

export interface ProvenLine extends Line {
  show: ShowToken;
}

/** A 401 of one address alone becomes `forbidden`, as another refusal of what the user may not see. */
export function makeProvenLine({ plain, renewed, catalogUrl, timeoutMs }: ProofParts): ProvenLine {
  /** Whose token a 401 refused, and what is known of it beyond what it says itself. */
  const refused = new WeakMap<Exchange, Connection>();
  const verdicts = new WeakMap<Exchange, Verdict>();
  const { show, showClient, listed } = makeShowings({ plain, catalogUrl, timeoutMs });
  const noting: Line = {
    verdictOf: plain.verdictOf,
    async exchange(request, attempt) {
      const exchange = await plain.exchange(request, attempt);
      if (exchange.status === 401 && request.connection !== null) refused.set(exchange, request.connection);
      return exchange;
    },
  };
  const line = renewed(noting, show);

  const wayOf = (connectionId: string): Way => ({
    code: 'catalog-unavailable',
    origin: catalogUrl.origin,
    connectionId,
  });

  /**
   * `refusal`: the token is refused. So it is also where OAuth 1 has ended (contract section 5, rule 5), which refuses the
   * client alone in other words than those of a signature: then the way on is told after the provider's own words.
   */
  async function judgeClient(
    refusal: Refusal,
    { auth, connectionId }: Connection,
    attempt: Attempt,
  ): Promise<Verdict> {
    if (auth !== 'oauth1') return refusal;
    await attempt.paid();
    const verdict = await attempt.during(showClient());
    if (typeof verdict === 'string') return cutOnTheWay(verdict, wayOf(connectionId));
    if (verdict.kind === 'ok') return refusal;
    if (verdict.kind === 'reauthorize') return withSwitchOver(refusal);
    return { ...answerOnTheWay(verdict, wayOf(connectionId)), connectionId } as Answer;
  }

  /** Where the same token is not refused as such, nothing is concluded but from a success. */
  async function judge({ exchange, refusal, connection, url }: Refused, attempt: Attempt): Promise<Verdict> {
    const { connectionId } = connection;
    const way = wayOf(connectionId);
    await attempt.paid();
    const verdict = await attempt.during(show(connection, url));
    if (typeof verdict === 'string') return cutOnTheWay(verdict, way);
    if (verdict.kind === 'reauthorize') return judgeClient(refusal, connection, attempt);
    if (verdict.kind !== 'ok' && verdict.kind !== 'not-modified') return answerOnTheWay(verdict, way);
    return { kind: 'forbidden', connectionId, message: wordsOf(exchange), client: false } as const;
  }

  return {
    show,
    async exchange(request, attempt) {
      const exchange = await line.exchange(request, attempt);
      const { connection, operation, url } = request;
      if (connection === null) return exchange;
      if (operation === 'organizations' && exchange.status === 200) listed(connection.connectionId, url);
      const shownIn = refused.get(exchange);
      if (shownIn === undefined) return exchange;
      const refusal = line.verdictOf(exchange, request);
      if (refusal.kind !== 'reauthorize') return exchange;
      verdicts.set(exchange, await judge({ exchange, refusal, connection: shownIn, url }, attempt));
      return exchange;
    },
    verdictOf: (exchange, question) => verdicts.get(exchange) ?? line.verdictOf(exchange, question),
  };
}

/** One call at a time for each token and address, and one signed by the client alone. */
function makeShowings({ plain, catalogUrl, timeoutMs }: Omit<ProofParts, 'renewed'>) {
  /** Where each connection was last given its organizations: the other address that needs the token. */
  const listings = new Map<string, URL>();
  const shown = new WeakMap<Secret, Map<string, SharedRead<Verdict>>>();
  const byClient = makeSharedRead(() => ask(catalogUrl, null));

  async function ask(url: URL, connection: Connection | null): Promise<Verdict> {
    const operation = url.href === catalogUrl.href ? 'catalog' : 'organizations';
    const question = { url, operation, connection } as const;
    const attempt = new Attempt(timeoutMs);
    const exchange = await plain.exchange(question, attempt);
    attempt.end();
    return plain.verdictOf(exchange, question);
  }

  function show(connection: Connection, refusedAt: URL | null): Promise<Verdict> {
    const { connectionId, token } = connection;
    const isCatalog = refusedAt?.href === catalogUrl.href;
    const url = (isCatalog ? listings.get(connectionId) : null) ?? catalogUrl;
    const known = shown.get(token) ?? new Map<string, SharedRead<Verdict>>();
    shown.set(token, known);
    const shared = known.get(url.href) ?? makeSharedRead(() => ask(url, connection));
    known.set(url.href, shared);
    return shared.next();
  }

  return {
    show,
    showClient: byClient.next,
    listed: (connectionId: string, url: URL) => void listings.set(connectionId, url),
  };
}

function withSwitchOver(refusal: Refusal): Refusal {
  const { message } = refusal;
  return { ...refusal, message: message === null ? oauth1Ending : `${message}. ${oauth1Ending}` };
}

function wordsOf(exchange: Exchange): string | null {
  if (exchange.status === null) return null;
  return errorMessageOf(exchange.body, mediaTypeOf(exchange.headers['content-type']));
}
