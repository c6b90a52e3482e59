/**
 * Retention of the log: what was sent and is not its key's newest event goes once it is too old, and before that, the oldest
 * first, while the log is larger than its bound.
 */
import { replayLease } from '../../model/replay';
import { eventsToTake } from '../events-to-take';
import { fenceOf } from '../read-fence';
import { newestNumber, walkEnded } from '../store-rules';
import type { Context } from './context';
import type { Row } from './database';
import { countLog, uncount } from './log-size';
import { timesOf } from './time-behind';

const rowsMax = 1000;

/**
 * Positions rise with the time of sending: the log is walked from its beginning, so many rows a call, again and again, and no
 * walk begins before it is known how large the log is. What waits to be sent may be refused: until it is not, the event
 * before it may be its key's newest. Counts and walks at most 1,000 rows a call.
 */
export function sweepEvents(context: Context, nowMs: number): number {
  const { database, swept } = context;
  if (swept.position === walkEnded) return 0;
  const size = countLog(context, rowsMax, swept.position === 0);
  if (!size.whole && swept.position === 0) return 0;
  const rows = database.all(
    `SELECT o.id, o.position, o.state, o.sent_at, o.bytes, o.event_id, o.task_id, o.cause,
       o.sequence < ${newestNumber} AND NOT EXISTS (
         SELECT 1 FROM outbox u WHERE u.state = 0 AND u.key = o.key AND u.sequence > o.sequence) AS superseded
     FROM outbox o CROSS JOIN sequences s ON s.key = o.key WHERE o.position > ? ORDER BY o.position LIMIT ?`,
    swept.position,
    rowsMax,
  );
  const isNeeded = neededByReplay(context, nowMs);
  const { eventMs, eventBytesMax } = context.settings;
  const times = timesOf(context, rows, { table: 'outbox', place: 'position', at: 'sent_at' });
  const { gone, until } = eventsToTake(
    rows.map((row, nth) => ({
      row,
      sentAtMs: times[nth]!,
      bytes: Number(row.bytes),
      mayGo: row.superseded === 1 && (row.state === 1 || row.state === 2) && !isNeeded(Number(row.id)),
    })),
    { nowMs, eventMs, excess: size.bytes - eventBytesMax },
  );
  swept.position = until < rowsMax ? walkEnded : Number(rows.at(-1)!.position);
  const last = gone.at(-1);
  if (last === undefined) return 0;
  for (const event of gone) takeEvent(context, event);
  uncount(context, gone);
  raiseFloor(context, Number(last.position));
  return gone.length;
}

/** Whether a replay that is under way has still to look at the row. */
function neededByReplay({ database }: Context, nowMs: number): (row: number) => boolean {
  const { after, until } = database.get(
    `SELECT min(after_id) AS after, max(until_id) AS until FROM replays WHERE ended_at IS NULL
       AND EXISTS (SELECT 1 FROM leases l WHERE l.name = ? AND l.until > ?)`,
    replayLease,
    nowMs,
  )!;
  return (row) => after !== null && row > Number(after) && row <= Number(until);
}

/** Up to this position only the newest event of each key is kept. */
export function raiseFloor({ database }: Context, position: number): void {
  database.run(
    `UPDATE meta SET value = (SELECT value FROM meta WHERE name = 'floor') WHERE name = 'unmarked'
       AND (SELECT value FROM meta WHERE name = 'floor') > (SELECT value FROM meta WHERE name = 'marked')`,
  );
  database.run(`UPDATE meta SET value = max(value, ?) WHERE name IN ('floor', 'marked')`, position);
}

/** Its read says that it was taken, so that an event which vanished in any other way can be told from it. */
function takeEvent({ database }: Context, { id, task_id, event_id, cause }: Row): void {
  const fence = fenceOf(String(cause));
  if (fence !== null)
    database.run(
      'UPDATE reads SET swept = 1 WHERE task_id = ? AND fence = ? AND event_id = ?',
      task_id as number,
      fence,
      event_id as string,
    );
  database.run('DELETE FROM outbox WHERE id = ?', id as number);
}
