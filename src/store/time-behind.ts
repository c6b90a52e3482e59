/**
 * When rows that retention walks over came, where a clock was ahead: they stand in the order in which they came, so one whose
 * time is ahead of now came before the next that is not, and is taken to be of its time. It goes with that one and holds up
 * nothing behind it; nothing is written. Pure.
 */
import { besideMs } from './set-back';

/** A table with the columns of its order and of its times. */
export interface Walk {
  table: 'deliveries' | 'outbox' | 'replayed';
  place: 'id' | 'position';
  at: 'received_at' | 'sent_at' | 'at';
}

/** Clocks of hosts are apart by little: that is not ahead. */
export function isAhead(atMs: number | undefined, nowMs: number): boolean {
  return atMs !== undefined && atMs > nowMs + besideMs;
}

/** `behind` is the time of the next row behind these that is not ahead; now where none is known. */
export function cameAt(times: readonly number[], behind: number, nowMs: number): number[] {
  let next = behind;
  const came = times.toReversed().map((at) => {
    if (!isAhead(at, nowMs)) next = at;
    return next;
  });
  return came.reverse();
}
