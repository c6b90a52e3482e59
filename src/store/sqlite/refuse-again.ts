/**
 * A record that stands on its topic and that a replay was to send again is not set aside when Kafka refuses it: nothing
 * became of what was published. The replay counts it, and its line in the journal has a time and no place.
 */
import type { QuarantineReason } from '../../model/notification';
import { onItsWay } from '../replay-rows';
import type { Context } from './context';

/** False where no replay sends the row, or it stands on no topic: it is as it was. */
export function refuseAgain({ database, nowMs }: Context, row: number, reason: QuarantineReason): boolean {
  const isBack = database.run(
    `UPDATE outbox SET state = 2 WHERE id = ?1 AND state = 0 AND log_offset IS NOT NULL
       AND EXISTS (SELECT 1 FROM replayed WHERE outbox_id = ?1 AND ${onItsWay})`,
    row,
  );
  if (isBack === 0) return false;
  database.run(
    `UPDATE replays SET counts = json_patch(counts, json_object('refused',
         json_object(?2, coalesce(counts -> 'refused' ->> ?2, 0) + 1)))
     WHERE id IN (SELECT replay FROM replayed WHERE outbox_id = ?1 AND ${onItsWay})`,
    row,
    reason,
  );
  database.run(`UPDATE replayed SET sent_at = ? WHERE outbox_id = ? AND ${onItsWay}`, nowMs(), row);
  return true;
}
