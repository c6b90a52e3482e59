// The simulator's controls under `/_simulator/`, for tests and for people: look at the truth, change it, misbehave.
// Promises to answer loopback callers only, and 400 with a sentence for anything misspelt. No part of the provider.
import express, { type ErrorRequestHandler, type RequestHandler, type Router } from 'express';
import { isObject, type Json, type JsonObject } from '../json';
import { httpAddress } from '../options';
import { isDay } from '../rules';
import { changeSettings } from '../settings';
import { ANSWER_MS, type DeliverySettings } from '../webhooks/deliveries';
import { completed, subscriptionNotification } from '../webhooks/notifications';
import { serveAccountControls } from './account-controls';
import { BadControl, type Controls, control, objectBody } from './control';
import { readFaults } from './faults';
import { serveResourceControls } from './resource-controls';
import { writeState } from './state';

const BODY_BYTES_MAX = '64mb';
const TIMES_MAX = 1_000_000;
const DELIVERY_KEYS = new Set([
  'url',
  'authorization',
  'token',
  'maxBatchSize',
  'concurrentDeliveries',
  'retryMs',
  'answerMs',
  'verify',
]);

/** All controls, to be mounted at `/_simulator`. Doubled slashes in an address are read as one. */
export function controlRouter(controls: Controls): Router {
  const router = express.Router();
  router.use(loopbackOnly);
  router.use((request, _response, next) => {
    request.url = request.url.replace(/^\/+/, '/');
    next();
  });
  router.use(express.json({ limit: BODY_BYTES_MAX, strict: false, type: () => true }));
  serveLooking(router, controls);
  serveActing(router, controls);
  serveAccountControls(router, controls);
  serveResourceControls(router, controls);
  router.use((_request, _response) => {
    throw new BadControl('no such control', 404);
  });
  router.use(sayWhy);
  return router;
}

function serveLooking(router: Router, controls: Controls): void {
  const { provider, requests, deliveries } = controls;
  router.get('/state', async (request, response) => {
    const organizationId =
      typeof request.query.organization === 'string' ? request.query.organization : undefined;
    response.type('application/json');
    await writeState(provider, response, { organizationId, content: request.query.content !== 'false' });
  });
  router.get(
    '/requests',
    control((request) => requests.list(Number(request.query.since ?? 0) || 0)),
  );
  router.delete(
    '/requests',
    control(() => requests.clear() ?? {}),
  );
  router.get(
    '/deliveries',
    control((request) => deliveries.log.list(Number(request.query.since ?? 0) || 0)),
  );
  router.delete(
    '/deliveries',
    control(() => deliveries.log.clear() ?? {}),
  );
  router.get(
    '/counts',
    control(() => counts(controls)),
  );
  router.get(
    '/coverage',
    control(() => provider.coverage.list()),
  );
}

function serveActing(router: Router, controls: Controls): void {
  const { provider, faults } = controls;
  router.get(
    '/faults',
    control(() => faults.list),
  );
  router.put(
    '/faults',
    control((request) => {
      faults.set(readFaults(request.body));
      return faults.list;
    }),
  );
  router.post(
    '/notify',
    control((request) => notify(controls, request.body)),
  );
  router.put(
    '/deliver-to',
    control((request) => deliverTo(controls, objectBody(request))),
  );
  router.post(
    '/links/move',
    control(() => {
      provider.addresses.move();
      return { moves: provider.addresses.moves };
    }),
  );
  router.get(
    '/settings',
    control(() => provider.settings),
  );
  router.patch(
    '/settings',
    control((request) => {
      changeSettings(provider.settings, objectBody(request));
      return provider.settings;
    }),
  );
  router.put(
    '/today',
    control((request) => setToday(controls, request.body)),
  );
}

/** The controls can do anything, so only this machine may use them, and not through a name that a web page chose. */
const loopbackOnly: RequestHandler = (request, _response, next) => {
  const from = request.socket.remoteAddress ?? '';
  const host = request.headers.host ?? '';
  if (!/^(127\.|::1$|::ffff:127\.)/.test(from))
    throw new BadControl('the controls answer this machine only', 403);
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host))
    throw new BadControl('the controls answer a loopback address only', 403);
  next();
};

const sayWhy: ErrorRequestHandler = (problem: unknown, _request, response, _next) => {
  const status = problem instanceof BadControl ? problem.status : 400;
  response.status(status).json({ error: problem instanceof Error ? problem.message : String(problem) });
};

