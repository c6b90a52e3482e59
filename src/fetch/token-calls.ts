/**
 * The calls that bring tokens and renew them: the authorization addresses, which no resource is ever read from, and the
 * catalog in a context that has no connection yet. Sockets of their own, so that a slow token endpoint slows no read.
 * What the answers mean is decided elsewhere; they are never classified, counted by address or logged.
 */
import type { Connection } from '../model/connection';
import type {
  TokenCall,
  TokenCalls,
  TokenListed,
  TokenListings,
  TokenReply,
  UserToken,
} from '../model/consent';
import type { Clock } from '../tools/clock';
import { Attempt } from './attempt';
import { retryAfterMsDefault, retryAfterOf, type Verdict } from './classify';
import { type Exchange, makeHttpClient, type SentHeaders } from './client';
import { makeGate } from './gate';
import { linksOf } from './links';
import type { ClientPause, ProviderOptions } from './options';
import { makePages, partialSentence } from './pages';
import { mediaTypeOf, parseDocument } from './parse-document';
import { makeSigner } from './sign';

const bodyBytesMax = 262_144;
const connectionsMax = 4;
const pagesMax = 1000;

export interface TokenCallsOptions extends Omit<ProviderOptions, 'bodyBytesMax' | 'connectionsMax'> {
  /** One call is about to be sent: null, or what it waits for, which must not reject. */
  called(): Promise<void> | null;
}

/** Whose token it is does not matter to a listing here. */
const nobody = {
  connectionId: '',
  sealedToken: null,
  user: '',
  refresh: null,
  expiresAt: null,
  status: 'valid',
} as const;

/**
 * Throws `settings.invalid` for an address that is neither https nor http on a loopback literal. At most 4 connections
 * at once, answers of 256 KiB, 1,000 pages.
 */
export function makeTokenCalls(
  options: TokenCallsOptions,
  pause: ClientPause,
  clock: Clock,
): TokenCalls & TokenListings {
  const { catalogUrl, origins, issuer, timeoutMs, vendor } = options;
  const client = makeHttpClient({ bodyBytesMax, connectionsMax });
  const signer = makeSigner({ ...options, clock });
  // A gate of its own: this one lets the authorization addresses through.
  const gate = makeGate([catalogUrl, ...origins, ...(issuer === null ? [] : [issuer])]);
  const pages = makePages(gate, pagesMax);
  const platform: SentHeaders = { Accept: `application/vnd.${vendor}.axiom.v3+json` };

  async function send(call: TokenCall, accept: SentHeaders): Promise<Exchange> {
    const admission = gate.admit(call.url);
    if (!admission.admitted) return { status: null, code: admission.code, wireBytes: 0 };
    const { url } = admission;
    const { method, form, sign, authorization, maySend } = call;
    const body = form === undefined ? null : Buffer.from(new URLSearchParams(form).toString());
    const typed = body === null ? accept : { ...accept, 'Content-Type': 'application/x-www-form-urlencoded' };
    const headersOf = () => {
      const value = sign === undefined ? authorization?.open() : signed(call, url);
      return value === undefined ? typed : { ...typed, Authorization: value };
    };
    const counted = options.called();
    if (counted !== null) await counted;
    const attempt = new Attempt(timeoutMs);
    const exchange = await client.send({ method, url, body, maySend }, headersOf, attempt);
    attempt.end();
    return exchange;
  }

  const sendToApi = keptTo(pause, clock, (call) => send(call, platform));

  function signed({ method, form, sign }: TokenCall, url: URL): string {
    const { token = null, callback, verifier } = sign ?? {};
    const oauth = {
      ...(callback !== undefined && { callback }),
      ...(verifier !== undefined && { verifier }),
    };
    return signer.authorize({ method, url, oauth, ...(form && { form }) }, token);
  }

  async function read(
    url: string,
    token: UserToken | null,
    redeems?: true,
  ): Promise<{ document: unknown } | TokenReply> {
    const exchange = await sendToApi({ method: 'GET', url, sign: { token }, ...(redeems && { redeems }) });
    if (exchange.status !== 200) return replyOf(exchange, clock.nowMs());
    const mediaType = mediaTypeOf(exchange.headers['content-type']);
    const parsed = parseDocument(exchange.body, mediaType, options.depthMax);
    return 'code' in parsed ? { status: null, code: parsed.code } : { document: parsed.document };
  }

  async function* list(first: string, token: UserToken): AsyncGenerator<TokenListed, void> {
    const connection: Connection = { ...nobody, ...token };
    const call = async ({ url }: { url: URL }) => pageOf(url, await read(url.href, token));
    let met = 0;
    let total: number | null = null;
    for await (const page of pages({ first, operation: 'organizations', connection, call })) {
      if (page.partial) return yield { partial: partialSentence(page) };
      for (const document of page.values) yield { document, self: linksOf(document).get('self') ?? null };
      met += page.values.length;
      total = page.total;
    }
    // Here somebody concludes from what is not listed that it has ended.
    if (total !== null && met < total)
      yield { partial: `it says of itself that it has ${total} entries, and showed ${met}` };
  }

  return {
    catalogAddress: catalogUrl,
    call: async (call) =>
      replyOf(await (call.ofApi ? sendToApi(call) : send(call, { Accept: '*/*' })), clock.nowMs()),
    async links(token, redeems) {
      const result = await read(catalogUrl, token, redeems);
      return 'document' in result ? { links: linksOf(result.document) } : result;
    },
    read,
    list,
    close: () => client.close(),
  };
}

/** As a page is asked for elsewhere; what is no document is told by its status or code alone. */
function pageOf({ href: address, origin }: URL, result: { document: unknown } | TokenReply): Verdict {
  const connectionId = '';
  if ('document' in result)
    return { kind: 'ok', document: { body: result.document, address, mediaType: '', connectionId } };
  const code = result.status === null ? result.code : `status-${result.status}`;
  return { kind: 'transient', code, detail: code, origin, connectionId, retryAfterMs: null };
}

/**
 * What goes to the API keeps to the client key's pause, and may meet one; a token endpoint has limits of its own. Only what
 * redeems a consent and what is read with a token is not held: a user has just answered, and a consent cannot be answered
 * twice.
 */
function keptTo(pause: ClientPause, clock: Clock, send: (call: TokenCall) => Promise<Exchange>): typeof send {
  return async (call) => {
    const isAnswered = call.redeems === true || (call.method === 'GET' && call.sign?.token != null);
    if (!isAnswered && pause.leftMs() > 0) return { status: null, code: 'rate-limited', wireBytes: 0 };
    const exchange = await send(call);
    if (exchange.status === 429)
      pause.asked(retryAfterOf(exchange.headers, clock.nowMs()) ?? retryAfterMsDefault);
    return exchange;
  };
}

function replyOf(exchange: Exchange, nowMs: number): TokenReply {
  if (exchange.status === null) return { status: null, code: exchange.code };
  const { status, headers, body } = exchange;
  return {
    status,
    mediaType: mediaTypeOf(headers['content-type']),
    body: body.toString('utf8'),
    retryAfterMs: retryAfterOf(headers, nowMs),
  };
}
