/**
 * Joins what operators ask: the API on the store, and a check that asks each neighbour through the part that talks to it.
 * What serves it over HTTP is in operations-listener.ts.
 */
import { alertsLease } from '../alert/leader';
import { testSinks } from '../alert/test-sinks';
import { canAskProvider, configView, type LoadedSettings, type Settings } from '../config';
import type { Alert } from '../model/alert';
import type { Api } from '../model/api';
import { Problem } from '../model/problem';
import type { Store } from '../model/store';
import { type ApiDoors, makeApi } from '../operations/api';
import { type CheckDoors, CheckFailure, runCheck } from '../operations/check';
import { attendance } from '../operations/unattended';
import type { KafkaSettings } from '../publish/client-config';
import type { SecretBook } from '../subscribe/secret-book';
import { systemClock } from '../tools/clock';
import { makeRejudge } from '../webhook/rejudge';
import type { Worker } from '../wire';
import { checkProvider } from './check-provider';
import { checkSinks } from './check-sinks';
import { kafkaSettings } from './kafka-settings';
import { alertsAsTold, makeListAlerts } from './list-alerts';
import { checkLogAlone } from './log-alone';
import { alertingOptions, webhookOptions } from './options';
import { probeOutcome } from './probe-outcome';
import { type OwnProvider, providerApiOf } from './provider';
import { sinksOf, testSinksOf } from './sinks';
import type { StandIn } from './stand-in-store';
import { storesAnswer } from './stores-answer';
import { meterOf } from './sync';
import type * as Topics from './topics';

/** So long a probe on demand is waited for. */
const probeWaitMs = 5000;

/** What a process has that is no worker: a receiver, or a command beside no service. */
export interface Alone {
  own: OwnProvider;
  sync: ApiDoors['sync'];
  replay: ApiDoors['replay'];
  /** In whose place the store is opened; null: it is the one that is named. */
  standIn: StandIn | null;
}

/**
 * The API on an opened store, by who works here; `writeAlert` is what a running service has beside it. A check of
 * Alertmanagers takes at most 3 s.
 */
export function apiOf(
  loaded: LoadedSettings,
  store: Store,
  by: Worker | Alone,
  writeAlert: ((alert: Alert) => void) | null = null,
): Api {
  const { settings } = loaded;
  const [worker, alone] = 'own' in by ? [null, by] : [by, null];
  const { subscribing, clockOffsetMs } = 'own' in by ? by.own : by;
  const kafka = worker === null ? kafkaSettings(settings) : worker.kafka;
  const standIn = alone?.standIn ?? null;
  // As the metric counts: where no worker ever stood beside a receiver, for as long as that runs.
  const receives = worker === null && writeAlert !== null;
  const unattendedMs = async () => {
    const freeMs = (await store.leaseFreeMs(alertsLease)) ?? (receives ? performance.now() : null);
    if (freeMs !== null && freeMs > 0) await store.ready();
    return freeMs;
  };
  const ownCheck = standIn?.hasConnections === false ? null : (alone?.own.check ?? null);
  return makeApi({
    ...('own' in by ? ofNoWorker(settings, store, by) : ofWorker(settings, store, by)),
    store,
    rejudge: rejudgeBy(settings, subscribing.book),
    async probeNow(organizationId) {
      if (!(await store.requestProbe(organizationId, true))) return false;
      worker?.pipeline.probes.wake();
      // Beside no service nobody makes it.
      return writeAlert === null ? null : probeOutcome(store, organizationId, systemClock, probeWaitMs);
    },
    check: () =>
      runCheck({
        ...checkDoors(
          loaded,
          { store, alerting: worker?.alerting ?? null },
          standIn?.sayOfStore ?? (() => takesWrites(store, settings)),
          worker === null ? ownCheck : () => worker.checkProvider(),
          standIn === null ? unattendedMs : null,
        ),
        kafka: kafkaDoor(settings, kafka, standIn?.isKnown === false ? null : store, store),
        clockOffsetMs,
      }),
    listAlerts: makeListAlerts(settings, store, worker, unattendedMs),
    testAlerts: () => testAlerts(settings, writeAlert),
    config: () => configView(loaded),
  });
}

/** What depends on who works here. */
type WorkDoors = Pick<
  ApiDoors,
  | 'released'
  | 'forget'
  | 'manageUrl'
  | 'endConnection'
  | 'connections'
  | 'subscriptions'
  | 'provider'
  | 'sync'
  | 'replay'
  | 'sandbox'
>;

