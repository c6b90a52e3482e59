// The provider's door: for every request of the platform and the equipment API, in this order: judge the credentials,
// apply a fault, refuse old paging forms and wrong media types, then the route. Every request leaves a record.
// Promises that nothing a request says can end the process.
import type { NextFunction, Request, RequestHandler, Response, Router } from 'express';
import { type Judge, judge, type Purpose, type Verdict } from '../auth/verdict';
import type { CoverageEvent } from '../controls/events';
import type { Fault, Faults } from '../controls/faults';
import type { RequestLog } from '../controls/request-log';
import { EQUIPMENT_PATH, PLATFORM_PATH } from './addresses';
import { saidInstead } from './distort';
import { refuseUnknownEmbeds } from './embeds';
import { type Answer, type Exchange, header, mediaType, send } from './exchange';
import type { Provider } from './provider';
import type { RateLimit } from './rate-limit';
import { type ErrorShape, errorBody, Refusal } from './refusal';

export interface Door {
  provider: Provider;
  judge: Judge;
  requestTokenSecret: (token: string) => string | undefined;
  faults: Faults;
  requests: RequestLog;
  rateLimit: RateLimit;
  latencyMs: number;
  platform: Router;
  equipment: Router;
}

const BODY_BYTES_MAX = 1_048_576;
/** Paths whose call is a step of the OAuth 1 flow; they answer in form encoding, not in the API's media type. */
const PURPOSES: Readonly<Record<string, Purpose>> = {
  '/oauth/request_token': 'request-token',
  '/oauth/access_token': 'access-token',
};

/** The reason of a verdict → what it says about the contract. */
const REFUSED: Readonly<Record<string, CoverageEvent>> = {
  'oauth1-ended': 'oauth1-ended',
  'token-expired': 'token-expired',
  'token-invalidated': 'token-invalidated',
  'token-revoked': 'token-invalidated',
  'realm-missing': 'refused-realm',
  'realm-not-empty': 'refused-realm',
  'consumer-key-missing': 'refused-client',
  'client-unknown': 'refused-client',
  'timestamp-missing': 'refused-timestamp',
  'timestamp-malformed': 'refused-timestamp',
  'timestamp-off': 'refused-timestamp',
  'nonce-missing': 'refused-nonce',
  'nonce-reused': 'refused-nonce',
  'version-unsupported': 'refused-version',
  'signature-method-unsupported': 'refused-method',
  'signature-missing': 'refused-signature',
  'signature-mismatch': 'refused-signature',
  'token-unknown': 'refused-token',
  'callback-misplaced': 'refused-callback',
  'verifier-misplaced': 'refused-verifier',
};

/** The matrix parameters of a path. */
const MATRIX = /;[^/]*/g;
/** A file's address also answers its bytes. */
const FILE_PATH = /^\/files\/[^/]+$/;

/**
 * The handler of both APIs; any other path is left to what follows. Throws nothing: a refusal is an answer, and a body
 * beyond the bound ends its connection.
 */
export function providerEntry(door: Door): RequestHandler {
  return (request, response, next) => {
    const { url } = request;
    const api = below(url, PLATFORM_PATH) ? 'platform' : below(url, EQUIPMENT_PATH) ? 'equipment' : undefined;
    if (api === undefined) return next();
    if (request.method === 'GET' || request.method === 'HEAD')
      return enter(door, api, request, response, undefined);
    readBody(request)
      .then((body) => enter(door, api, request, response, body))
      .catch(() => response.destroy());
  };
}

function below(url: string, base: string): boolean {
  return (
    url.startsWith(base) &&
    (url.length === base.length || url[base.length] === '/' || url[base.length] === '?')
  );
}

async function readBody(request: Request): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new RangeError('body too large');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function enter(
  door: Door,
  api: Exchange['api'],
  request: Request,
  response: Response,
  body: Buffer | undefined,
): void {
  const { provider, faults } = door;
  const startedAtMs = performance.now();
  const { path, purpose, ...asked } = askedBy(provider, api, request);
  const verdict = verdictOf(door, request, purpose, body);
  countVerdict(provider, verdict);
  const fault = faults.take(request.method, namesOf(request.url, path));
  const record = recordOf(door, request, verdict, fault);
  const { vendor } = provider;
  const taken = { verdict, path: path ?? '', ...asked, body, fault, record, startedAtMs };
  const exchange: Exchange = { request, response, api, vendor, ...taken };
  const waitMs = door.latencyMs + (fault?.delayMs ?? 0);
  const go = (): void => {
    try {
      proceed(door, exchange, path !== undefined, purpose);
    } catch {
      response.destroy();
    }
  };
  if (fault?.held) faults.hold(go);
  else if (waitMs > 0) setTimeout(go, waitMs);
  else go();
}

