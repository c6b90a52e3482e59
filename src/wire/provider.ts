/**
 * Makes the provider's client, and joins what people read through it: the service gives its own, a command that finds no
 * service gets one of its own on the store's connections.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Settings } from '../config';
import { type BookDoors, type ConnectionBook, makeConnectionBook } from '../connect/connection-book';
import type { ConnectRoutes } from '../connect/routes';
import type { ProviderDoors } from '../fetch/options';
import { makeProviderClient, type ProviderClient } from '../fetch/provider-client';
import { makeProviderHealth } from '../inbox/provider-health';
import { wordsIn } from '../model/answer-words';
import type { Connection } from '../model/connection';
import type { ConnectionsApi } from '../model/consent';
import { refusedConsent } from '../model/missing-consents';
import { isProblem, Problem } from '../model/problem';
import type { ProviderApi, ProviderData } from '../model/provider-data';
import type { Store } from '../model/store';
import { documentOf } from '../normalize/known-as';
import { readFileEntry, readReferenceEntry } from '../normalize/listed-entry';
import { normalizeDocument } from '../normalize/normalize';
import type { Observer } from '../observe/observer';
import type { Found } from '../operations/check';
import { makeProviderApi, problemOf } from '../operations/provider-api';
import { draftEvent } from '../publish/draft-event';
import { systemClock } from '../tools/clock';
import { makeSealer, type Sealer } from '../tools/secret';
import { knownBy } from './book';
import { answersThrough } from './check-connections';
import { type Connecting, lateRenewal, readConnections, wireConnecting } from './connecting';
import { makeNameEquipment } from './equipment-names';
import { type ClockHeard, makeClockHeard } from './hear-calls';
import { clientPauseOf, heedPause, pauseLoop } from './heed-pause';
import { hideCredentials, hideInRefusal } from './hide-credentials';
import * as options from './options';
import { storesAnswer } from './stores-answer';
import { type Subscribing, wireSubscribing } from './subscribing';
import { meterOf } from './sync';

/** The provider's client; what it quotes of our credentials is hidden from everybody else. */
export function clientOf(
  settings: Settings,
  doors: ProviderDoors & Pick<ConnectionBook, 'former'> & Required<Pick<ProviderDoors, 'pause'>>,
): ProviderClient {
  const providerOptions = options.providerOptions(settings);
  const { clientSecret } = providerOptions;
  const { connections, former, refused } = doors;
  const credentials = { clientSecret, connections, former };
  const heard = refused && { refused: hideInRefusal(refused, credentials) };
  const client = makeProviderClient(providerOptions, { ...doors, ...heard });
  return hideCredentials(client, credentials);
}

/** The provider's data as operators see it; `ready` is awaited before each call, and `hinted` told of each hint to probe. */
export function providerApiOf(
  settings: Settings,
  data: () => ProviderData,
  ready: () => Promise<void>,
  store: Pick<Store, 'requestProbe' | 'ownerOf' | 'nameEquipment'>,
  hinted: () => void,
): ProviderApi {
  const { includeOperatorNames } = settings;
  const nameEquipment = makeNameEquipment(store);
  return makeProviderApi({
    data,
    ready,
    async document(item, kind) {
      const normalized = normalizeDocument(item.body, { includeOperatorNames });
      if (!normalized.ok) return { ok: false, path: normalized.path, detail: normalized.detail };
      if (normalized.document.kind !== kind) {
        return { ok: false, path: '/@type', detail: `expected ${kind}, got ${normalized.document.kind}` };
      }
      const [known = null] = await nameEquipment([item.body]);
      const document = documentOf(normalized.document, known);
      const observedAt = new Date(systemClock.nowMs()).toISOString();
      return { ok: true, view: JSON.parse(draftEvent(document, { ...item, observedAt }).value) };
    },
    file: ({ body, address, mediaType }) => readFileEntry(body, { address, mediaType }),
    reference: readReferenceEntry,
    async hintRefusal(named, read) {
      const organizationId = named ?? (read === null ? null : await store.ownerOf(read));
      if (organizationId === null) return;
      await store.requestProbe(organizationId, false);
      hinted();
    },
  });
}

