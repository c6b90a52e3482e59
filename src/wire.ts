/**
 * The only place where parts are made and joined. Settings come in, a worker or a receiver comes out; nothing is
 * decided here. The doors to the outside (store, provider, target, sinks) pass through `around`, where a test may put
 * something before each.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Alerting, type AlertingParts, makeAlerting } from './alert/alerting';
import { makeProcessWatch } from './alert/process-watch';
import type { AlertSink } from './alert/sink';
import type { Settings } from './config';
import type { ConnectionBook } from './connect/connection-book';
import type { ProviderDoors } from './fetch/options';
import type { ProviderClient } from './fetch/provider-client';
import type { SandboxMeter } from './fetch/sandbox-meter';
import type { Condition } from './model/alert';
import type { ProviderData } from './model/provider-data';
import type { Store } from './model/store';
import type { Observer } from './observe/observer';
import type { Found } from './operations/check';
import { makePipeline, type Pipeline, type ProviderDoor } from './pipeline';
import type { KafkaSettings } from './publish/client-config';
import { makeEventLogTarget } from './publish/event-log';
import { kafkaTargetDefaults, makeKafkaTarget } from './publish/kafka';
import type { Replay } from './publish/replay';
import type { PublishTarget } from './publish/target';
import { makeStoreRoom } from './store/store-room';
import { makeLogWatch } from './store/watch-log';
import { answersInTime, watchStore } from './store/watch-store';
import type { Sync } from './sync/sync';
import { makeUnreadWatch } from './sync/watch-unread';
import { type Clock, systemClock } from './tools/clock';
import { makeBehindWatch } from './wire/behind';
import { bookOf, knownBy } from './wire/book';
import { checkConnections } from './wire/check-connections';
import { conditionsOf, isOverBy, isSettledBy, type Knowing } from './wire/conditions';
import {
  type Connecting,
  type ConnectingParts,
  lateRenewal,
  readConnections,
  wireConnecting,
} from './wire/connecting';
import { makeNameEquipment } from './wire/equipment-names';
import { type ClockHeard, hearCalls, signs } from './wire/hear-calls';
import { heedOthers } from './wire/heed-others';
import { clientPauseOf, heedPause } from './wire/heed-pause';
import { kafkaSettings } from './wire/kafka-settings';
import { guardRelay, refuseLogAlone } from './wire/log-alone';
import { loopsOf, startReading, stopLoops } from './wire/loops';
import * as options from './wire/options';
import { payProbeCall } from './wire/pay-probe-call';
import { probeAsKnown, tellUnasked } from './wire/probe-as-known';
import { clientOf } from './wire/provider';
import { relayOf } from './wire/relay';
import { replayOf } from './wire/replay';
import { sinksOf } from './wire/sinks';
import { type Subscribing, wireSubscribing } from './wire/subscribing';
import { meterOf, syncOf } from './wire/sync';
import { traceReads } from './wire/trace-reads';
import { troubleOf, troubleOfLetGo, troubleOfLost } from './wire/trouble-of';

/** The doors to the outside, as one object; a receiver alone has that of the store only. */
export interface OutsideDoors {
  store: Store;
  provider: Pick<ProviderClient, 'read' | 'probe'>;
  target: PublishTarget;
  sinks: AlertSink[];
}

/** What a test puts before them, by who is served. */
export interface Around {
  worker(doors: OutsideDoors): OutsideDoors;
  receiver?(store: Store): Store;
}

export interface Worker {
  pipeline: Pipeline;
  alerting: Alerting;
  book: ConnectionBook;
  /** What leads to connections and keeps them. */
  connecting: Connecting;
  /** Where events go; null without brokers. */
  kafka: KafkaSettings | null;
  /** What people read and write directly. */
  data: ProviderData;
  sync: Sync;
  replay: Replay;
  /** What deliveries are known by, and who looks after subscriptions. */
  subscribing: Subscribing;
  meter: SandboxMeter;
  conditions(): Condition[];
  /** Reads the first page of organizations through each connection; rejects with what a person should know. */
  checkProvider(): Promise<Found>;
  clockOffsetMs: ClockHeard['offsetMs'];
  start(): void;
  /** Takes nothing more, lets what is in flight end, gives the rest back, within `graceMs`. True when all ended well; never rejects. */
  stop(graceMs: number): Promise<boolean>;
}

/**
 * Everything that a worker does, joined and not started. Throws `settings.invalid` where it may not publish,
 * `store.key-missing`, `store.unavailable`; nothing of it runs on then.
 */
