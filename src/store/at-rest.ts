/**
 * How a taken task goes on after its read, on either store. A hint that came after the read began is never forgotten. Pure:
 * where a store has no booleans, numbers stand for them.
 */
import type { Ending, GivenBack } from '../model/task';
import { leavesOneToFind, type Said } from './may-lag';
import { freeAtMs } from './store-rules';

/** A task by the names of its columns. */
type Row = Readonly<Record<string, unknown>>;

export interface Rest {
  state: 'due' | 'settling' | 'done';
  dueAt: number | null;
  crowded: boolean;
}

/** Did a hint come that this read does not cover? */
export function hintedSince(task: Row, ending: Ending): boolean {
  return Number(task.generation) > ending.generation;
}

/** Does this read earn a settling one, which may tell of the same notifications once more? */
export function settles(task: Row, ending: Ending, settleMs: number): boolean {
  return settleMs > 0 && !task.settling && !hintedSince(task, ending);
}

/**
 * The task after a decided read: due again when it was hinted meanwhile, once the gap after its last read is over; otherwise
 * settling when the provider's read model may have lagged, once; otherwise done.
 */
export function restOf(
  task: Row,
  ending: Ending,
  { settleMs, found }: Said,
  { nowMs, readGapMs }: { nowMs: number; readGapMs: number },
): Rest {
  const was = { crowded: Boolean(task.crowded), settling: Boolean(task.settling) };
  const rest = (state: Rest['state'], dueAt: number | null): Rest => ({
    ...{ state, dueAt },
    crowded: leavesOneToFind(state, { found }, was),
  });
  if (hintedSince(task, ending)) return rest('due', afterGapOf(task, nowMs, { nowMs, readGapMs }));
  if (settles(task, ending, settleMs)) return rest('settling', nowMs + settleMs);
  return rest('done', null);
}

/**
 * A task that is given back: it waits `alone`, or for what its organization's probe finds. `stale`: its request began before the
 * access of the organization last changed, and says nothing of today. `waits`: longer each time, and not for ever.
 */
export function givenBack(
  task: Row,
  ending: Pick<GivenBack, 'dueInMs' | 'dueAtMs'>,
  { alone, stale }: { alone: boolean; stale: boolean },
  times: { nowMs: number; readGapMs: number },
): { state: 'postponed' | 'due'; dueAt: number; waits: boolean } {
  const dueInMs = alone ? ending.dueInMs : 0;
  return {
    state: alone ? 'postponed' : 'due',
    dueAt: alone || stale ? afterGapOf(task, times.nowMs + dueInMs, times) : keptPlace(task, ending.dueAtMs),
    waits: dueInMs > 0,
  };
}

/** Not before `atMs`, nor before the gap after the last read of the task is over. */
export function afterGapOf(
  task: Row,
  atMs: number,
  { nowMs, readGapMs }: { nowMs: number; readGapMs: number },
): number {
  return Math.max(atMs, freeAtMs(task.read_at as number | null, nowMs, readGapMs));
}

/**
 * What waits for its organization is not put behind what waits there too. A due time from before its last read tells a
 * claim that the gap has to be waited for.
 */
export function keptPlace(task: Row, dueAtMs: number): number {
  return Math.min(dueAtMs, Number(task.read_at) - 1);
}
