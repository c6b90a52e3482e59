/**
 * What decided reads said about the generations up to their own.
 */
import { finality } from '../covered';
import type { Context } from './context';

export interface ReadOutcome {
  taskId: number;
  fence: number;
  generation: number;
  outcome: string;
  reason: string | null;
  /** Of the events it decided; the last is told. */
  eventIds: string[];
  connectionId: string | null;
  switchedFrom: string | null;
  /** A settling read comes after it. */
  settles: boolean;
}

/** Leaves with the commit. */
export function insertReads(context: Context, reads: ReadOutcome[]): void {
  if (reads.length === 0) return;
  context.database.last(
    `INSERT INTO reads (task_id, fence, generation, outcome, reason, event_id, connection_id, at, finality, switched_from)
     SELECT task_id, fence, generation, outcome, reason, event_id, connection_id, $8, coalesce((
       SELECT ${finality.late} FROM (SELECT b.generation, b.finality FROM reads b WHERE b.task_id = r.task_id
         ORDER BY b.fence DESC LIMIT 1) before
       WHERE before.generation = r.generation AND before.finality <> ${finality.open}), r.finality), switched_from
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $9::int[], $10::text[])
       AS r (task_id, fence, generation, outcome, reason, event_id, connection_id, finality, switched_from)`,
    reads.map(({ taskId }) => taskId),
    reads.map(({ fence }) => fence),
    reads.map(({ generation }) => generation),
    reads.map(({ outcome }) => outcome),
    reads.map(({ reason }) => reason),
    reads.map(({ eventIds }) => eventIds.at(-1) ?? null),
    reads.map(({ connectionId }) => connectionId),
    context.nowMs(),
    reads.map(({ settles }) => (settles ? finality.open : finality.final)),
    reads.map(({ switchedFrom }) => switchedFrom),
  );
}
