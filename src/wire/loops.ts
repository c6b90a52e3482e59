/**
 * What a worker does again and again beside its path: sending, telling, sweeping, learning what connections see, and
 * following what other processes change or meet. How each step waits for the next, and how all of them end.
 */
import type { Alerting } from '../alert/alerting';
import type { ProcessWatch } from '../alert/process-watch';
import type { ConnectionBook } from '../connect/connection-book';
import type { ProviderClient } from '../fetch/provider-client';
import type { SandboxMeter } from '../fetch/sandbox-meter';
import { isProblem } from '../model/problem';
import type { Store } from '../model/store';
import type { Observer } from '../observe/observer';
import type { Pipeline } from '../pipeline';
import type { Relay } from '../publish/relay';
import type { Replay } from '../publish/replay';
import type { StoreRoom } from '../store/store-room';
import type { LogWatch } from '../store/watch-log';
import type { Sync } from '../sync/sync';
import type { UnreadWatch } from '../sync/watch-unread';
import { type Clock, type Loop, makeLoop } from '../tools/clock';
import type { BehindWatch } from './behind';
import { makeClosing } from './closing';
import type { Connecting } from './connecting';
import { heedPause } from './heed-pause';
import { heedRefusals } from './heed-refusals';
import type { Subscribing } from './subscribing';
import { troubleOf } from './trouble-of';

export interface LoopParts {
  pipeline: Pick<Pipeline, 'work' | 'probes' | 'health'>;
  relay: Relay;
  alerting: Alerting;
  book: ConnectionBook;
  meter: SandboxMeter;
  watch: ProcessWatch;
  client: ProviderClient;
  connecting: Connecting;
  sync: Pick<Sync, 'stop'>;
  replay: Pick<Replay, 'stop' | 'cutOff'>;
  subscribing: Pick<Subscribing, 'stop'>;
  behind: BehindWatch;
  room: StoreRoom;
  storeLog: LogWatch;
  unread: UnreadWatch;
  store: Store;
}

const alertStepMs = 250;
/** After a step that took so long, this many times as long passes before the next, and no longer than is usual. */
const alertRest = 3;
const sweepMs = 60_000;
const sweepOnMs = 50;
/** After a page of which nothing was taken, so many times as long as it took passes: looking costs the others little. */
const sweepRest = 19;
const learnMs = 600_000;
/** After the first round that broke off; the time doubles until one does not. */
const learnRetryMs = 2000;
const learnRetryMsMax = 300_000;
const relayIdleMs = 1000;
const followMs = 2000;
/** Shorter than trouble lasts until a person is told of it. */
const readyMs = 4000;

/** Nothing is read before it is known what each connection sees: nothing must be refused for our own ignorance. */
export function startReading(pipeline: Pick<Pipeline, 'work' | 'probes'>): void {
  pipeline.work.start();
  pipeline.probes.start();
}

export type Loops = Record<'relay' | 'alert' | 'sweep' | 'learn' | 'follow' | 'ready', Loop>;

/** Made and not started. Lists that broke off are begun again after 5 minutes at most. */
export function loopsOf(parts: LoopParts, observer: Observer, clock: Clock): Loops {
  const { relay, alerting, store } = parts;
  const { behind, room, storeLog, unread } = parts;
  const { learn, threw } = learning(parts, observer, clock);
  const followChanges = changesFollower(parts, learn, threw, clock);
  const follow = async () => {
    try {
      await followChanges();
    } finally {
      // One token that cannot be opened keeps nobody from looking at the rest.
      await behind.look();
      await room.look();
      await storeLog.look();
      await unread.look();
    }
    return followMs;
  };
  // What only receivers meet, deliveries that find no room, is known here by readiness alone, and these raise no alerts.
  const ready = () => store.ready().then(() => readyMs);
  return {
    relay: makeLoop(() => stepRelay(relay, clock), clock, troubleOf(observer, 'kafka')),
    alert: makeLoop(stepAlerts(alerting, clock), clock, troubleOf(observer, 'alert')),
    sweep: makeLoop(() => stepSweep(store, clock), clock, troubleOf(observer, 'store')),
    learn,
    follow: makeLoop(follow, clock, troubleOf(observer, 'connections')),
    ready: makeLoop(ready, clock, troubleOf(observer, 'store'), readyMs),
  };
}

/** A round that breaks off, or throws, is begun again after a time that grows. `threw` says whether the last one did. */
function learning(
  { pipeline, book, client, meter, watch }: LoopParts,
  observer: Observer,
  clock: Clock,
): { learn: Loop; threw(): boolean } {
  let [retryMs, hasThrown] = [learnRetryMs, false];
  const waitAfter = (whole: boolean): number => {
    const waitMs = whole ? learnMs : retryMs;
    retryMs = whole ? learnRetryMs : Math.min(retryMs * 2, learnRetryMsMax);
    return waitMs;
  };
  const step = async () => {
    const pauseMs = pipeline.health.coolDownMs(clock.nowMs());
    if (pauseMs > 0) return pauseMs;
    const whole = await book.learn();
    if (book.known()) startReading(pipeline);
    // After the others, which wait for nobody.
    const isAnother = await client.showUnprobed();
    await meter.look();
    hasThrown = false;
    return isAnother ? 0 : waitAfter(whole);
  };
  const failed = troubleOf(observer, 'provider');
  const brokeOff = (error: unknown): number => {
    if (isProblem(error, 'store.key-missing')) watch.decryptionFailed(error.message);
    failed(error);
    hasThrown = true;
    return waitAfter(false);
  };
  return { learn: makeLoop(() => step().catch(brokeOff), clock, failed), threw: () => hasThrown };
}

