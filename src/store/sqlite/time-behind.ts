/**
 * When the rows of a page came that retention walks over. Where it ends with one that is ahead of now, the time of the next
 * that is not is sought behind the page, by halves: some twenty look-ups, however many are ahead.
 */
import { cameAt, isAhead, type Walk } from '../time-behind';
import type { Context } from './context';
import type { Row } from './database';

/** In the order of the walk. */
export function timesOf(context: Context, rows: Row[], walk: Walk): number[] {
  const now = context.nowMs();
  const times = rows.map((row) => Number(row[walk.at]));
  const behind = isAhead(times.at(-1), now)
    ? timeBehind(context, Number(rows.at(-1)![walk.place]), walk)
    : now;
  return cameAt(times, behind, now);
}

/** Now where the last row of all is ahead, or there is none behind that place. */
function timeBehind({ database, nowMs }: Context, after: number, { table, place, at }: Walk): number {
  const now = nowMs();
  const last = database.get(
    `SELECT ${place} AS place, ${at} AS at FROM ${table} WHERE ${place} > ? ORDER BY ${place} DESC LIMIT 1`,
    after,
  );
  if (last === undefined || isAhead(Number(last.at), now)) return now;
  // The first row from `low` on is ahead, the first from `high` on is of `time`.
  let [low, high, time] = [after, Number(last.place), Number(last.at)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const row = database.get(
      `SELECT ${at} AS at FROM ${table} WHERE ${place} >= ? ORDER BY ${place} LIMIT 1`,
      middle,
    );
    const found = Number(row!.at);
    if (isAhead(found, now)) low = middle;
    else [high, time] = [middle, found];
  }
  return time;
}
