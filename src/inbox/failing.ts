/**
 * Failures in a row, with no success between, of an origin or of one organization there: of how many resources and
 * organizations they are, and when the next attempt may be made, which is then a trial. Pure but for its memory, which
 * is bounded: it counts no further than it has to.
 */
import { type BackoffBounds, backoffMs } from '../tools/backoff';

/** A read that is to be made, or was. */
export interface Reading {
  origin: string;
  connectionId: string;
  /** Whose it is, as far as known; null: it is not known. */
  organizationId: string | null;
  /** What is read; null where it is nobody's in particular, such as the list of organizations. */
  address: string | null;
  /** When the previous attempt at it failed, by the store's clock; null for a first one. */
  lastAttemptMs: number | null;
}

export interface Failing {
  /** When it began. */
  sinceMs: number;
  /** When, where and why it failed last. */
  lastMs: number;
  address: string | null;
  detail: string;
  /** At most `resourcesMin`. */
  resources: Set<string>;
  /** At most `organizationsMin`; of what is nobody's each failure counts as one. */
  organizations: Set<string>;
  trials: number;
  /** No attempt before; 0 when it is not held. */
  heldUntilMs: number;
  /** From the last trial to the next. */
  distanceMs: number;
  triedAddress: string | null;
  /** Something else came since the last trial and was sent away. */
  isOtherWaiting: boolean;
}

/** Fewer may each be broken by themselves. */
const resourcesMin = 3;
/** One alone may be what is broken. */
const organizationsMin = 2;
/** Longer than the longest back-off and a read: what goes on fails again before that. */
const overMs = 900_000;
/** One call in ten seconds is no burden to anybody, and finds out soon that it is over. */
const trialBounds: BackoffBounds = { baseMs: 1000, maxMs: 10_000 };
/** Shorter trouble is nobody's business: it heals by itself. */
export const lastsMs = 15_000;
/** Until an outage is told it is tried more often: what has healed by then is to be known as healed. */
const untoldBounds: BackoffBounds = { ...trialBounds, maxMs: 2000 };

export function newFailing(nowMs: number): Failing {
  return {
    sinceMs: nowMs,
    lastMs: nowMs,
    address: null,
    detail: '',
    resources: new Set(),
    organizations: new Set(),
    trials: 0,
    heldUntilMs: 0,
    distanceMs: 0,
    triedAddress: null,
    isOtherWaiting: false,
  };
}

export function count(
  failing: Failing,
  { organizationId, address }: Reading,
  detail: string,
  nowMs: number,
): void {
  const { resources, organizations } = failing;
  Object.assign(failing, { address, detail, lastMs: nowMs });
  const resource = address?.replace(/[?#].*$/s, '') ?? `nobody's ${resources.size}`;
  if (resources.size < resourcesMin) resources.add(resource);
  const organization = address === null ? `nobody's ${organizations.size}` : organizationId;
  if (organization !== null && organizations.size < organizationsMin) organizations.add(organization);
}

/** Nothing is tried there any more: it was set aside, is not wanted or stands elsewhere. */
export function isOver({ lastMs }: Failing, nowMs: number): boolean {
  return nowMs - lastMs > overMs;
}

/** More fails than what is broken by itself. */
export function isOfMany({ resources }: Failing): boolean {
  return resources.size >= resourcesMin;
}

/** It is no one organization's. */
export function isOfAll(failing: Failing): boolean {
  return isOfMany(failing) && failing.organizations.size >= organizationsMin;
}

/** From now on it is left alone but for trials. */
export function hold(failing: Failing, nowMs: number, random: () => number): void {
  if (failing.heldUntilMs > 0) return;
  failing.distanceMs = trialMs(failing, nowMs, random);
  failing.heldUntilMs = nowMs + failing.distanceMs;
  failing.triedAddress = failing.address;
}

/** The clock was set back by so much. */
export function setBack(failing: Failing, byMs: number): void {
  failing.sinceMs -= byMs;
  failing.lastMs -= byMs;
  if (failing.heldUntilMs > 0) failing.heldUntilMs -= byMs;
}

/**
 * Milliseconds that a read of this address has to wait; 0: it may be the trial. What was the last trial gives way to
 * what else waits, for as long again as there was between the two: it may be what is broken.
 */
export function waitMs(failing: Failing, address: string | null, nowMs: number): number {
  const { heldUntilMs, distanceMs, triedAddress, isOtherWaiting } = failing;
  const givesWayMs = isOtherWaiting && address === triedAddress ? distanceMs : 0;
  return Math.max(0, heldUntilMs + givesWayMs - nowMs);
}

/** As `waitMs`; with 0 this address is the trial now, and whatever else comes waits. */
export function takeTrial(
  failing: Failing,
  address: string | null,
  nowMs: number,
  random: () => number,
): number {
  const leftMs = waitMs(failing, address, nowMs);
  if (leftMs > 0) {
    if (address !== failing.triedAddress) failing.isOtherWaiting = true;
    return leftMs;
  }
  failing.trials += 1;
  failing.distanceMs = trialMs(failing, nowMs, random);
  failing.heldUntilMs = nowMs + failing.distanceMs;
  failing.triedAddress = address;
  failing.isOtherWaiting = false;
  return 0;
}

function trialMs(failing: Failing, nowMs: number, random: () => number): number {
  const isUntold = isOfAll(failing) && nowMs - failing.sinceMs < lastsMs;
  const { baseMs, maxMs } = isUntold ? untoldBounds : trialBounds;
  return baseMs / 2 + backoffMs(failing.trials, { baseMs: baseMs * 2, maxMs }, random);
}
