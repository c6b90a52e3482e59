/**
 * A record that stands on its topic and that a replay was to send again is not set aside when Kafka refuses it, nor when the
 * store is found behind the topic: nothing became of what was published. The replay counts it, and its line in the journal has
 * a time and no partition.
 */
import type { QuarantineReason } from '../../model/notification';
import { type ReplayRefusal, refusedNamedMax } from '../../model/replay';
import { goesNoMore, onItsWay, storeBehind, withRefused } from '../replay-rows';
import type { Context } from './context';
import type { Row } from './server/database';

/**
 * Of rows that are named by their numbers. "Between" where "equal" would do: no index is of that, so that each is looked up,
 * however little the server believes to be unsent.
 */
export const isUnsent = 'state BETWEEN 0 AND 0';

const itsReplays = `SELECT r.replay FROM replayed r WHERE r.outbox_id = $1 AND r.${onItsWay}`;

/** Replays are locked before keys, as by their steps. */
export async function lockReplaysOf({ database }: Context, row: number): Promise<void> {
  await database.all(`SELECT id FROM replays WHERE id IN (${itsReplays}) ORDER BY id FOR NO KEY UPDATE`, row);
}

/** All of which something may be on its way. */
export async function lockOpenReplays({ database }: Context): Promise<void> {
  await database.all(
    `SELECT id FROM replays WHERE ended_at IS NULL OR id IN (SELECT replay FROM replayed WHERE ${onItsWay})
     ORDER BY id FOR NO KEY UPDATE`,
  );
}

/** False where no replay sends the row, or it stands on no topic: it is as it was. */
export async function refuseAgain(context: Context, row: number, reason: QuarantineReason): Promise<boolean> {
  const { database, nowMs } = context;
  const isBack = await database.run(
    `UPDATE outbox SET state = 2 WHERE id = $1 AND ${isUnsent} AND log_offset IS NOT NULL AND EXISTS (${itsReplays})`,
    row,
  );
  if (isBack === 0) return false;
  const lines = await database.all(
    `UPDATE replayed SET sent_at = $2 WHERE outbox_id = $1 AND ${onItsWay} RETURNING replay, outbox_id`,
    row,
    nowMs(),
  );
  await count(context, lines, reason);
  return true;
}

/**
 * To be called with the keys of what was marked as sent as it stood, and does not go out. A line that stayed open would take
 * the next refusal of its row for the replay's, also where the row had to go again. Open replays are locked before.
 */
export async function refuseOvertaken(context: Context, keys: string[]): Promise<void> {
  const { database, nowMs } = context;
  if (keys.length === 0) return;
  const lines = await database.all(
    `UPDATE replayed SET sent_at = $2, log_offset = $3 WHERE ${goesNoMore('= ANY($1::text[])')} RETURNING replay, outbox_id`,
    keys,
    nowMs(),
    storeBehind,
  );
  await count(context, lines, storeBehind);
}

async function count(context: Context, lines: Row[], reason: ReplayRefusal['reason']): Promise<void> {
  for (const [replay, ofReplay] of Map.groupBy(lines, (line) => line.replay as number))
    await countRefused(
      context,
      replay,
      reason,
      ofReplay.map((line) => line.outbox_id as number),
    );
}

/** Rows of the outbox, of which the lowest are named. The replay is locked before. */
export async function countRefused(
  { database }: Context,
  replay: number,
  reason: ReplayRefusal['reason'],
  rows: number[],
): Promise<void> {
  if (rows.length === 0) return;
  const found = await database.all(
    'SELECT event_id FROM outbox WHERE id = ANY($1::bigint[]) ORDER BY id LIMIT $2',
    rows,
    refusedNamedMax,
  );
  const events = found.map((row) => row.event_id as string);
  const kept = await database.get('SELECT counts FROM replays WHERE id = $1 FOR NO KEY UPDATE', replay);
  if (kept === undefined) return;
  await database.run(
    'UPDATE replays SET counts = $2 WHERE id = $1',
    replay,
    withRefused(kept.counts, { reason, records: rows.length, events }),
  );
}
