/**
 * Looks after the subscriptions that were made here or whose tokens the settings name, one process at a time: what has
 * expired is renewed, what somebody ended, or what cannot be renewed, is told, and so is one whose heartbeats stay away.
 * What is told ends by itself.
 */
import type { Condition, ConditionName } from '../model/alert';
import type { Outbox, WebhookSecrets } from '../model/store';
import type { DeliveryView } from '../model/subscription';
import type { Clock } from '../tools/clock';
import { makeListening } from './listening';
import { boundTokens, type Finding, type Findings, type LookDoors, lookAtSubscriptions } from './look';
import type { SecretBook } from './secret-book';
import { expectedOf, makeSilences } from './silences';

export interface WatchDoors extends LookDoors {
  store: Pick<Outbox, 'holdLease'> & Pick<WebhookSecrets, 'noteListening' | 'countLooks'>;
  /** Looks whether the provider uses an Authorization value that was offered, and sends anything at all. */
  delivery(): Promise<DeliveryView>;
  /** For how long the provider asked to be left alone; 0: it may be asked. */
  pausedMs(): number;
  holder: string;
  leaseMs: number;
  /** Between two looks. */
  checkMs: number;
  /** 0: heartbeats are not expected. */
  silenceMsMin: number;
}

export interface SubscriptionWatch {
  /** Milliseconds until it is to be called again. Rejects as the store does. */
  step(): Promise<number>;
  conditions(): Condition[];
  /** Those of which it is known whether they hold. */
  settled(): ConditionName[];
}

const lease = 'subscriptions';
const tickMsMin = 1000;
const tickMsMax = 5000;
const retryMsMax = 60_000;
/** What another has looked after for so long it knows by itself, as far as the provider lets it. */
const toldOnMsMax = 3_600_000;
/** It comes first: what follows the words of a silence says since when that is so. */
const pausedSentence =
  'Delivery was found paused, which sends nothing: `tramline delivery set --status active`.';
const pausedStep =
  'Resume delivery, unless it is meant to be paused: `tramline delivery set --status active`.';

/**
 * One process at a time looks, chosen by a lease; what the provider refuses is tried again within a minute. Its steps
 * are at most 5 s apart. Who lost the lease tells what it found for at most an hour.
 */
export function makeSubscriptionWatch(doors: WatchDoors): SubscriptionWatch {
  const { book, clock, silenceMsMin } = doors;
  const tickMs = Math.min(doors.leaseMs / 3, doors.checkMs, tickMsMax, shortTickMs(silenceMsMin));
  // While the store cannot be reached, or the process stands still, heartbeats are refused or not noted.
  const lapseMs = Math.floor(Math.max(tickMs * 2, Math.min(doors.leaseMs, silenceMsMin / 3)));
  const listening = makeListening(doors.store, clock, lapseMs);
  const silent = makeSilences(book, silenceMsMin, listening);
  let [holds, tells] = [false, false];
  let [heldAtMs, looks, nextLookMs] = [0, 0, 0];
  let [findings, lookedWhole]: [Findings, boolean] = [new Map(), false];
  let looked = makeLookedInto(clock, tickMs * 2);
  const pause = makePauseLook(doors);
  const hearBeside = makeHearBeside(clock, tickMs, () => silent.hear(findings));

  const silences = (): Condition[] => silent.among(findings).map(pause.told);

  /** Each is told as silent, or found in trouble, or was heard of: time in which nobody listened says nothing. */
  function isHeardOf(): boolean {
    if (silenceMsMin === 0) return true;
    const quiet = new Map(silences().map((one) => [subscriptionOf(one), tells && looked.isTold(one)]));
    return expectedOf(book).every(
      ({ id, row }) => quiet.get(id) ?? (findings.has(id) || (row.heardAtMs ?? 0) > listening.sinceMs()),
    );
  }

  /** Until all was seen anew, who loses the lease tells what it found, within bounds, and who gets it knows of no end. */
  async function follow(): Promise<void> {
    const held = holds;
    holds = await doors.store.holdLease(lease, doors.holder, doors.leaseMs);
    const seen = await doors.store.countLooks(0);
    if (holds && (!held || seen !== looks)) [nextLookMs, lookedWhole] = [0, false];
    if (holds) heldAtMs = clock.steadyMs();
    if (seen !== looks || clock.steadyMs() - heldAtMs > toldOnMsMax) {
      looks = seen;
      [findings, lookedWhole] = [new Map(), false];
      tells = false;
    }
    if (holds && !tells) looked = makeLookedInto(clock, tickMs * 2);
    tells ||= holds;
  }

  async function lookWhereDue(quiet: Condition[]): Promise<void> {
    const isDue = clock.steadyMs() >= nextLookMs && doors.pausedMs() === 0;
    if (!isDue) return pause.isDue() ? pause.look(quiet.length > 0) : undefined;
    nextLookMs = clock.steadyMs() + Math.min(doors.checkMs, retryMsMax);
    ({ findings, whole: lookedWhole } = await lookAtSubscriptions(doors, { findings, whole: lookedWhole }));
    await pause.look(quiet.length > 0);
    looked.note(quiet);
    // Whoever told of it before goes on until then.
    if (lookedWhole) looks = await doors.store.countLooks(1);
    if (isOffered(book)) await doors.delivery();
    else if (!hasExpired(findings)) nextLookMs = clock.steadyMs() + doors.checkMs;
  }

  return {
    async step() {
      await follow();
      await silent.hear(findings);
      if (!holds) return tickMs;
      // One that has just become silent may have expired.
      const quiet = silences();
      if (looked.isNew(quiet)) nextLookMs = clock.steadyMs();
      // Where no process can hear a delivery with it, the provider alone tells that it is used.
      if (isOffered(book)) nextLookMs = Math.min(nextLookMs, clock.steadyMs() + retryMsMax);
      await hearBeside(lookWhereDue(quiet).finally(() => looked.note(quiet)));
      return tickMs;
    },
    settled: () => [
      ...(isHeardOf() ? (['subscription-silent'] as const) : []),
      ...(holds && lookedWhole ? (['subscription-ended', 'subscription-expired'] as const) : []),
    ],
    conditions() {
      if (!tells) return [];
      const found = [...findings.values()].map((one) => withLastHeard(one, book));
      return [...found, ...silences().filter((one) => looked.isTold(one))];
    },
  };
}

