/**
 * Making due what waits for reasons that are not its own, when they end: so many tasks a verb, since deliveries wait for
 * each verb. Whoever asked goes on from page to page.
 */
import { type HastenedPage, hastenedBy } from '../hastened-page';
import type { Context } from './context';

/** They lie anywhere in the file: each costs two pages of it that are written, and a take has to wait for all of these. */
const pageTasks = 500;

/** The first page of tasks that were postponed for reasons that are not their own. */
export function hasten(context: Context): HastenedPage {
  return hastenPage(context, 'outage', null);
}

/**
 * The first page of those that wait since the client key was refused, once for all that was refused before. The pages
 * after it are of the same time: that it was done is on disk with the first.
 */
export function hastenRefused(context: Context, refusedAtMs: number | null): HastenedPage {
  const nowMs = context.nowMs();
  const done = context.database.run(
    `INSERT INTO meta (name, value) VALUES ('refused-hastened', ?1)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value
     WHERE meta.value <= coalesce(?2, meta.value) OR meta.value > excluded.value`,
    nowMs,
    refusedAtMs,
  );
  if (done === 0) return { by: 'refusal', beganMs: nowMs, count: 0, fromMs: null };
  return hastenPage(context, 'refusal', null);
}

/** The page after that one. */
export function hastenOn(context: Context, page: HastenedPage): HastenedPage {
  return hastenPage(context, page.by, page);
}

export function refusedHastenedAgoMs({ database, nowMs }: Context): number | null {
  const row = database.get(`SELECT value FROM meta WHERE name = 'refused-hastened'`);
  return row === undefined ? null : Math.max(0, nowMs() - Number(row.value));
}

/**
 * In the order of the index that holds nothing else, which what became due has left. A failure that is ahead of the clock
 * is from before it was set back.
 */
function hastenPage(context: Context, by: HastenedPage['by'], before: HastenedPage | null): HastenedPage {
  const { database, settings, lanes } = context;
  const nowMs = context.nowMs();
  const beganMs = before?.beganMs ?? nowMs;
  const rows = database.all(
    `SELECT id, lane, due_at, read_at FROM tasks
     WHERE due_at >= ?1 AND state = 'postponed' AND ${hastenedBy[by]}
       AND coalesce(failed_at, 0) NOT BETWEEN ?2 + 1 AND ?3
     ORDER BY due_at LIMIT ${pageTasks}`,
    Math.max(nowMs + 1, before?.fromMs ?? 0),
    beganMs,
    nowMs,
  );
  for (const { id, lane, read_at } of rows) {
    const dueAt = Math.max(nowMs, Math.min(Number(read_at ?? 0), nowMs) + settings.readGapMs);
    database.run(`UPDATE tasks SET due_at = ?, state = 'due' WHERE id = ?`, dueAt, id as number);
    lanes.expect(String(lane), dueAt);
  }
  const fromMs = rows.length < pageTasks ? null : Number(rows.at(-1)!.due_at);
  return { by, beganMs, count: rows.length, fromMs };
}
