/**
 * What there is to tell of alerts while the store does not answer: what a process that leads remembers, and always the
 * alert for the store itself, since whoever was paged for it looks there. Pure.
 */
import type { Alert } from '../model/alert';
import { alertOfCondition, type LoneOptions } from './alert-of-condition';

export interface AlertsWithoutStore {
  /** The store's own, where it is not among what is known: who was told of it is not known here. */
  own: Alert | null;
  others: Alert[];
}

const fromMemory = 'What else stands here is what this process remembers.';
const nothingElse = 'What else fires cannot be shown before it answers.';
const savedBefore = 'What else stands here was saved before that.';

/** What is known: what this process remembers, null where it does not lead; or what a store shows that takes no writes. */
export type KnownAlerts = { remembered: Alert[] | null } | { shown: Alert[] };

/** `sinceMs`: when this process first got no answer. The store's alert says what the rest is worth. Never throws. */
export function alertsWithoutStore(
  given: KnownAlerts,
  sinceMs: number,
  nowMs: number,
  options: LoneOptions,
): AlertsWithoutStore {
  const isShown = 'shown' in given;
  const remembered = isShown ? given.shown : given.remembered;
  const detail = isShown ? 'The store takes no writes.' : 'The store does not answer.';
  const own = alertOfCondition({ name: 'store-unavailable', sinceMs, detail }, nowMs, options);
  const worth = isShown ? savedBefore : remembered === null ? nothingElse : fromMemory;
  const isOwn = ({ fingerprint }: Alert) => fingerprint === own.fingerprint;
  const told = remembered?.find((alert) => isOwn(alert) && alert.state === 'firing');
  // One that is held says that it is over, which it is not any more.
  const known = told === undefined || told.quietSinceMs !== null ? own : told;
  const description = `${known.annotations.description} ${worth}`;
  const shown = { ...known, annotations: { ...known.annotations, description } };
  const others = (remembered ?? []).filter((alert) => !isOwn(alert));
  return known === own ? { own: shown, others } : { own: null, others: [shown, ...others] };
}