export async function wireWorker(
  settings: Settings,
  store: Store,
  observer: Observer,
  around: Around['worker'] = (doors) => doors,
): Promise<Worker> {
  await refuseLogAlone(settings.kafkaBrokers, store);
  const clock = systemClock;
  const kafka = kafkaSettings(settings, (trouble) => observer.trouble(trouble));
  const watch = makeProcessWatch(clock, () => signs(settings, book), hostname());
  const heard = hearCalls(settings, { watch, observer }, clock);
  const pause = clientPauseOf(() => pipeline.health, clock);
  const client = clientOf(settings, {
    pause,
    ...knownBy(() => book),
    renewal: lateRenewal(() => connecting),
    equipmentRecords: (sought) => doors.store.equipmentRecords(sought),
    payProbeCall: () => payProbeCall(doors.store, clock),
    clock,
    ...hearConsents(() => ({ book, pipeline }), observer),
    called: heard.called,
    sends: () => meter.called(),
  });
  const outside = around({
    store,
    provider: client,
    target: targetOf(settings, kafka, clock),
    sinks: sinksOf(settings, (alert) => observer.log.alert(alert)),
  });
  const watched = watchStore(outside.store, clock);
  const doors = { ...outside, store: watched.store, kafka, nameEquipment: makeNameEquipment(watched.store) };
  const listsWanted = () => loops.learn.wake();
  const pipeline = makePipeline(
    {
      store: doors.store,
      provider: providerDoorOf({ provider: doors.provider, clock }, observer, () => book, listsWanted),
      observer,
      clock,
      decided: () => loops.relay.wake(),
      accessChanged: () => loops.alert.wake(),
      connectionsChanged: () => book.refresh(),
    },
    options.pathOptions(settings),
  );
  const book = bookOf(settings, { store: doors.store, client, pipeline, observer, clock, listsWanted });
  // Of this process, for the leases that it takes.
  const holder = `${hostname()}-${randomUUID()}`;
  const consenting = { store: doors.store, book, clock, holder, pause, unlearned: listsWanted };
  const connecting = connectingOf(settings, consenting, () => meter, pipeline, observer);
  const guard = guardRelay(doors.store, doors.target, clock);
  const relay = relayOf(settings, { ...doors, outbox: guard.outbox }, observer, clock, holder);
  const meter = meterOf(settings, doors.store, troubleOf(observer, 'store'), clock);
  const listed = { observer, decided: () => loops.relay.wake(), failed: troubleOf(observer, 'sync') };
  const sync = syncOf(settings, { ...doors, client, pipeline, book, meter, clock, holder, ...listed });
  const replay = replayOf(settings, { ...doors, relay, meter, clock, holder, pipeline, observer });
  const behind = makeBehindWatch(doors.store, sync, mayListAll(book, meter), clock);
  const room = makeStoreRoom(doors.store, settings.storeBytesMax, clock);
  const storeLog = makeLogWatch(doors.store, clock);
  const unread = makeUnreadWatch(doors.store, sync, clock);
  const subscribing = subscribingOf(settings, doors.store, { client, book, pipeline, observer, clock });
  const others = [relay, guard, behind, book, room, storeLog, unread, meter, watch, connecting, subscribing];
  const conditions = conditionsOf({ store: watched, health: pipeline.health, others }, clock);
  const known = knownToAlerts({ others }, book);
  const alerting = alertingOf(settings, doors, { observer, clock, holder, conditions, ...known });
  const operated = { pipeline, kafka, relay, alerting, book, meter, connecting, sync, replay, subscribing };
  const parts = { ...operated, watch, client, behind, room, storeLog, unread };
  const loops = loopsOf({ ...parts, store: doors.store }, observer, clock);
  await readConnections(settings, book).then(() => meter.look());
  await heedPause(doors, pipeline, clock).then(() => subscribing.start(holder));
  return {
    ...operated,
    data: client.data,
    conditions,
    checkProvider: () => checkConnections(client, book, connecting),
    clockOffsetMs: heard.clockOffsetMs,
    start() {
      if (book.known()) startReading(pipeline);
      heedOthers(store, pipeline, loops.relay);
      for (const loop of [...Object.values(loops), sync]) loop.start();
    },
    stop: (graceMs) => stopLoops(parts, loops, graceMs, clock, troubleOf(observer, 'store')),
  };
}

