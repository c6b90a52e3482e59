/**
 * The process: settings, build, run the role, drain on TERM. The second signal ends at once. Exit codes: 0 after a stop
 * that was asked for, 1 after a fault, 2 when the settings or the store do not let it start.
 */
import { randomUUID } from 'node:crypto';
import { countAlerts } from './alert/count-alerts';
import { alertsLease } from './alert/leader';
import { canAskProvider, type LoadedSettings, type Settings, telemetryWishes } from './config';
import type { Delivery } from './model/notification';
import type { Store } from './model/store';
import { type Health, makeHealth } from './observe/health';
import { type LogOptions, makeLog } from './observe/log';
import { makeObserver, type Observer } from './observe/observer';
import type { OperationsServer } from './operations/server';
import { accept } from './pipeline';
import type { SetAside } from './store/quarantine-entry';
import { makeStoreRoom } from './store/store-room';
import { systemClock } from './tools/clock';
import { makeWebhookServer, type WebhookServer } from './webhook/server';
import { type Around, type Worker, wireWorker } from './wire';
import { makeClosing } from './wire/closing';
import { connectionsAllowed } from './wire/connections-allowed';
import { endedByFaultMs, endOnFault } from './wire/end-on-fault';
import { openStore } from './wire/open-store';
import { type ListenPlace, listenFault, startFault } from './wire/opening-faults';
import { operationsOf } from './wire/operations-listener';
import * as options from './wire/options';
import { packageVersion } from './wire/package-files';
import { makeOwnProvider, type OwnProvider } from './wire/provider';
import type { Subscribing } from './wire/subscribing';
import { gaugesOf } from './wire/sync';
import { troubleOf, troubleOfLost } from './wire/trouble-of';

/** The line that says that it serves. */
export interface Ready {
  /** null for a worker. */
  public: string | null;
  operations: string;
  role: Settings['role'];
  store: 'sqlite' | 'postgres';
  events: 'kafka' | 'event-log';
}

export interface Service {
  ready: Ready;
  observer: Observer;
  worker: Worker | null;
  store: Store;
  /**
   * Readiness red first; then deliveries are taken for `servesMs`, 0 when left out; then what is in flight ends, and
   * everything closes. Within SHUTDOWN_SECONDS in all.
   */
  stop(servesMs?: number): Promise<void>;
}

const version = packageVersion();

/**
 * Builds and starts the role. Throws `settings.invalid` (also for an address that cannot be had), `store.locked`,
 * `store.unavailable`, `store.key-missing`; what it had opened by then is closed.
 */
export async function startService(loaded: LoadedSettings, around?: Around): Promise<Service> {
  const { settings } = loaded;
  // What counts reads the store, and so comes after it.
  let count: SetAside = () => {};
  const opened = await openStore(settings, logWait(settings), (reason) => count(reason));
  const observer = observerOf(settings, opened, () => parts.worker);
  count = observer.setAside;
  const health = makeHealth(readyOf(settings, opened));
  const parts: Parts = {
    health,
    webhook: null,
    worker: null,
    own: null,
    operations: null,
    store: opened,
    observer,
  };
  for (const text of loaded.warnings) observer.log.setting({ text });
  try {
    const begun = await begin(loaded, parts, around);
    parts.worker?.start();
    health.markStarted();
    const stop = (servesMs = 0) => stopAll(settings, parts, servesMs);
    return { ready: begun, observer, worker: parts.worker, store: opened, stop };
  } catch (error) {
    await closeAll(parts, failedStartMs);
    await observer.close();
    throw startFault(error, settings.databaseUrl);
  }
}

/** Whoever takes deliveries needs room for them as well: a store at its bound takes all other writes. */
function readyOf({ role, storeBytesMax }: Settings, store: Store): () => Promise<void> {
  const room = makeStoreRoom(store, role === 'worker' ? null : storeBytesMax, systemClock);
  return () => store.ready().then(() => room.admit(0));
}

