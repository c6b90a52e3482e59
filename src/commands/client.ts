/**
 * The client of our own API: one method for each thing operators ask, over HTTP. It throws the same problems as the API
 * itself, so that a command does not know whether it spoke to a service. Answers are bounded in time and size.
 */
import type { Api } from '../model/api';
import { Problem, type ProblemCode } from '../model/problem';
import type { Secret } from '../tools/secret';
import { makeConnectionCalls } from './connection-calls';
import { makeLineCalls, makeProviderCalls, type Open } from './provider-calls';
import { makeSubscriptionApiCalls } from './subscription-calls';

export interface ClientOptions {
  /** Address of the operations listener. */
  url: string;
  token: Secret | null;
  timeoutMs?: number;
}

const timeoutMsDefault = 15_000;
/** Each sink may take ten seconds for a page, and for its end. */
const sinksMsMax = 30_000;
/** The provider is asked for tokens, and for what they see. */
const consentMsMax = 120_000;
/** Each of several calls to the provider, and its verification of the address. */
const subscriptionMsMax = 120_000;
/** Pages of events are asked for in pieces that fit, see there. */
const answerBytesMax = 256 * 1024 * 1024;

const problemOfCode: Record<string, ProblemCode> = {
  'operations.parameter': 'command.usage',
  'operations.not-found': 'command.not-found',
  'operations.settings': 'settings.invalid',
  'operations.refused': 'command.refused',
  'operations.expired': 'command.expired',
  'operations.unavailable': 'store.unavailable',
  'operations.provider-unavailable': 'provider.unavailable',
  'operations.provider-malformed': 'provider.malformed',
  'operations.provider-refused': 'provider.refused',
  'operations.action-required': 'provider.action-required',
  'operations.unauthenticated': 'settings.invalid',
  'operations.forbidden': 'settings.invalid',
};

/** Thrown when nothing listens at the address. */
export class NobodyListens extends Error {
  constructor(url: string) {
    super(`no service listens at ${url}`);
    this.name = 'NobodyListens';
  }
}

/**
 * Throws `NobodyListens`; what the API throws; `settings.invalid` for a token that is not accepted. Sinks are waited
 * for 30 s, consents and subscriptions 2 minutes; an answer has at most 256 MiB.
 */
export function makeClient(options: ClientOptions): Api {
  const get = <Answer>(path: string, query: Query = {}) => ask<Answer>(options, 'GET', path, query);
  const post = <Answer>(path: string, query: Query = {}) => ask<Answer>(options, 'POST', path, query);
  const at = (id: string) => encodeURIComponent(id);
  const opened: Open = (...asked) => open(options, ...asked);
  return {
    organizations: (page) => get('/api/organizations', { ...page }),
    organization: (id) => get(`/api/organizations/${at(id)}`),
    forget: (id) =>
      ask({ ...options, timeoutMs: consentMsMax }, 'DELETE', `/api/organizations/${at(id)}`, {}),
    probe: (id) => post(`/api/organizations/${at(id)}/probe`),
    tasks: (page) => get('/api/tasks', { ...page }),
    quarantine: (page) => get('/api/quarantine', { ...page }),
    quarantined: (id) => get(`/api/quarantine/${at(id)}`),
    release: (id) => post(`/api/quarantine/${at(id)}/release`),
    discard: (id) => post(`/api/quarantine/${at(id)}/discard`),
    events: ({ organizationId, kept, ...page }) =>
      get('/api/events', { ...page, organization: organizationId, kept: kept ? 'true' : null }),
    alerts: () => get('/api/alerts'),
    testAlerts: () => ask({ ...options, timeoutMs: sinksMsMax }, 'POST', '/api/alerts/test', {}),
    explain: (of) => get('/api/explain', { of }),
    ledger: () => get('/api/ledger'),
    check: () => get('/api/check'),
    config: () => get('/api/config'),
    connections: makeConnectionCalls((method, path, query, body) =>
      ask({ ...options, timeoutMs: consentMsMax }, method, path, query, body),
    ),
    subscriptions: makeSubscriptionApiCalls(
      (method, path, body) => ask({ ...options, timeoutMs: subscriptionMsMax }, method, path, {}, body),
      makeLineCalls(opened),
    ),
    provider: makeProviderCalls(opened),
    startSync: ({ organizationId, full }) =>
      post('/api/sync', { organization: organizationId, full: full ? 'true' : null }),
    sync: () => get('/api/sync'),
    startReplay: ({ events, organizationId, kind, how, toTopic, dryRun }) =>
      post('/api/replay', {
        events: events?.join(',') ?? null,
        organization: organizationId,
        kind,
        toTopic,
        refetch: how === 'reads' ? 'true' : null,
        dryRun: dryRun ? 'true' : null,
      }),
    replay: () => get('/api/replay'),
    sandbox: () => get('/api/sandbox'),
  };
}

