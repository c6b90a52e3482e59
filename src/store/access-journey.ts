/**
 * The journey of a key under which an organization's access is told: no resource is read for it, so it begins from its
 * events. Pure: both stores hand over rows with the same names.
 */
import type { ExplainStep } from '../model/inspection';
import { partsOf } from '../model/resource';
import { type TransitionToTell, transitionOf } from './access-step';
import type { ToldEvent } from './event-steps';
import { expiredResource } from './expired-steps';
import { eventJourney, inOrder } from './journey';
import { leftOutStep, stepsMax } from './left-out';

/** Of the organization's history, by its number there. */
export interface NumberedTransition extends TransitionToTell {
  epoch: number;
}

export function isAccessKey(of: string): boolean {
  return partsOf(of).kind === 'organization-access';
}

/** Which changes of access these tell of. */
export function epochsOf(events: { cause: string }[]): number[] {
  return events.flatMap(({ cause }) => transitionOf(cause)?.epoch ?? []);
}

/** `events` are the newest, in order, and one more than are told where there are more. */
export function accessJourney(
  events: ToldEvent[],
  transitions: NumberedTransition[],
  nowMs: number,
): ExplainStep[] {
  const byEpoch = new Map(transitions.map((transition) => [transition.epoch, transition]));
  const told = events.slice(-stepsMax);
  const [oldest] = told;
  if (oldest === undefined) return [expiredResource(nowMs)];
  const leftOut = told.length < events.length ? [leftOutStep(oldest.decided_at, 'events of it')] : [];
  const journeys = told.map((event) => {
    const epoch = transitionOf(event.cause)?.epoch;
    return eventJourney(event, { transition: epoch === undefined ? undefined : byEpoch.get(epoch) }, nowMs);
  });
  return inOrder([...leftOut, ...journeys.flat()]);
}