/** Fills in the parts one by one, so that those that are there can be closed. */
async function begin(loaded: LoadedSettings, parts: Parts, around?: Around): Promise<Ready> {
  const { settings } = loaded;
  const { observer, health, store: opened } = parts;
  // Asking for it waits for what the store's thread is at, which is nothing yet.
  const allowed = connectionsAllowed();
  let store = opened;
  if (settings.role !== 'receiver') {
    parts.worker = await wireWorker(settings, opened, observer, (doors) => {
      const passed = around?.worker(doors) ?? doors;
      store = passed.store;
      return passed;
    });
  } else {
    store = around?.receiver?.(opened) ?? opened;
    parts.own = makeOwnProvider(settings, opened, troubleOf(observer, 'webhook'), (detail) =>
      observer.trouble(troubleOfLost(detail)),
    );
  }
  const { worker, own } = parts;
  const by = worker ?? own!;
  const { subscribing } = by;
  // Of a worker it runs already.
  if (worker === null) await subscribing.start(null);
  if (settings.role !== 'worker') {
    parts.webhook = webhookOf(settings, store, observer, worker, subscribing, allowed.senders);
    // A receiver may do without what a consent takes.
    if (settings.publicUrl !== null && canAskProvider(settings))
      parts.webhook.mount('/connect', (worker?.connecting ?? own!).routes(observer));
  }
  const operated = { store: opened, observer, health, by, connectionsMax: allowed.operations };
  parts.operations = operationsOf(loaded, operated);
  return listen(settings, parts.webhook, parts.operations);
}

/** A log of its own: what else the process tells of itself begins once it has its store. */
function logWait(settings: Settings): (detail: string) => void {
  return (detail) => {
    const log = makeLog(logOf(settings));
    log.trouble({ place: 'store', code: 'store.waits', detail });
    log.flush();
  };
}

const logOf = (settings: Settings): LogOptions => ({
  level: settings.logLevel,
  service: settings.otelServiceName,
  nowMs: systemClock.nowMs,
});

function observerOf(settings: Settings, store: Store, worker: () => Worker | null): Observer {
  return makeObserver({
    log: logOf(settings),
    telemetry: { ...telemetryWishes(settings), version, instance: randomUUID() },
    gauges: {
      ready: () => store.ready(),
      counts: () => store.counts(),
      sandboxLeft: () => worker()?.meter.view().limits ?? [],
      alerts: async () => ({
        ...countAlerts(await store.listAlerts(), systemClock.nowMs()),
        unattendedMs: await store.leaseFreeMs(alertsLease),
      }),
      syncs: async () => gaugesOf(await store.syncStanding(), systemClock.nowMs()),
      endedByFaultMs: () => endedByFaultMs(store),
    },
    topics: options.topicsOf(settings),
  });
}

function webhookOf(
  settings: Settings,
  store: Store,
  observer: Observer,
  worker: Worker | null,
  { book, heartbeat }: Subscribing,
  connectionsMax: number,
): WebhookServer {
  const clock = systemClock;
  // A receiver alone wakes nobody: its workers look at the store by themselves.
  const nobody = () => {};
  const path = { store, observer, clock, wakeWork: nobody, wakeProbes: nobody };
  const room = makeStoreRoom(store, settings.storeBytesMax, clock);
  const take = worker === null ? (delivery: Delivery) => accept(path, delivery) : worker.pipeline.accept;
  const wished = options.webhookOptions(settings, book);
  const limited = { ...wished, limits: { ...wished.limits, connectionsMax } };
  return makeWebhookServer(limited, {
    accept:
      settings.storeBytesMax === null
        ? take
        : (delivery) => room.admit(delivery.bytes).then(() => take(delivery)),
    clock,
    used: book.used,
    heartbeat,
    refused: (reason, { status, tookMs, cause }) => {
      observer.deliveryRefused({ status, reason, tookMs });
      if (reason === 'fault') observer.fault('webhook', cause);
    },
    storeRefused: (detail) => observer.trouble({ place: 'store', code: 'store.refused', detail }),
    keepSample: async (bodyHash, detail, raw) => {
      await store.keepSample({ bodyHash, detail, raw: raw.toString('utf8') });
    },
  });
}

async function listen(
  settings: Settings,
  webhook: WebhookServer | null,
  operations: OperationsServer,
): Promise<Ready> {
  const { host, port, operationsHost } = settings;
  const operationsPort = await listenAt(operations, {
    portName: 'OPERATIONS_PORT',
    port: settings.operationsPort,
    hostName: 'OPERATIONS_HOST',
    host: operationsHost,
  });
  const publicPort = webhook && (await listenAt(webhook, { portName: 'PORT', port, hostName: 'HOST', host }));
  return {
    public: publicPort === null ? null : `http://${hostOf(settings.host)}:${publicPort.port}`,
    operations: `http://${hostOf(settings.operationsHost)}:${operationsPort.port}`,
    role: settings.role,
    store: settings.databaseUrl.kind,
    events: settings.kafkaBrokers === null ? 'event-log' : 'kafka',
  };
}