export interface OwnProvider {
  api: ProviderApi;
  connections: ConnectionsApi;
  /** Ends an organization's connection at the provider, as `Connecting` has it. */
  end: Connecting['end'];
  subscribing: Subscribing;
  /** For the public listener of a process that reads nothing itself. */
  routes(observer: Pick<Observer, 'fault' | 'trouble'>): ConnectRoutes;
  /** Asks the provider through each connection. Rejects with a sentence for people. */
  check(): Promise<Found>;
  clockOffsetMs: ClockHeard['offsetMs'];
  /**
   * Also waits for renewals under way, `withinMs` at most (when left out: nine tenths of SHUTDOWN_SECONDS), and gives back the calls that
   * were booked and not made. True when that leaves no consent in doubt, else it is told whose. May be called again while it lasts.
   */
  close(withinMs?: number): Promise<boolean>;
}

/**
 * For a command beside no service, and for a process that receives only: a client on the store's connections, made when
 * it is first needed. What it learns of organizations is kept, and that a grant is over; what else becomes of their access
 * is the service's to judge. Calls throw `settings.invalid` where settings miss.
 */
export function makeOwnProvider(
  settings: Settings,
  store: Store,
  failed: (error: unknown) => void = () => {},
  lost: (detail: string) => void = () => {},
): OwnProvider {
  /** Connections that were shown no list of organizations for it. */
  const refused = new Set<string>();
  const own = makeOwnParts(settings, store, { failed, lost }, async (id) => void refused.add(id));
  const learned = untilDone(async () => {
    await own.prepared();
    refused.clear();
    if (own.book().known() || (await own.book().learn())) return;
    // What was not seen because of a pause is there: nobody is to be told that it is not.
    const retryAfterMs = own.pause.leftMs();
    if (retryAfterMs > 0) throw pausedProblem(retryAfterMs);
    refuseWhereAllRefused(own.book().connections(), refused);
  });
  const api = providerApiOf(
    settings,
    () => own.client().data,
    learned,
    store,
    () => {},
  );
  const subscribing = wireSubscribing(settings, {
    store,
    clock: systemClock,
    failed,
    ready: learned,
    calls: () => own.client().subscriptions,
    connections: () => own.book().connections(),
    sees: (connectionId) => own.book().sees(connectionId),
    // Nobody looks after subscriptions here: what people ask for is held where it is sent.
    pausedMs: () => 0,
  });
  const connections = async () => {
    await own.prepared();
    return own.connecting().api;
  };
  /** What no key opens is listed, and can be revoked: there is no other way to be rid of it. */
  const stored = async () => {
    await own.prepared().catch((error: unknown) => {
      if (!isProblem(error, 'store.key-missing')) throw error;
    });
    return own.connecting().api;
  };
  return {
    api,
    subscribing,
    connections: {
      list: async (page) => (await stored()).list(page),
      revoke: async (id) => (await stored()).revoke(id),
      ask: async (wanted) => (await connections()).ask(wanted),
      consent: async (id) => (await connections()).consent(id),
      answer: async (id, answer) => (await connections()).answer(id, answer),
    },
    async end(organizationId) {
      await own.prepared();
      return own.connecting().end(organizationId);
    },
    // A receiver knows no pause before it looks, and then looks again and again.
    routes: (observer) => own.connecting().routes(observer, own.heeded),
    async check() {
      const read = own.prepared().then(() => own.book().refresh());
      await storesAnswer(read, systemClock);
      return answersThrough(own.client(), own.book(), own.connecting());
    },
    clockOffsetMs: own.clockOffsetMs,
    close: untilDone(async (withinMs = settings.shutdownSeconds * 900) => {
      const [isWell] = await Promise.all([own.close(withinMs), subscribing.stop()]);
      return isWell;
    }),
  };
}

