/**
 * A record that stands on its topic and that a replay was to send again is not set aside when Kafka refuses it, nor when the
 * store is found behind the topic: nothing became of what was published. The replay counts it, and its line in the journal has
 * a time and no partition.
 */
import type { QuarantineReason } from '../../model/notification';
import { type ReplayRefusal, refusedNamedMax } from '../../model/replay';
import { goesNoMore, onItsWay, storeBehind, withRefused } from '../replay-rows';
import type { Context } from './context';
import type { Row } from './database';

/** False where no replay sends the row, or it stands on no topic: it is as it was. */
export function refuseAgain(context: Context, row: number, reason: QuarantineReason): boolean {
  const { database, nowMs } = context;
  const isBack = database.run(
    `UPDATE outbox SET state = 2 WHERE id = ?1 AND state = 0 AND log_offset IS NOT NULL
       AND EXISTS (SELECT 1 FROM replayed WHERE outbox_id = ?1 AND ${onItsWay})`,
    row,
  );
  if (isBack === 0) return false;
  const lines = database.all(
    `UPDATE replayed SET sent_at = ? WHERE outbox_id = ? AND ${onItsWay} RETURNING replay, outbox_id`,
    nowMs(),
    row,
  );
  count(context, lines, reason);
  return true;
}

/**
 * To be called with the keys of what was marked as sent as it stood, and does not go out. A line that stayed open would take
 * the next refusal of its row for the replay's, also where the row had to go again.
 */
export function refuseOvertaken(context: Context, keys: string[]): void {
  const { database, nowMs } = context;
  if (keys.length === 0) return;
  const lines = database.all(
    `UPDATE replayed SET sent_at = ?2, log_offset = ?3
     WHERE ${goesNoMore('IN (SELECT value FROM json_each(?1))')} RETURNING replay, outbox_id`,
    JSON.stringify(keys),
    nowMs(),
    storeBehind,
  );
  count(context, lines, storeBehind);
}

function count(context: Context, lines: Row[], reason: ReplayRefusal['reason']): void {
  for (const [replay, ofReplay] of Map.groupBy(lines, (line) => Number(line.replay)))
    countRefused(
      context,
      replay,
      reason,
      ofReplay.map((line) => Number(line.outbox_id)),
    );
}

/** Rows of the outbox, of which the lowest are named. */
export function countRefused(
  { database }: Context,
  replay: number,
  reason: ReplayRefusal['reason'],
  rows: number[],
): void {
  if (rows.length === 0) return;
  const found = database.all(
    'SELECT event_id FROM outbox WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?',
    JSON.stringify(rows),
    refusedNamedMax,
  );
  const events = found.map((row) => String(row.event_id));
  const { counts } = database.get('SELECT counts FROM replays WHERE id = ?', replay) ?? {};
  if (counts === undefined) return;
  database.run(
    'UPDATE replays SET counts = ? WHERE id = ?',
    withRefused(String(counts), { reason, records: rows.length, events }),
    replay,
  );
}
