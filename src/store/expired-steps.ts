/**
 * What a journey says of what retention has taken, as far as that can be known: a number below one that is kept, a read
 * that was marked, an event without its read. Pure.
 */
import type { ExplainStep } from '../model/inspection';
import type { FoldedToTell } from './covered';

/** The journey of a delivery that is not kept; `oldest` is the first that is. */
export function expiredDelivery(id: number, oldest: number, nowMs: number): ExplainStep[] {
  const text =
    id < oldest
      ? `it is no longer kept: the journal begins with d${oldest}`
      : 'it is not kept: retention took it, unless its number was never given';
  return [expired(nowMs, text, { oldest: `d${oldest}` })];
}

/** Said with the read that decided it. */
export function expiredEvent(eventId: string, atMs: number): ExplainStep {
  return expired(atMs, `event ${eventId}, which it decided, is no longer kept`, { eventId });
}

/** Said with the event that it decided. */
export function expiredRead(eventId: string, atMs: number): ExplainStep {
  return expired(atMs, 'the read that decided it, and what led to that read, are no longer kept', {
    eventId,
  });
}

/** Said with the event that tells of it. */
export function expiredTransition(organizationId: string, atMs: number): ExplainStep {
  const text = `the change of access of its organization ${organizationId}, of which it tells, is no longer kept`;
  return expired(atMs, text, { organizationId });
}

/** Said of a read that notifications led to of which none is kept. */
export function expiredHints(atMs: number): ExplainStep {
  return expired(atMs, 'the notifications that led to the read are no longer kept', {});
}

/** Notifications that still wait, as retention counted them with their task; told when the last of them came. */
export function foldedStep({ folded, folded_first_at, folded_last_at }: FoldedToTell): ExplainStep {
  const [first, last] = [folded_first_at, folded_last_at].map((ms) => new Date(ms).toISOString());
  const text = `notifications that came from ${first} to ${last} and still wait: ${folded}; their deliveries are no longer kept`;
  return expired(folded_last_at, text, { notifications: folded, first, last });
}

/** A resource that is known, and has neither hint nor read nor event any more. */
export function expiredResource(nowMs: number): ExplainStep {
  return expired(nowMs, 'nothing that led to what it is now is kept any more', {});
}

/** Has this the form of an event's id? */
export function isEventId(of: string): boolean {
  return /^[0-9a-f]{32}$/.test(of);
}

/** An event's id holds no number: whether there ever was such an event cannot be known. `floor` is above 0. */
export function perhapsExpiredEvent(floor: number, nowMs: number): ExplainStep[] {
  const text = `no event of this id is kept: retention took it, unless there never was one; up to position ${floor} only the newest event of each key is kept`;
  return [expired(nowMs, text, { floor })];
}

function expired(atMs: number, text: string, details: Record<string, unknown>): ExplainStep {
  return { at: new Date(atMs).toISOString(), step: 'expired', text, ...details };
}