interface Asked extends Pick<Exchange, 'query' | 'oldPaging' | 'matrix'> {
  /** Below the API's base; undefined where the address has moved, or never was. */
  path: string | undefined;
  purpose: Purpose;
}

/** What the address asks for, and the old paging header. */
function askedBy({ addresses }: Provider, api: Exchange['api'], { url, headers }: Request): Asked {
  const mark = url.indexOf('?');
  const sent = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? '' : url.slice(mark + 1);
  const rest = sent.slice(api === 'platform' ? PLATFORM_PATH.length : EQUIPMENT_PATH.length);
  const within = rest.includes(';') ? (rest.match(MATRIX) ?? []) : null;
  const plain = within === null ? rest : rest.replace(MATRIX, '');
  const path = api === 'platform' ? addresses.resolve(plain) : plain;
  const behind = matrixIn(query);
  return {
    path,
    purpose: (api === 'platform' && path !== undefined && PURPOSES[path]) || 'resource',
    query,
    oldPaging: within !== null || behind !== '' || headers.no_paging !== undefined,
    matrix: `${within === null ? '' : within.join('')}${behind}`,
  };
}

function verdictOf(door: Door, request: Request, purpose: Purpose, body: Buffer | undefined): Verdict {
  return judge(door.judge, {
    method: request.method,
    host: request.headers.host ?? '',
    url: request.url,
    authorization: request.headers.authorization,
    form: isForm(request) ? body?.toString() : undefined,
    body,
    purpose,
    ...(purpose === 'access-token' ? { requestTokenSecret: door.requestTokenSecret } : {}),
  });
}

/** By which a fault may name the request: its address as it was sent, and as it is below the base. */
function namesOf(url: string, path: string | undefined): string[] {
  if (path === undefined) return [url];
  const mark = url.indexOf('?');
  return [url, `${path}${mark < 0 ? '' : url.slice(mark)}`];
}

/** What is not known before the answer is filled in with it. */
function recordOf(
  { provider, requests }: Door,
  { method, url }: Request,
  { scheme, valid, reason, user }: Verdict,
  fault: Fault | undefined,
): Exchange['record'] {
  return requests.add({
    ...{ atMs: provider.nowMs(), method, url, scheme, valid, reason },
    user: user?.name,
    status: undefined,
    tookMs: undefined,
    fault: fault !== undefined,
  });
}

