/**
 * Which events of a page of the log retention takes: those beyond their time, and, where the log is too large, further
 * ones until it is not. Pure; what may go at all is judged by the store.
 */
import { eventKeptMs } from './store-rules';

/** An event of the log; `mayGo` where it was sent and is not its key's newest. */
export interface LoggedEvent<Row> {
  row: Row;
  sentAtMs: number;
  bytes: number;
  mayGo: boolean;
}

/**
 * The events in order of their positions; `excess` is by how many bytes the log is too large, 0 or less where it is not.
 * Gives what goes, and how many events were looked at before the first that stays because of its age.
 */
export function eventsToTake<Row>(
  events: readonly LoggedEvent<Row>[],
  { nowMs, eventMs, excess }: { nowMs: number; eventMs: number; excess: number },
): { gone: Row[]; until: number } {
  const gone: Row[] = [];
  let left = excess;
  let until = 0;
  for (const { row, sentAtMs, bytes, mayGo } of events) {
    const keptMs = left > 0 ? Math.min(eventKeptMs, eventMs) : eventMs;
    if (sentAtMs >= nowMs - keptMs) break;
    until += 1;
    if (!mayGo) continue;
    gone.push(row);
    left -= bytes;
  }
  return { gone, until };
}
