/**
 * When the rows of a page came that retention walks over. Where it ends with one that is ahead of now, the time of the next
 * that is not is sought behind the page, by halves: some twenty look-ups, however many are ahead.
 */
import { cameAt, isAhead, type Walk } from '../time-behind';
import type { Context } from './context';
import type { Row } from './server/database';

/** In the order of the walk. */
export async function timesOf(context: Context, rows: Row[], walk: Walk): Promise<number[]> {
  const now = context.nowMs();
  const times = rows.map((row) => row[walk.at] as number);
  const behind = isAhead(times.at(-1), now) ? await timeBehind(context, rows.at(-1)![walk.place], walk) : now;
  return cameAt(times, behind, now);
}

/** Now where the last row of all is ahead, or there is none behind that place. */
async function timeBehind({ database, nowMs }: Context, after: number, walk: Walk): Promise<number> {
  const now = nowMs();
  const { table, place, at } = walk;
  const last = await database.get(
    `SELECT ${place} AS place, ${at} AS at FROM ${table} WHERE ${place} > $1 ORDER BY ${place} DESC LIMIT 1`,
    after,
  );
  if (last === undefined || isAhead(last.at, now)) return now;
  // The first row from `low` on is ahead, the first from `high` on is of `time`.
  let [low, high, time] = [after, last.place as number, last.at as number];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const found = await database.get(
      `SELECT ${at} AS at FROM ${table} WHERE ${place} >= $1 ORDER BY ${place} LIMIT 1`,
      middle,
    );
    if (isAhead(found?.at, now)) low = middle;
    else [high, time] = [middle, found?.at ?? time];
  }
  return time;
}