function makeOwnParts(
  settings: Settings,
  store: Store,
  { failed, lost }: { failed(error: unknown): void; lost(detail: string): void },
  refused: BookDoors['refused'],
) {
  const clock = systemClock;
  let telling: Promise<void> = Promise.resolve();
  const health = makeProviderHealth(Math.random, (forMs) => {
    telling = store.pauseReading(forMs).catch(() => {});
  });
  const pause = clientPauseOf(() => health, clock);
  const heeding = pauseLoop({ store }, { health }, clock);
  const meter = meterOf(settings, store, () => {}, clock);
  const heard = makeClockHeard(clock);
  const client = once(
    (): ProviderClient =>
      clientOf(settings, {
        ...knownBy(() => book()),
        renewal: lateRenewal(connecting),
        equipmentRecords: (sought) => store.equipmentRecords(sought),
        clock,
        pause,
        sends: () => meter.called(),
        called: ({ serverDateMs }) => void heard.hear(serverDateMs),
      }),
  );
  const book = once(
    (): ConnectionBook =>
      makeConnectionBook({
        store,
        sealer: sealerOf(settings),
        list: (connectionId) => client().organizations(connectionId),
        unconnected: async () => {},
        refused,
        keepSights: async (...listed) => void (await store.keepSights(...listed)),
        wanted: () => {},
        clock,
      }),
  );
  const changed = (work: Promise<unknown>) => work.then(() => book().refresh());
  const connecting = once(
    (): Connecting =>
      wireConnecting(settings, {
        store,
        book: book(),
        clock,
        holder: `${hostname()}-${randomUUID()}`,
        erase: async (connectionId) => (await store.revokeConnection(connectionId)) !== null,
        refused: (...refusal) => changed(store.refuseConnection(...refusal)).catch(failed),
        accepted: (connectionId) => changed(store.acceptConnection(connectionId)),
        lost,
        learned: () => {},
        unlearned: () => {},
        called: () => meter.called(),
        pause,
      }),
  );
  const heeded = untilDone(async () => {
    await heedPause({ store }, { health }, clock);
    heeding.start();
  });
  const prepared = untilDone(async () => {
    await readConnections(settings, book());
    await heeded();
  });
  return {
    client,
    book,
    connecting,
    prepared,
    heeded,
    pause,
    clockOffsetMs: heard.offsetMs,
    async close(withinMs: number): Promise<boolean> {
      if (client.made()) client().close();
      const isWell = !connecting.made() || (await connecting().stop(withinMs));
      if (connecting.made()) connecting().close();
      await Promise.all([heeding.stop(), telling, meter.end()]);
      return isWell;
    },
  };
}

/** Whoever asks a receiver has perhaps the keys that it lacks, and somebody who can be asked instead. */
function sealerOf({ encryptionKeys, role }: Settings): Sealer {
  if (encryptionKeys === null && role === 'receiver') {
    const text = 'this receiver has no ENCRYPTION_KEYS: TRAMLINE_URL must name a worker';
    throw new Problem('settings.invalid', text);
  }
  return makeSealer(encryptionKeys ?? []);
}

/** Until when nothing may be asked. */
function pausedProblem(retryAfterMs: number): Problem {
  const answer = {
    kind: 'rate-limited',
    retryAfterMs,
    untilMs: systemClock.nowMs() + retryAfterMs,
  } as const;
  return problemOf({ answer, detail: wordsIn(answer) ?? '', address: null, organizationId: null });
}

/**
 * Where every token was refused as it was asked what it sees, a user must act, whatever is sought. It is not put on record: that the
 * consent is over, and not the settings of one command wrong, is the service's to judge.
 */
function refuseWhereAllRefused(connections: readonly Connection[], refused: ReadonlySet<string>): void {
  const valid = connections.filter(({ status }) => status === 'valid');
  const [first] = valid;
  if (first !== undefined && valid.every(({ connectionId }) => refused.has(connectionId)))
    throw problemOf(refusedConsent(first, null));
}

/** Done once, by whoever asks for it; what failed is tried again by whoever asks next. */
function untilDone<Told extends unknown[], Done>(
  work: (...told: Told) => Promise<Done>,
): (...told: Told) => Promise<Done> {
  let done: Promise<Done> | null = null;
  return (...told) => {
    done ??= work(...told).catch((error: unknown) => {
      done = null;
      throw error;
    });
    return done;
  };
}

/** Made when it is first asked for, and kept. */
function once<Part>(make: () => Part): (() => Part) & { made(): boolean } {
  let part: { value: Part } | null = null;
  const get = () => {
    part ??= { value: make() };
    return part.value;
  };
  return Object.assign(get, { made: () => part !== null });
}