/** Old paging that stands in the query, whether encoded or not; a query with other semicolons is a query. */
function matrixIn(query: string): string {
  if (!/;|%3b/i.test(query)) return '';
  const plain = query.replace(/%([0-7][0-9a-f])/gi, (_whole, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return (plain.match(/;(?:start|count)=[^;&]*/g) ?? []).join('');
}

function isForm(request: Request): boolean {
  return request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
}

function proceed(door: Door, exchange: Exchange, known: boolean, purpose: Purpose): void {
  const { fault, response, request } = exchange;
  if (fault && answeredByFault(exchange, fault)) return;
  try {
    check(door, exchange, known, purpose);
  } catch (problem) {
    sendProblem(door.provider, exchange, problem);
    return;
  }
  const router = exchange.api === 'platform' ? door.platform : door.equipment;
  const routed = request as Request;
  routed.url = exchange.path === '' ? '/' : exchange.path;
  (response as Response).locals.exchange = exchange;
  const done: NextFunction = (problem?: unknown) =>
    sendProblem(door.provider, exchange, problem ?? new Refusal(404, 'The requested resource was not found'));
  router(routed, response as Response, done);
}

/** True when the fault is the whole answer. */
function answeredByFault(exchange: Exchange, fault: Fault): boolean {
  const said = saidInstead(fault);
  if (said === 'nothing') exchange.response.destroy();
  else if (said !== undefined) send(exchange, said);
  return said !== undefined;
}

function check(door: Door, exchange: Exchange, known: boolean, purpose: Purpose): void {
  const { provider } = door;
  const { verdict, oldPaging } = exchange;
  if (!verdict.valid) {
    const challenge = verdict.scheme === 'bearer' ? 'Bearer error="invalid_token"' : 'OAuth realm=""';
    throw new Refusal(401, `Unauthorized: ${verdict.reason}`, { headers: { 'WWW-Authenticate': challenge } });
  }
  door.rateLimit.count();
  provider.sandbox.count();
  if (!known) provider.coverage.count('address-stale');
  if (!known) throw new Refusal(404, 'The requested resource was not found');
  if (oldPaging) checkOldPaging(provider, exchange);
  countAddress(provider, exchange);
  if (purpose !== 'resource') return;
  const wanted = mediaType(exchange);
  const accept = header(exchange, 'accept');
  if (accepts(accept, wanted)) return;
  if (FILE_PATH.test(exchange.path) && accepts(accept, 'application/octet-stream')) return;
  provider.coverage.count('accept-refused');
  throw new Refusal(406, `Accept must name ${wanted}`);
}

function checkOldPaging({ coverage, rules }: Provider, { matrix, request }: Exchange): void {
  const outcome = rules.oldPagingFails() ? 'refused' : 'ignored';
  coverage.count(`paging-old-${outcome}`);
  if (/;start=/.test(matrix)) coverage.count(`paging-start-${outcome}`);
  if (/;count=/.test(matrix)) coverage.count(`paging-count-${outcome}`);
  if (request.headers.no_paging !== undefined) coverage.count(`paging-header-${outcome}`);
  if (outcome === 'refused')
    throw new Refusal(400, 'Matrix paging parameters and No_Paging are no longer supported.');
}

function countAddress({ addresses, coverage }: Provider, { api, path }: Exchange): void {
  if (api === 'platform' && path !== '' && addresses.moves > 0) coverage.count('address-moved');
}

/** Only the exact media type counts: wildcards are refused, so that a client that forgot it is found. */
function accepts(accept: string | undefined, wanted: string): boolean {
  if (accept === wanted) return true;
  return (accept ?? '').split(',').some((part) => part.split(';')[0]!.trim().toLowerCase() === wanted);
}

function countVerdict({ coverage }: Provider, { scheme, valid, reason, user }: Verdict): void {
  if (scheme === 'none') coverage.count('credentials-missing');
  else if (scheme === 'bearer') coverage.count(valid ? 'bearer-accepted' : 'bearer-refused');
  else if (reason !== 'oauth1-ended') coverage.count(valid ? 'oauth1-signed' : 'oauth1-refused');
  if (scheme === 'oauth1' && valid && user) coverage.count('oauth1-signed-user');
  const event = reason === undefined ? undefined : REFUSED[reason];
  if (event) coverage.count(event);
}

function sendProblem({ coverage, settings }: Provider, exchange: Exchange, problem: unknown): void {
  const refusal = asRefusal(problem);
  const { status, message, details } = refusal;
  if (status === 429) coverage.count('rate-limited');
  const { errorBodies } = settings;
  // The body of a 429 is unknown; recorded ones are empty.
  const shape =
    errorBodies !== 'documented' ? errorBodies : status === 429 ? 'empty' : shapeOf(exchange, refusal);
  coverage.count(`error-${shape}`);
  const body: Answer =
    shape === 'empty'
      ? { text: '' }
      : shape === 'text'
        ? { text: message, contentType: 'text/plain;charset=UTF-8' }
        : { json: errorBody(refusal, shape) };
  send(exchange, { status, ...body, ...(details.headers ? { headers: details.headers } : {}) });
}

/** A path that cannot be decoded is the caller's mistake; anything else that is not a refusal is the simulator's own. */
function asRefusal(problem: unknown): Refusal {
  if (problem instanceof Refusal) return problem;
  if (problem instanceof URIError) return new Refusal(400, 'The address cannot be decoded.');
  return new Refusal(500, `Internal error: ${String(problem)}`);
}

/** 401 and 403 have the platform's shape everywhere; each API writes its other errors in the shape of its documents. */
function shapeOf(exchange: Exchange, refusal: Refusal): ErrorShape {
  if (refusal.status === 401 || refusal.status === 403) return 'errors';
  if (exchange.api === 'equipment' || exchange.path.startsWith('/eventSubscriptionDelivery')) return 'gud';
  if (exchange.path.startsWith('/eventSubscriptions')) return 'list';
  return refusal.details.field === undefined ? 'errors' : 'list';
}

/**
 * Turns a function from exchange to answer into a route; what it throws becomes the provider's error body. `embeds`: those
 * that may be asked for; any other is a 400.
 */
export function route(
  answer: (exchange: Exchange, parameters: Record<string, string>) => Answer,
  embeds: readonly string[] = [],
): RequestHandler {
  return (request, response) => {
    const exchange = response.locals.exchange as Exchange;
    refuseUnknownEmbeds(exchange.query, embeds);
    send(exchange, answer(exchange, request.params as Record<string, string>));
  };
}

/** The same for an answer that is waited for. */
export function routeLater(
  answer: (exchange: Exchange, parameters: Record<string, string>) => Promise<Answer>,
): RequestHandler {
  return (request, response, next) => {
    const exchange = response.locals.exchange as Exchange;
    answer(exchange, request.params as Record<string, string>).then(
      (answered) => send(exchange, answered),
      (problem: unknown) => next(problem),
    );
  };
}
