/**
 * The client of our own API: one method for each thing operators ask, over HTTP. It throws the same problems as the API
 * itself, so that a command does not know whether it spoke to a service. Answers are bounded in time and size, and each is
 * what was asked for: who else may listen there is told apart.
 */
import type { Api } from '../model/api';
import { isProblem, Problem, type ProblemCode } from '../model/problem';
import type { Secret } from '../tools/secret';
import { type Shape, shapes } from './answer-shapes';
import type { Ask, Call, Open, Query } from './call';
import { makeConnectionCalls } from './connection-calls';
import { answerTo, type HttpAnswer, NoAnswerInTime } from './http-answer';
import { makeLineCalls, makeProviderCalls } from './provider-calls';
import { readAnswer, textOf } from './read-answer';
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

const problemOfCode: Record<string, ProblemCode> = {
  'operations.parameter': 'command.usage',
  'operations.not-found': 'command.not-found',
  'operations.settings': 'settings.invalid',
  'operations.refused': 'command.refused',
  'operations.expired': 'command.expired',
  'operations.unavailable': 'store.unavailable',
  'operations.stopping': 'store.unavailable',
  'operations.kafka-unavailable': 'publish.unavailable',
  'operations.kafka-refused': 'publish.refused',
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

/** The service is away, or its store is: one that has answered before may be starting anew. */
export function mayComeBack(error: unknown): error is Error {
  return error instanceof NobodyListens || isProblem(error, 'store.unavailable');
}

/**
 * Throws `NobodyListens`; what the API throws; `settings.invalid` for a token that is not accepted; `store.unavailable`
 * for an answer that is not ours. Sinks are waited for 30 s, consents and subscriptions 2 minutes; an answer has at most
 * 256 MiB.
 */
export function makeClient(options: ClientOptions): Api {
  const get = <Answer>(shape: Shape<Answer>, path: string, query: Query = {}) =>
    ask(options, shape, { method: 'GET', path, query });
  const post = <Answer>(shape: Shape<Answer>, path: string, query: Query = {}) =>
    ask(options, shape, { method: 'POST', path, query });
  const within =
    (timeoutMs: number): Ask =>
    (shape, call) =>
      ask({ ...options, timeoutMs }, shape, call);
  const at = (id: string) => encodeURIComponent(id);
  const opened: Open = (call, idleMs) => open(options, call, idleMs);
  return {
    organizations: (page) => get(shapes.organizations, '/api/organizations', { ...page }),
    organization: (id) => get(shapes.organization, `/api/organizations/${at(id)}`),
    forget: (id) =>
      within(consentMsMax)(shapes.forgotten, { method: 'DELETE', path: `/api/organizations/${at(id)}` }),
    probe: (id) => post(shapes.organization, `/api/organizations/${at(id)}/probe`),
    tasks: (page) => get(shapes.tasks, '/api/tasks', { ...page }),
    quarantine: (page) => get(shapes.quarantine, '/api/quarantine', { ...page }),
    quarantined: (id) => get(shapes.quarantined, `/api/quarantine/${at(id)}`),
    release: (id) => post(shapes.released, `/api/quarantine/${at(id)}/release`),
    discard: (id) => post(shapes.discarded, `/api/quarantine/${at(id)}/discard`),
    releaseEach: (ids) => post(shapes.decided, '/api/quarantine/release', { entries: ids.join(',') }),
    discardEach: (ids) => post(shapes.decided, '/api/quarantine/discard', { entries: ids.join(',') }),
    events: ({ organizationId, kept, ...page }) =>
      get(shapes.events, '/api/events', {
        ...page,
        organization: organizationId,
        kept: kept ? 'true' : null,
      }),
    alerts: () => get(shapes.alerts, '/api/alerts'),
    testAlerts: () => within(sinksMsMax)(shapes.alertTests, { method: 'POST', path: '/api/alerts/test' }),
    explain: (of) => get(shapes.journey, '/api/explain', { of }),
    ledger: () => get(shapes.ledger, '/api/ledger'),
    check: () => get(shapes.check, '/api/check'),
    config: () => get(shapes.config, '/api/config'),
    connections: makeConnectionCalls(within(consentMsMax)),
    subscriptions: makeSubscriptionApiCalls(within(subscriptionMsMax), makeLineCalls(opened)),
    provider: makeProviderCalls(opened),
    startSync: ({ organizationId, full }) =>
      post(shapes.sync, '/api/sync', { organization: organizationId, full: full ? 'true' : null }),
    sync: (startedAt) => get(shapes.sync, '/api/sync', { startedAt }),
    startReplay: ({ events, organizationId, kind, how, toTopic, dryRun }) =>
      post(shapes.replay, '/api/replay', {
        events: events?.join(',') ?? null,
        organization: organizationId,
        kind,
        toTopic,
        refetch: how === 'reads' ? 'true' : null,
        dryRun: dryRun ? 'true' : null,
      }),
    replay: (startedAt) => get(shapes.replay, '/api/replay', { startedAt }),
    sandbox: () => get(shapes.sandbox, '/api/sandbox'),
  };
}

async function ask<Answer>(options: ClientOptions, shape: Shape<Answer>, call: Call): Promise<Answer> {
  const answer = await open(options, call, options.timeoutMs ?? timeoutMsDefault);
  return readAnswer(answer, await answerOf(options.url, answer), shape, call.method !== 'GET');
}

async function open(
  { url, token }: ClientOptions,
  { method, path, query = {}, body }: Call,
  idleMs: number,
): Promise<HttpAnswer> {
  const address = new URL(`${url.replace(/\/$/, '')}${path}`);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null) address.searchParams.set(name, String(value));
  }
  const headers: Record<string, string> = { accept: 'application/json' };
  if (token !== null) headers.authorization = `Bearer ${token.open()}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const asked = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
  const answer = await answerTo(address, asked, idleMs).catch((error: unknown) => {
    throw unreachable(url, error);
  });
  if (answer.status === 200) return answer;
  // It would carry the token to wherever it leads.
  if (redirects.has(answer.status)) {
    answer.leave();
    throw away(url, 'leads elsewhere, which is not followed');
  }
  throw problemOf(url, answer.status, jsonOf(await answerOf(url, answer)));
}

const redirects = new Set([301, 302, 303, 307, 308]);

async function answerOf(url: string, { body }: HttpAnswer): Promise<string> {
  try {
    return await textOf(body);
  } catch (error) {
    throw unreachable(url, error);
  }
}

/** Where the service is found is named by one setting. */
const step = 'TRAMLINE_URL must name the service';

function unreachable(url: string, error: unknown): Error {
  const { code } = error as { code?: unknown };
  if (code === 'ECONNREFUSED') return new NobodyListens(url);
  const why = error instanceof NoAnswerInTime ? 'no answer in time' : String(code ?? 'its answer is broken');
  return away(url, `cannot be reached: ${why}`, error);
}

function away(url: string, what: string, cause?: unknown): Problem {
  return new Problem('store.unavailable', `the service at ${url} ${what}; ${step}`, cause);
}

function problemOf(url: string, status: number, body: unknown): Error {
  const { code, title, detail } = (body ?? {}) as Record<string, unknown>;
  const known = typeof code === 'string' ? problemOfCode[code] : undefined;
  if (known === 'settings.invalid' && code !== 'operations.settings') {
    return new Problem(known, `OPERATIONS_TOKEN must be the token of the service at ${url}`);
  }
  if (typeof code === 'string' && code.startsWith('webhook.')) {
    return new Problem(
      'settings.invalid',
      `TRAMLINE_URL must name the operations listener: the one at ${url} takes deliveries`,
    );
  }
  const said = typeof detail === 'string' ? detail : typeof title === 'string' ? title : null;
  if (known !== undefined && said !== null) return new Problem(known, said);
  const what =
    typeof code === 'string'
      ? `answered ${status} ${code}`
      : `answered ${status} and is not Tramline; ${step}`;
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