/**
 * Others may connect, renew or revoke, or be asked for a pause, in other processes. Where the store could not be read, or
 * a token not be opened, and now can, a learning that threw meanwhile goes on at once: it may have come to wait for minutes.
 */
function changesFollower(
  parts: LoopParts,
  learn: Pick<Loop, 'wake'>,
  threw: () => boolean,
  clock: Clock,
): () => Promise<void> {
  const { pipeline, book, watch } = parts;
  let isBack = false;
  return async () => {
    try {
      await heedPause(parts, pipeline, clock);
      await heedRefusals(parts, pipeline, clock);
      const isNew = await book.follow();
      watch.decryptionSucceeded();
      if (isNew || book.isSought() || (isBack && threw())) learn.wake();
      isBack = false;
    } catch (error) {
      if (isProblem(error, 'store.key-missing')) watch.decryptionFailed(error.message);
      isBack = true;
      throw error;
    }
  };
}

/** Thousands that change their access at once wake it again and again: it leaves the process most of its time. */
function stepAlerts(alerting: Alerting, clock: Clock): () => Promise<number> {
  let restUntilMs = 0;
  return async () => {
    const restMs = Math.min(restUntilMs - clock.steadyMs(), alertStepMs);
    if (restMs > 0) await clock.wait(restMs);
    const beganMs = clock.steadyMs();
    await alerting.step();
    restUntilMs = clock.steadyMs() + alertRest * (clock.steadyMs() - beganMs);
    return alertStepMs;
  };
}

/**
 * How long retention waits after a page: until the next minute where its walk has come to its end. What is kept may stand
 * before what is to go, so a page of which nothing was taken is no reason to wait for longer than it cost.
 */
async function stepSweep(store: Pick<Store, 'sweep'>, clock: Clock): Promise<number> {
  const beganMs = clock.steadyMs();
  const { rows, more } = await store.sweep();
  if (!more) return sweepMs;
  const restMs = rows > 0 ? 0 : sweepRest * (clock.steadyMs() - beganMs);
  return Math.min(Math.max(sweepOnMs, restMs), sweepMs);
}

/** How long the relay waits after a step: not at all while there is work, but for what gathers under load. */
async function stepRelay(relay: Relay, clock: Clock): Promise<number> {
  const did = await relay.step();
  if (did === 'worked') {
    const gatherMs = relay.gatherMs();
    if (gatherMs > 0) await clock.wait(gatherMs);
    return 0;
  }
  const holdUntilMs = relay.holdUntilMs();
  return did === 'empty' || holdUntilMs === null
    ? relayIdleMs
    : Math.min(Math.max(holdUntilMs - clock.steadyMs(), 1), relayIdleMs);
}

/** Shares of a stop's grace: until when work may go on, until when what it decided is sent, and the last send is waited for. */
const inFlightShare = 0.75;
const decidedShare = 0.8;
const sentShare = 0.9;

/**
 * Takes nothing more, lets what is in flight end, gives the rest back and closes what was open, all of it within `graceMs`.
 * True when all of it ended well, and in time; never rejects.
 */
export async function stopLoops(
  parts: Omit<LoopParts, 'store'>,
  loops: Loops,
  graceMs: number,
  clock: Clock,
  failed: (error: unknown) => void,
): Promise<boolean> {
  const { pipeline, relay, alerting, client, connecting, sync, replay, subscribing, meter } = parts;
  const closing = makeClosing(graceMs, clock, failed);
  const { settled, settledBy, leftMs } = closing;
  const learned = [loops.learn, loops.follow, loops.ready, subscribing].map((one) => settled(one.stop()));
  const listed = settled(sync.stop());
  // One that sends through the relay waits for it, however long that hangs; one that sends by itself is cut off as it is.
  const replayed = settledBy(sentShare, [replay.stop()]).then(() => replay.cutOff());
  const inFlightMs = leftMs(inFlightShare);
  // What says nothing must not cost the others their time.
  await settledBy(decidedShare, [pipeline.work.stop(inFlightMs), pipeline.probes.stop(inFlightMs)]);
  client.close();
  // The answer to a renewal is the only one that is not given twice.
  const renewed = settledBy(1, [connecting.stop(leftMs(sentShare))]).then(() => connecting.close());
  await settledBy(decidedShare, [listed]);
  // What was decided last goes out before the end, unless its far side makes it wait.
  const flushed = loops.relay.stop().then(() => flush(relay, () => leftMs(decidedShare) > 0));
  const sent = settledBy(decidedShare, [flushed]).then(() => relay.close(leftMs(sentShare)));
  const told = loops.alert.stop().then(() => alerting.close());
  await settledBy(1, [...learned, replayed, renewed, sent, told, loops.sweep.stop(), meter.end()]);
  return closing.isClean();
}

async function flush(relay: Relay, mayGoOn: () => boolean): Promise<void> {
  while (mayGoOn() && (await relay.step()) === 'worked');
}