function counts({ requests, deliveries }: Controls): object {
  const { attempts, accepted } = deliveries.log.counts;
  return {
    requests: requests.count,
    deliveries: attempts,
    notificationsAccepted: accepted,
    notificationsPending: deliveries.pending,
  };
}

/** `{today}` or a bare JSON string; null goes back to the real date. */
function setToday({ provider }: Controls, body: unknown): object {
  const today = isObject(body) ? (body.today ?? body.date ?? null) : body;
  if (today !== null && !(typeof today === 'string' && isDay(today)))
    throw new BadControl('today must be a date written YYYY-MM-DD');
  provider.rules.setToday(today ?? undefined);
  return { today: provider.rules.today() };
}

/**
 * A notification, an array of them, or `{notification | notifications, times, fill}`. What an object leaves out (client
 * key, token, metadata, links) is filled in unless `fill` is false. Returns how many were queued.
 */
function notify(controls: Controls, body: unknown): object {
  const { deliveries, sender } = controls;
  const wrapped =
    isObject(body) && (Object.hasOwn(body, 'notification') || Object.hasOwn(body, 'notifications'));
  const { notification, notifications, times, fill } = wrapped
    ? body
    : { notification: body as Json, notifications: undefined, times: 1, fill: true };
  const given = Array.isArray(notifications)
    ? notifications
    : Array.isArray(notification)
      ? notification
      : [notification ?? null];
  const count = times ?? 1;
  if (
    typeof count !== 'number' ||
    !Number.isInteger(count) ||
    count < 1 ||
    count * given.length > TIMES_MAX
  ) {
    throw new BadControl(`times must be a whole number, at most ${TIMES_MAX} notifications in all`);
  }
  if (!deliveries.settings) throw new BadControl('no receiver: set one with --deliver-to or PUT deliver-to');
  const ready = fill === false ? given : given.map((one) => completed(sender, one));
  const all: Json[] = [];
  for (let time = 0; time < count; time += 1) all.push(...ready);
  deliveries.notify(all);
  return { queued: all.length };
}

/** `{url, authorization?, token?, maxBatchSize?, concurrentDeliveries?, retryMs?, answerMs?, verify?}`; null for the two secrets sends none. */
function deliverTo(controls: Controls, body: JsonObject): object {
  const { deliveries, sender, subscriptionId, webhookSecrets, retryMs } = controls;
  for (const key of Object.keys(body))
    if (!DELIVERY_KEYS.has(key)) throw new BadControl(`${key} is not known`);
  const before = deliveries.settings;
  const url = body.url ?? before?.url;
  if (typeof url !== 'string') throw new BadControl('url is needed');
  const settings: DeliverySettings = {
    url: httpAddress('url', url),
    authorization: secret(
      body,
      'authorization',
      before ? before.authorization : webhookSecrets.authorization,
    ),
    token: secret(body, 'token', before ? before.token : webhookSecrets.token),
    maxBatchSize: whole(body, 'maxBatchSize', before?.maxBatchSize ?? 10, 256),
    concurrentDeliveries: whole(body, 'concurrentDeliveries', before?.concurrentDeliveries ?? 1, 10),
    retryMs: whole(body, 'retryMs', before?.retryMs ?? retryMs, 600_000),
    answerMs: whole(body, 'answerMs', before?.answerMs ?? ANSWER_MS, 60_000),
  };
  const sameReceiver = before?.url === settings.url && before.authorization === settings.authorization;
  if (sameReceiver && body.verify === undefined) deliveries.adjust(settings);
  else if (body.verify === false) deliveries.deliverTo(settings);
  else
    deliveries.deliverTo(settings, () =>
      subscriptionNotification(sender, 'subscriptionVerification', subscriptionId),
    );
  const { authorization: _authorization, token: _token, ...shown } = settings;
  return shown;
}

function secret(body: JsonObject, name: string, otherwise: string | undefined): string | undefined {
  const value = body[name];
  if (value === undefined) return otherwise;
  if (value === null || typeof value === 'string') return value ?? undefined;
  throw new BadControl(`${name} must be a string or null`);
}

function whole(body: JsonObject, name: string, otherwise: number, most: number): number {
  const value = body[name] ?? otherwise;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new BadControl(`${name} must be a whole number from 1 to ${most}`);
}
