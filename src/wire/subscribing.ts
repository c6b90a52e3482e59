/**
 * Joins webhook subscriptions: what deliveries are known by, followed in the store by every process; what operators can
 * do; and, in a worker, who looks after them.
 */

import { randomUUID } from 'node:crypto';
import { tellsOf } from '../alert/tells-of';
import type { Settings } from '../config';
import type { Condition, ConditionName } from '../model/alert';
import type { Connection } from '../model/connection';
import type { Store } from '../model/store';
import type { SubscriptionCalls, SubscriptionsApi } from '../model/subscription';
import { withoutEndSlashes } from '../model/without-end-slashes';
import { listingFaultOf, problemOf } from '../operations/provider-api';
import type { Open } from '../subscribe/look';
import { makeSecretBook, type SecretBook } from '../subscribe/secret-book';
import { makeSubscriptionsApi } from '../subscribe/subscriptions';
import { makeUnopenedWatch } from '../subscribe/unopened';
import { endLooking, makeSubscriptionWatch, type SubscriptionWatch } from '../subscribe/watch';
import { type Clock, makeLoop } from '../tools/clock';
import { makeSealer } from '../tools/secret';
import { deliveryPath } from '../webhook/settings';

export interface SubscribingParts {
  store: Store;
  /** Asked for when it is needed. */
  calls(): SubscriptionCalls;
  connections(): readonly Connection[];
  sees(connectionId: string): ReadonlySet<string>;
  /** What each connection sees is known. */
  ready(): Promise<void>;
  /** For how long the provider asked to be left alone; 0: it may be asked. */
  pausedMs(): number;
  clock: Clock;
  failed(error: unknown): void;
}

export interface Subscribing {
  book: SecretBook;
  api: SubscriptionsApi;
  /** A heartbeat of the subscription with this token arrived. At once. */
  heartbeat(tokenId: string): void;
  /** Of subscriptions those of the one process that looks after them. */
  conditions(): Condition[];
  /** Those of which it is known whether they hold. */
  settled(): ConditionName[];
  /** Follows the store; with a holder of leases it also looks after subscriptions. */
  start(holder: string | null): Promise<void>;
  stop(): Promise<void>;
}

const followMs = 1000;
/** A process follows at least so often, also when it is busy. */
const spreadMs = 2 * followMs;
/** For so long what a receiver told holds; it tells anew each time it follows. */
const toldMs = 20_000;

/** Webhook secrets, subscriptions and their watch, joined; nothing runs yet. */
export function wireSubscribing(settings: Settings, parts: SubscribingParts): Subscribing {
  const { store, clock, failed } = parts;
  const { encryptionKeys, publicUrl, webhookAuth, databaseUrl } = settings;
  const book = makeSecretBook({
    store,
    sealer: encryptionKeys === null ? null : makeSealer(encryptionKeys),
    configured: {
      authorizationValues: settings.webhookAuthorization ?? [],
      tokens: settings.webhookTokens ?? [],
    },
    failed,
  });
  const target = publicUrl === null ? null : `${withoutEndSlashes(publicUrl)}${deliveryPath}`;
  const api = makeSubscriptionsApi({
    book,
    clock,
    problemOf,
    listingFaultOf,
    calls: parts.calls,
    connections: parts.connections,
    sees: parts.sees,
    async ready() {
      await parts.ready();
      await book.refresh();
    },
    // An embedded store has one process, and that is this one.
    spread: async () => (databaseUrl.kind === 'sqlite' ? undefined : clock.wait(spreadMs)),
    target,
    needsAuthorization: webhookAuth.includes('authorization'),
    needsToken: webhookAuth.includes('token'),
  });
  const watch = (holder: string) =>
    makeSubscriptionWatch({
      store,
      book,
      clock,
      holder,
      target,
      calls: parts.calls,
      connections: parts.connections,
      problemOf,
      failed,
      delivery: () => api.delivery(),
      open: () => openOf(store),
      pausedMs: parts.pausedMs,
      leaseMs: settings.leaseSeconds * 1000,
      checkMs: settings.subscriptionCheckSeconds * 1000,
      silenceMsMin: settings.heartbeatSilenceSeconds * 1000,
    });
  const unopened = makeUnopenedWatch({
    book,
    checksValues: webhookAuth.includes('authorization'),
    namesValues: settings.webhookAuthorization !== null,
    clock,
  });
  /** Of a receiver, which evaluates no alerts: whoever does is told. */
  let tell: () => Promise<void> = async () => {};
  const followed = () => book.refresh().then(() => tell());
  const follow = makeLoop(() => followed().then(() => followMs), clock, failed);
  let watching: (Pick<SubscriptionWatch, 'conditions' | 'settled'> & { stop(): Promise<void> }) | null = null;
  return {
    book,
    api,
    heartbeat: (tokenId) => void store.noteHeartbeat(tokenId).catch(failed),
    conditions: () => [...unopened(), ...(watching?.conditions() ?? [])],
    settled: () => watching?.settled() ?? [],
    async start(holder) {
      await book.refresh();
      if (holder === null) tell = teller(store, unopened);
      follow.start();
      if (holder === null) return;
      const { step, conditions, settled } = watch(holder);
      const loop = makeLoop(step, clock, failed);
      watching = { conditions, settled, stop: () => loop.stop().then(() => endLooking({ store, holder })) };
      loop.start();
    },
    async stop() {
      await Promise.all([follow.stop(), watching?.stop()]);
    },
  };
}

/** What is told of single subscriptions: where there are many it is one alert, which names no one. */
async function openOf(store: Pick<Store, 'listAlerts'>): Promise<Open[]> {
  const names = ['subscription-ended', 'subscription-expired'] as const;
  return (await store.listAlerts()).flatMap((alert) => {
    const name = names.find((one) => tellsOf(alert, one));
    const subscriptionId = alert.labels.subscription_id;
    if (name === undefined || subscriptionId === undefined) return [];
    return [{ name, subscriptionId, sinceMs: alert.startsAtMs }];
  });
}

/** Tells whoever evaluates alerts while there is something to tell, and once that there is nothing more. */
function teller(store: Pick<Store, 'shareConditions'>, conditions: () => Condition[]): () => Promise<void> {
  const holder = `receiver-${randomUUID()}`;
  let hasTold = false;
  return async () => {
    const known = conditions();
    if (known.length === 0 && !hasTold) return;
    await store.shareConditions(holder, known, toldMs);
    hasTold = known.length > 0;
  };
}