/** It is known what connections see, one of them is valid, and calls are left. */
function mayListAll(book: ConnectionBook, meter: SandboxMeter): () => boolean {
  const isAny = () => book.connections().some(({ status }) => status === 'valid');
  return () => isAny() && book.known() && meter.forbidden() === null;
}

/** Reads tell of refused consents themselves, and many may meet one at once: once is enough. */
function hearConsents(
  joined: () => { book: ConnectionBook; pipeline: Pipeline },
  observer: Observer,
): Required<Pick<ProviderDoors, 'refused' | 'accepted'>> {
  const failed = troubleOf(observer, 'connections');
  return {
    refused(refusedId, message, sealedToken) {
      const { book, pipeline } = joined();
      const isValid = book.connections().some(({ connectionId, status }) => {
        return connectionId === refusedId && status === 'valid';
      });
      if (isValid) void pipeline.access.refuseGrant(refusedId, message, sealedToken).catch(failed);
    },
    accepted: (connectionId) => joined().pipeline.access.acceptGrant(connectionId).catch(failed),
  };
}

function connectingOf(
  settings: Settings,
  parts: Pick<ConnectingParts, 'store' | 'book' | 'clock' | 'holder' | 'pause' | 'unlearned'>,
  meter: () => SandboxMeter,
  { access }: Pipeline,
  observer: Observer,
): Connecting {
  return wireConnecting(settings, {
    ...parts,
    erase: access.revokeGrant,
    refused: (...refusal) => access.refuseGrant(...refusal).catch(troubleOf(observer, 'connections')),
    accepted: access.acceptGrant,
    lost: (detail) => observer.trouble(troubleOfLost(detail)),
    learned: () => void meter().look().catch(troubleOf(observer, 'store')),
    called: () => meter().called(),
  });
}

function subscribingOf(
  settings: Settings,
  store: Store,
  parts: {
    client: ProviderClient;
    book: ConnectionBook;
    pipeline: Pipeline;
    observer: Observer;
    clock: Clock;
  },
): Subscribing {
  const { client, book, pipeline, observer, clock } = parts;
  return wireSubscribing(settings, {
    store,
    clock,
    failed: troubleOf(observer, 'webhook'),
    calls: () => client.subscriptions,
    connections: book.connections,
    sees: book.sees,
    ready: async () => void (await book.sighted()),
    pausedMs: () => pipeline.health.coolDownMs(clock.nowMs()),
  });
}

function providerDoorOf(
  { provider, clock }: { provider: OutsideDoors['provider']; clock: Clock },
  observer: Observer,
  book: () => ConnectionBook,
  listsWanted: () => void,
): ProviderDoor {
  return {
    read: traceReads(provider, observer),
    probe: tellUnasked(
      probeAsKnown((due, signal) => provider.probe(due, signal), book, listsWanted, clock),
      observer,
    ),
    isConnected: (id) =>
      book()
        .connections()
        .some(({ connectionId }) => connectionId === id),
    sees: (connectionId, organizationId) => book().sees(connectionId).has(organizationId),
    learnedSince: (sinceMs) => book().soughtSince(sinceMs),
    unlisted: (connectionId) => book().unlisted(connectionId),
  };
}

function targetOf(settings: Settings, kafka: KafkaSettings | null, clock: Clock): PublishTarget {
  if (kafka === null) return makeEventLogTarget();
  return makeKafkaTarget(kafka, { ...kafkaTargetDefaults, clock, topics: options.topicsOf(settings) });
}

function knownToAlerts(
  others: Pick<Knowing, 'others'>,
  book: ConnectionBook,
): Pick<AlertingParts, 'isSettled' | 'isOver' | 'manageUrl'> {
  return { isSettled: isSettledBy(others, book), isOver: isOverBy(others), manageUrl: book.manageUrl };
}

function alertingOf(
  settings: Settings,
  { store, sinks }: OutsideDoors,
  parts: { observer: Observer } & Pick<
    AlertingParts,
    'clock' | 'holder' | 'conditions' | 'isSettled' | 'isOver' | 'manageUrl'
  >,
): Alerting {
  const { observer, ...told } = parts;
  return makeAlerting({
    ...told,
    store: answersInTime(store, told.clock),
    sinks,
    options: options.alertingOptions(settings),
    hooks: {
      posted: (line) => observer.alertPost(line),
      letGo: (line) => observer.trouble(troubleOfLetGo(line)),
      // Where pages go elsewhere, the log still says when each began and ended; as a sink it says so itself.
      ...(sinks.some(({ name }) => name === 'log') ? {} : { changed: observer.log.alert }),
    },
  });
}