async function listenAt(
  listener: Pick<OperationsServer, 'listen'>,
  place: ListenPlace,
): Promise<{ port: number }> {
  try {
    return await listener.listen(place.host, place.port);
  } catch (error) {
    throw listenFault(error, place);
  }
}

/** An address that a person on this machine can open. */
function hostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** What there is of a process: null for what its role does without, or what it had not come to when its start failed. */
interface Parts {
  health: Health;
  webhook: WebhookServer | null;
  worker: Worker | null;
  own: OwnProvider | null;
  operations: OperationsServer | null;
  store: Store;
  observer: Observer;
}

/** Nothing is in flight that was promised to anybody. */
const failedStartMs = 1000;

async function stopAll(settings: Settings, parts: Parts, servesMs: number): Promise<void> {
  const beganMs = systemClock.nowMs();
  markDraining(parts);
  // Nobody sends to a process without a public listener.
  const pauseMs = parts.webhook === null ? 0 : servesMs;
  await systemClock.wait(pauseMs);
  const graceMs = settings.shutdownSeconds * 1000 - pauseMs;
  const closesMs = systemClock.steadyMs();
  const clean = await closeAll(parts, graceMs);
  parts.observer.log.stopped({ tookMs: systemClock.nowMs() - beganMs, clean });
  // What is left of the grace then is for a machine that is slow.
  const toldMs = closesMs + graceMs * 0.95;
  await parts.observer.close(Math.max(0, toldMs - systemClock.steadyMs()));
}

/** Everything is still answered, and nobody is to send more. */
function markDraining({ health, webhook, operations }: Parts): void {
  health.markDraining();
  webhook?.drain();
  operations?.drain();
}

/** Everything but the observer, within nine tenths of `graceMs`; true when all of it ended well, and in time. Never rejects. */
async function closeAll(parts: Parts, graceMs: number): Promise<boolean> {
  const { webhook, worker, own, operations, store, observer } = parts;
  markDraining(parts);
  const closing = makeClosing(graceMs, systemClock, troubleOf(observer, 'store'));
  const stopped = worker?.stop(graceMs * 0.75);
  // The rest of the grace is for what must still be written when the slow ones were cut off.
  await closing.settledBy(0.8, [webhook?.close(graceMs * 0.4), stopped]);
  // What it leaves in doubt is to be told by then.
  const renewsMs = closing.leftMs(0.8);
  await closing.settledBy(0.85, [operations?.close(graceMs * 0.05), own?.close(renewsMs)]);
  await closing.settledBy(0.9, [store.close()]);
  return closing.isClean();
}

/** Serves until a signal, then drains; resolves to the exit code. Prints one line when ready. */
export async function serve(loaded: LoadedSettings, around?: Around): Promise<number> {
  // Whoever reads that line may send a signal before this process has gone on: it is heard from the beginning.
  const signalled = firstSignal(loaded.settings.shutdownSeconds * 1000);
  // A start may wait for longer than the grace, for a store or for whoever migrates it. Nothing was promised to anybody yet.
  const service = await Promise.race([startService(loaded, around), signalled.then(() => null)]);
  if (service === null) return 0;
  const { observer, ready } = service;
  endOnFault(observer, service.store);
  observer.log.starting({ role: ready.role, version, store: ready.store, events: ready.events });
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  const { signal, overdue } = await signalled;
  observer.log.draining({ signal });
  // An interrupt, or the end of its terminal, comes from whoever started it by hand: no balancer has to hear of it first.
  const { drainSeconds, shutdownSeconds } = loaded.settings;
  await service.stop(signal === 'SIGTERM' ? (drainSeconds ?? shutdownSeconds / 5) * 1000 : 0);
  clearTimeout(overdue);
  return 0;
}

/** The first ends the process within `graceMs`; a second one at once, unless it tells of a terminal's end. */
function firstSignal(graceMs: number): Promise<{ signal: string; overdue: NodeJS.Timeout }> {
  return new Promise((resolve) => {
    let isHeard = false;
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(signal, () => {
        // A terminal that goes away says so more than once.
        if (isHeard && signal === 'SIGHUP') return;
        // What was acknowledged is on disk at every moment: an end at once loses nothing.
        if (isHeard) process.exit(130);
        isHeard = true;
        resolve({ signal, overdue: setTimeout(() => process.exit(1), graceMs) });
      });
    }
  });
}