type Query = Record<string, string | number | null>;
type Method = 'GET' | 'POST' | 'DELETE';

async function ask<Answer>(
  options: ClientOptions,
  method: Method,
  path: string,
  query: Query,
  body?: unknown,
): Promise<Answer> {
  const patienceMs = options.timeoutMs ?? timeoutMsDefault;
  const { response } = await open(options, method, path, query, patienceMs, body);
  const answer = jsonOf(await textOf(options.url, response));
  if (answer === undefined) throw problemOf(options.url, 200, answer);
  return answer as Answer;
}

/**
 * Asks, and hands over an answer of 200 whose body is not read yet; anything else is thrown. `heard` is to be called with
 * each piece of the body: the answer is given up when nothing comes for `idleMs`.
 */
async function open(
  { url, token }: ClientOptions,
  method: Method,
  path: string,
  query: Query,
  idleMs: number,
  body?: unknown,
): Promise<{ response: Response; heard(): void }> {
  const address = new URL(`${url.replace(/\/$/, '')}${path}`);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null) address.searchParams.set(name, String(value));
  }
  const headers: Record<string, string> = { accept: 'application/json' };
  if (token !== null) headers.authorization = `Bearer ${token.open()}`;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new DOMException('', 'TimeoutError')), idleMs);
  timer.unref();
  let response: Response;
  try {
    // A redirect would carry the token to wherever it leads.
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    if (body !== undefined) headers['content-type'] = 'application/json';
    response = await fetch(address, {
      method,
      headers,
      redirect: 'error',
      signal: silence.signal,
      ...sent,
    });
  } catch (error) {
    throw unreachable(url, error);
  }
  if (response.status === 200) return { response, heard: () => timer.refresh() };
  throw problemOf(url, response.status, jsonOf(await textOf(url, response)));
}

async function textOf(url: string, response: Response): Promise<string> {
  try {
    return await readBounded(response);
  } catch (error) {
    throw unreachable(url, error);
  }
}

async function readBounded(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > answerBytesMax) throw new Error('the answer is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function unreachable(url: string, error: unknown): Error {
  const { name, cause } = error as { name?: unknown; cause?: { code?: unknown } };
  if (cause?.code === 'ECONNREFUSED') return new NobodyListens(url);
  const why = name === 'TimeoutError' ? 'no answer in time' : String(cause?.code ?? 'its answer is broken');
  return new Problem('store.unavailable', `the service at ${url} cannot be reached: ${why}`, error);
}

function problemOf(url: string, status: number, body: unknown): Error {
  const { code, title, detail } = (body ?? {}) as Record<string, unknown>;
  const known = typeof code === 'string' ? problemOfCode[code] : undefined;
  if (known === 'settings.invalid' && code !== 'operations.settings') {
    return new Problem(known, `OPERATIONS_TOKEN must be the token of the service at ${url}`);
  }
  const said = typeof detail === 'string' ? detail : typeof title === 'string' ? title : null;
  if (known !== undefined && said !== null) return new Problem(known, said);
  const what =
    typeof code === 'string' ? `answered ${status} ${code}` : `answered ${status} and is not Tramline`;
  return new Problem('store.unavailable', `the service at ${url} ${what}`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Another program's page: told by its status.
    return undefined;
  }
}
