// The controls of webhooks: where deliveries go, what is sent besides what happens, the sender's log, subscriptions.
// Promises that a receiver is named before anything is queued for it.
import type { Request, Router } from 'express';
import { isObject, type Json, type JsonObject } from '../json';
import { httpAddress } from '../options';
import type { DeliverySettings } from '../webhooks/deliveries';
import { completed, subscriptionNotification } from '../webhooks/notifications';
import { ANSWER_MS } from '../webhooks/poster';
import type { Subscription, SubscriptionStatus } from '../webhooks/subscriptions';
import { BadControl, type Controls, control, objectBody } from './control';

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
const STATUSES: readonly SubscriptionStatus[] = ['Active', 'Expired', 'Terminated'];

export function serveWebhookControls(router: Router, controls: Controls): void {
  const { log } = controls.poster;
  router.get(
    '/deliveries',
    control((request) => log.list(Number(request.query.since ?? 0) || 0)),
  );
  router.delete(
    '/deliveries',
    control(() => log.clear() ?? {}),
  );
  router.get(
    '/counts',
    control(() => counts(controls)),
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
    '/heartbeat',
    control(() => controls.dispatch.beat(controls.subscriptionId) ?? {}),
  );
  router.get(
    '/subscriptions',
    control(() => controls.subscriptions.list.map(subscriptionState)),
  );
  router.patch(
    '/subscriptions/:id',
    control((request) => setStatus(controls, request)),
  );
}

/** Without the token. */
function subscriptionState({ token: _secret, user, ...subscription }: Subscription): object {
  return { ...subscription, user: user.name };
}

function setStatus({ subscriptions }: Controls, request: Request): object {
  const subscription = subscriptions.find(String(request.params.id));
  if (!subscription) throw new BadControl(`no subscription ${request.params.id}`, 404);
  const { status } = objectBody(request);
  if (!STATUSES.includes(status as SubscriptionStatus))
    throw new BadControl(`status must be one of ${STATUSES.join(', ')}`);
  subscription.status = status as SubscriptionStatus;
  return subscriptionState(subscription);
}

function counts({ requests, deliveries, dispatch, poster }: Controls): object {
  const { attempts, accepted } = poster.log.counts;
  return {
    requests: requests.count,
    deliveries: attempts,
    notificationsAccepted: accepted,
    notificationsPending: deliveries.pending + dispatch.pending,
    notificationsDropped: deliveries.dropped,
  };
}

/**
 * A notification, an array of them, or `{notification | notifications, times, fill}`. What an object leaves out (client
 * key, token, metadata, links) is filled in unless `fill` is false. Returns how many were queued.
 */
function notify(controls: Controls, body: unknown): object {
  const { deliveries, dispatch, sender, subscriptions } = controls;
  const { given, times, fill } = notificationsIn(body);
  const subscribed = subscriptions.list.some(({ status }) => status === 'Active');
  if (!deliveries.settings && !subscribed)
    throw new BadControl('no receiver: set one with --deliver-to or PUT deliver-to, or subscribe');
  const ready = fill ? given.map((one) => completed(sender, one)) : given;
  const all: Json[] = [];
  for (let time = 0; time < times; time += 1) all.push(...ready);
  deliveries.notify(all);
  if (subscribed) for (const one of all) if (isObject(one)) dispatch.tellSubscribers(one);
  return { queued: all.length };
}

/** What is given by itself is one notification, or an array of them, and goes out once. */
function notificationsIn(body: unknown): { given: Json[]; times: number; fill: boolean } {
  const wrapped =
    isObject(body) && (Object.hasOwn(body, 'notification') || Object.hasOwn(body, 'notifications'));
  const { notification, notifications, times, fill }: JsonObject = wrapped
    ? body
    : { notification: body as Json };
  const given = [notifications, notification].find(Array.isArray) ?? [notification ?? null];
  return { given, times: timesOf(times ?? 1, given.length), fill: fill !== false };
}

function timesOf(times: Json, count: number): number {
  const isWhole = typeof times === 'number' && Number.isInteger(times);
  if (!isWhole || times < 1 || times * count > TIMES_MAX)
    throw new BadControl(`times must be a whole number, at most ${TIMES_MAX} notifications in all`);
  return times;
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
