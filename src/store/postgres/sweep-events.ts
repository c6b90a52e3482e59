/**
 * Retention of the log: what was sent and is not its key's newest event goes once it is too old, and before that, the oldest
 * first, while the log is larger than its bound. Retention's lock is held.
 */
import { replayLease } from '../../model/replay';
import { eventsToTake } from '../events-to-take';
import { fenceOf } from '../read-fence';
import { newestNumber, walkEnded } from '../store-rules';
import type { Context } from './context';
import { countLog, uncount } from './log-size';
import type { Row } from './server/database';
import { noteSwept, sweptUntil } from './swept-until';
import { timesOf } from './time-behind';

const rowsMax = 1000;

/**
 * Positions rise with the time of sending: the log is walked from its beginning, so many rows a call, again and again, and no
 * walk begins before it is known how large the log is. What waits to be sent may be refused: until it is not, the event
 * before it may be its key's newest. Counts and walks at most 1,000 rows a call.
 */
export async function sweepEvents(context: Context): Promise<number> {
  const { database, settings } = context;
  const after = await sweptUntil(context, 'events');
  if (after === walkEnded) return 0;
  const size = await countLog(context, rowsMax, after === 0);
  if (!size.whole && after === 0) return 0;
  const rows = await database.all(
    `SELECT o.id, o.position, o.sent_at, o.bytes, o.sequence < ${newestNumber} AND (
         SELECT true FROM outbox u WHERE u.state = 0 AND u.key BETWEEN o.key AND o.key AND u.sequence > o.sequence
         ORDER BY u.key LIMIT 1) IS NULL AS superseded
     FROM outbox o CROSS JOIN LATERAL (SELECT * FROM sequences WHERE key = o.key OFFSET 0) s WHERE o.position > $1 ORDER BY o.position LIMIT $2`,
    after,
    rowsMax,
  );
  const isNeeded = await neededByReplay(context);
  const times = await timesOf(context, rows, { table: 'outbox', place: 'position', at: 'sent_at' });
  const { gone: taken, until } = eventsToTake(
    rows.map((row, nth) => ({
      row,
      sentAtMs: times[nth]!,
      bytes: row.bytes,
      mayGo: row.superseded && !isNeeded(row.id),
    })),
    { nowMs: context.nowMs(), eventMs: settings.eventMs, excess: size.bytes - settings.eventBytesMax },
  );
  await noteSwept(context, 'events', until < rowsMax ? walkEnded : rows.at(-1)!.position);
  if (taken.length === 0) return 0;
  const gone = await database.all(
    `DELETE FROM outbox WHERE id = ANY($1::bigint[]) AND state IN (1, 2)
     RETURNING position, bytes, event_id, task_id, cause`,
    taken.map(({ id }) => id),
  );
  await uncount(context, gone);
  await markReads(context, gone);
  await raiseFloor(
    context,
    gone.reduce((highest, { position }) => Math.max(highest, position), 0),
  );
  return gone.length;
}

/** Whether a replay that is under way has still to look at the row. */
async function neededByReplay({ database, nowMs }: Context): Promise<(row: number) => boolean> {
  const { after, until } = (await database.get(
    `SELECT min(after_id) AS after, max(until_id) AS until FROM replays WHERE ended_at IS NULL
       AND EXISTS (SELECT 1 FROM leases l WHERE l.name = $1 AND l.until > $2)`,
    replayLease,
    nowMs(),
  ))!;
  return (row) => after !== null && row > after && row <= until;
}

/** Up to this position only the newest event of each key is kept. */
export async function raiseFloor({ database }: Context, position: number): Promise<void> {
  await database.run(
    `UPDATE meta SET value = f.value FROM meta f, meta k
     WHERE meta.name = 'unmarked' AND f.name = 'floor' AND k.name = 'marked' AND f.value > k.value`,
  );
  await database.run(
    `UPDATE meta SET value = greatest(value, $1) WHERE name IN ('floor', 'marked')`,
    position,
  );
}

/** Reads say that their events were taken, so that one which vanished in any other way can be told from those. */
async function markReads({ database }: Context, gone: Row[]): Promise<void> {
  const read = gone.flatMap((event) => {
    const fence = fenceOf(event.cause);
    return fence === null ? [] : [{ ...event, fence }];
  }) as { task_id: number; fence: number; event_id: string }[];
  await database.run(
    `UPDATE reads SET swept = true WHERE task_id = ANY($1::bigint[])
       AND ((task_id, fence, event_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]))) IS TRUE`,
    read.map(({ task_id }) => task_id),
    read.map(({ fence }) => fence),
    read.map(({ event_id }) => event_id),
  );
}