/**
 * Beside a look that lasts it is heard as by steps, so that a store that is away meanwhile is a break. What is returned rejects as the
 * look does.
 */
function makeHearBeside(clock: Clock, everyMs: number, hear: () => Promise<void>) {
  return async (look: Promise<void>): Promise<void> => {
    const over = new AbortController();
    const hearing = (async () => {
      while (!over.signal.aborted) {
        await clock.wait(everyMs, over.signal);
        if (!over.signal.aborted) await hear().catch(() => {});
      }
    })();
    await look.finally(() => over.abort()).finally(() => hearing);
  };
}

/** A break of two steps swallows no more than one heartbeat of three, however short a silence is told. */
function shortTickMs(silenceMsMin: number): number {
  return silenceMsMin === 0 ? tickMsMax : Math.max(Math.floor(silenceMsMin / 6), tickMsMin);
}

/**
 * Whether delivery is paused, maybe by ourselves: once it was found so it is asked each minute, since it may be resumed
 * anywhere, and so it is while nobody answers.
 */
function makePauseLook({ delivery, failed, clock, pausedMs }: WatchDoors) {
  let [isPaused, isAsked, nextMs] = [false, false, 0];
  return {
    isDue: () => (isPaused || isAsked) && clock.steadyMs() >= nextMs && pausedMs() === 0,
    /** Without an answer it stays as it was found. */
    async look(matters: boolean): Promise<void> {
      nextMs = clock.steadyMs() + retryMsMax;
      const view = matters ? await delivery().catch(failed) : null;
      isAsked = matters && (view ?? null) === null;
      if (!isAsked) isPaused = view?.status === 'Paused';
    },
    told: (silence: Condition): Condition =>
      isPaused
        ? { ...silence, detail: `${pausedSentence} ${silence.detail}`, firstStep: pausedStep }
        : silence,
  };
}

/**
 * Which silences were looked into, by who tells from now on. One is told with what was found, as what is sent to a person is sent once; for a look that
 * takes longer it does not wait.
 */
function makeLookedInto(clock: WatchDoors['clock'], waitMsMax: number) {
  let silent = new Set<string>();
  const beganMs = clock.steadyMs();
  return {
    isNew: (quiet: Condition[]) => quiet.some((one) => !silent.has(subscriptionOf(one))),
    note(quiet: Condition[]): void {
      silent = new Set(quiet.map(subscriptionOf));
    },
    isTold: (one: Condition) =>
      silent.has(subscriptionOf(one)) ||
      Math.min(clock.nowMs() - one.sinceMs, clock.steadyMs() - beganMs) >= waitMsMax,
  };
}

function subscriptionOf({ labels }: Condition): string {
  return labels?.subscription_id ?? '';
}

/** An Authorization value that the provider may use, and no delivery has come with. */
function isOffered(book: SecretBook): boolean {
  return book.held('authorization').some(({ state }) => state === 'offered');
}

function hasExpired(findings: Findings): boolean {
  return [...findings.values()].some(({ name }) => name === 'subscription-expired');
}

/** Whoever looked lets another do so at once; nothing happens where another does. Throws what the store throws. */
export async function endLooking({ store, holder }: Pick<WatchDoors, 'store' | 'holder'>): Promise<void> {
  await store.holdLease(lease, holder, 0);
}

/** From when on what changed may not have been announced. */
function withLastHeard(finding: Finding, book: SecretBook): Finding {
  const id = finding.labels?.subscription_id;
  const heard = boundTokens(book).flatMap((row) => (row.subscriptionId === id ? (row.heardAtMs ?? []) : []));
  if (heard.length === 0) return finding;
  const last = new Date(Math.max(...heard)).toISOString();
  return { ...finding, detail: `${finding.detail} Its last heartbeat came at ${last}.` };
}
