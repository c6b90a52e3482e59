/**
 * A record that stands on its topic and that a replay was to send again is not set aside when Kafka refuses it: nothing
 * became of what was published. The replay counts it, and its line in the journal has a time and no place.
 */
import type { QuarantineReason } from '../../model/notification';
import { onItsWay } from '../replay-rows';
import type { Context } from './context';

const itsReplays = `SELECT r.replay FROM replayed r WHERE r.outbox_id = $1 AND r.${onItsWay}`;

/** Replays are locked before keys, as by their steps. */
export async function lockReplaysOf({ database }: Context, row: number): Promise<void> {
  await database.all(`SELECT id FROM replays WHERE id IN (${itsReplays}) ORDER BY id FOR NO KEY UPDATE`, row);
}

/** False where no replay sends the row, or it stands on no topic: it is as it was. */
export async function refuseAgain(
  { database, nowMs }: Context,
  row: number,
  reason: QuarantineReason,
): Promise<boolean> {
  const isBack = await database.run(
    `UPDATE outbox SET state = 2 WHERE id = $1 AND state = 0 AND log_offset IS NOT NULL AND EXISTS (${itsReplays})`,
    row,
  );
  if (isBack === 0) return false;
  await database.run(
    `UPDATE replays SET counts = (counts::jsonb || jsonb_build_object('refused',
         coalesce(counts::jsonb -> 'refused', '{}') || jsonb_build_object($2::text,
           coalesce((counts::jsonb -> 'refused' ->> $2::text)::bigint, 0) + 1)))::text
     WHERE id IN (${itsReplays})`,
    row,
    reason,
  );
  await database.run(`UPDATE replayed SET sent_at = $2 WHERE outbox_id = $1 AND ${onItsWay}`, row, nowMs());
  return true;
}
