/**
 * A record that stands on its topic and that a replay was to send again is not set aside when Kafka refuses it, nor when the
 * store is found behind the topic: nothing became of what was published. The replay counts it, and its line in the journal has
 * a time and no partition.
 */
import type { QuarantineReason } from '../../model/notification';
import type { ReplayRefusal } from '../../model/replay';
import { goesNoMore, onItsWay, storeBehind } from '../replay-rows';
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
    `UPDATE replayed SET sent_at = ? WHERE outbox_id = ? AND ${onItsWay} RETURNING replay`,
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
     WHERE ${goesNoMore('IN (SELECT value FROM json_each(?1))')} RETURNING replay`,
    JSON.stringify(keys),
    nowMs(),
    storeBehind,
  );
  count(context, lines, storeBehind);
}

function count(context: Context, lines: Row[], reason: ReplayRefusal['reason']): void {
  for (const [replay, { length }] of Map.groupBy(lines, (line) => Number(line.replay)))
    countRefused(context, replay, reason, length);
}

export function countRefused(
  { database }: Context,
  replay: number,
  reason: ReplayRefusal['reason'],
  records: number,
): void {
  if (records === 0) return;
  database.run(
    `UPDATE replays SET counts = json_patch(counts, json_object('refused',
       json_object(?2, coalesce(counts -> 'refused' ->> ?2, 0) + ?3))) WHERE id = ?1`,
    replay,
    reason,
    records,
  );
}