function ofWorker(settings: Settings, store: Store, worker: Worker): WorkDoors {
  const { pipeline, book, connecting, subscribing, sync, replay } = worker;
  return {
    released() {
      pipeline.work.wake();
      pipeline.probes.wake();
    },
    forget: (organizationId) => pipeline.access.forget(organizationId),
    manageUrl: (organizationId) => book.manageUrl(organizationId),
    endConnection: (organizationId) => connecting.end(organizationId),
    connections: connecting.api,
    subscriptions: subscribing.api,
    provider: providerApiOf(
      settings,
      () => worker.data,
      async () => void (await book.sighted()),
      store,
      () => pipeline.probes.wake(),
    ),
    sync,
    replay,
    sandbox: async () => worker.meter.view(),
  };
}

/** Of a receiver, and of a command beside no service: what it has itself. */
function ofNoWorker(settings: Settings, store: Store, { own, sync, replay }: Alone): WorkDoors {
  return {
    released() {},
    forget: (organizationId) => store.forgetOrganization(organizationId),
    manageUrl: () => null,
    endConnection: own.end,
    connections: own.connections,
    subscriptions: own.subscribing.api,
    provider: own.api,
    sync,
    replay,
    async sandbox() {
      const meter = meterOf(settings, store, () => {}, systemClock);
      await meter.look();
      return meter.view();
    },
  };
}

function rejudgeBy(settings: Settings, book: SecretBook): ApiDoors['rejudge'] {
  const { eventTypes, ...webhook } = webhookOptions(settings, book);
  return makeRejudge(eventTypes, () => [
    ...webhook.tokens().map(({ token }) => token),
    ...webhook.authorizationValues(),
    ...webhook.hmacSecrets(),
  ]);
}

/** Throws what the store throws, and `CheckFailure` where it has grown to its bound: then no delivery is taken. */
async function takesWrites(store: Store, settings: Settings): Promise<string> {
  await store.ready('all');
  const { storeBytesMax, databaseUrl } = settings;
  if (storeBytesMax !== null && (await store.storeBytes()) >= storeBytesMax) {
    const message = `it has grown to the ${storeBytesMax} bytes of STORE_BYTES_MAX: deliveries are answered 503`;
    throw new CheckFailure(message, 'Raise STORE_BYTES_MAX, or shorten what is kept: `tramline config`.');
  }
  return `${databaseUrl.kind} takes writes`;
}

/** In a receiver its log is no sink that anybody is paged by, and those of the workers need not be known there. */
async function testAlerts(settings: Settings, writeAlert: ((alert: Alert) => void) | null) {
  if (settings.role === 'receiver' && sinksOf(settings, null).length === 0)
    throw new Problem('command.refused', 'a receiver pages nobody: TRAMLINE_URL must name a worker');
  // Sinks of their own: what they remember of real alerts is not touched.
  const sinks = testSinksOf(settings, writeAlert);
  return testSinks(sinks, alertingOptions(settings).runbookBase, systemClock.nowMs());
}

function checkDoors(
  loaded: LoadedSettings,
  alerts: { store: Pick<Store, 'listAlerts'>; alerting: Worker['alerting'] | null },
  store: CheckDoors['store'],
  provider: CheckDoors['provider'],
  unattendedMs: (() => Promise<number | null>) | null,
): Omit<CheckDoors, 'clockOffsetMs' | 'kafka'> {
  const { settings, missing, warnings } = loaded;
  const sinks = sinksOf(settings, null);
  const listAlerts = () => storesAnswer(alerts.store.listAlerts(), systemClock);
  const asTold = () => alertsAsTold(listAlerts, alerts.alerting);
  const isForWorkers = settings.role === 'receiver' && !canAskProvider(settings);
  return {
    settings: { missing: missing.map(({ name, text }) => `${name} ${text}`), warnings },
    receives: settings.role === 'receiver',
    store,
    provider: provider === null || isForWorkers ? null : () => checkProvider(provider, listAlerts),
    sinks: sinks.length === 0 ? null : () => checkSinks(settings, sinks, asTold),
    alerts: unattendedMs === null ? null : async () => attendance(await unattendedMs(), systemClock.nowMs()),
    nowMs: systemClock.nowMs,
  };
}

/** `ends` null: what the store knows of Kafka cannot be read. */
function kafkaDoor(
  settings: Settings,
  kafka: KafkaSettings | null,
  ends: Pick<Store, 'topicEnds'> | null,
  alerts: Pick<Store, 'listAlerts'>,
): CheckDoors['kafka'] {
  if (kafka !== null) {
    return () => {
      const { checkTopics } = require('./topics') as typeof Topics;
      return checkTopics(kafka, settings.kafkaTopicPrefix, () =>
        storesAnswer(alerts.listAlerts(), systemClock),
      );
    };
  }
  return settings.role === 'receiver' || ends === null ? null : () => checkLogAlone(ends, systemClock);
}
