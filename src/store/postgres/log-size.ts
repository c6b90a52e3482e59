/**
 * The size of the log as retention keeps it: counted page by page, less what was deleted. Retention's lock is held: one
 * process counts at a time.
 */
import { countedFrom, type LogSize, logSizeNames, logSizeOf, logSizeValues, uncounted } from '../log-size';
import type { Context } from './context';
import type { Row } from './server/database';

/** Counts on by at most so many events; `whole` where none is left. `atBegin`: a walk begins, so it may be counted anew. */
export async function countLog(
  context: Context,
  rowsMax: number,
  atBegin: boolean,
): Promise<{ bytes: number; whole: boolean }> {
  const stored = await readSize(context);
  const size = atBegin ? countedFrom(stored, context.nowMs()) : stored;
  const page = (await context.database.get(
    `SELECT count(*) AS events, max(position) AS last, sum(bytes)::bigint AS bytes
     FROM (SELECT position, bytes FROM outbox WHERE position > $1 ORDER BY position LIMIT $2) o`,
    size.until,
    rowsMax,
  ))!;
  const bytes = size.bytes + (page.bytes ?? 0);
  await writeSize(context, { ...size, until: page.last ?? size.until, bytes });
  return { bytes, whole: page.events < rowsMax };
}

/** Rows with `position` and `bytes` were deleted; what was never published was never counted. */
export async function uncount(context: Context, gone: Row[]): Promise<void> {
  const published = gone.filter(({ position }) => position !== null) as { position: number; bytes: number }[];
  if (published.length === 0) return;
  const size = await readSize(context);
  await writeSize(context, { ...size, bytes: size.bytes - uncounted(published, size.until) });
}

async function readSize({ database }: Context): Promise<LogSize> {
  const rows = await database.all('SELECT name, value FROM meta WHERE name = ANY($1::text[])', logSizeNames);
  return logSizeOf(new Map(rows.map(({ name, value }) => [name, value])));
}

/** What stays as it is is not written. */
async function writeSize({ database }: Context, size: LogSize): Promise<void> {
  const values = logSizeValues(size);
  await database.run(
    `INSERT INTO meta AS m (name, value) SELECT * FROM unnest($1::text[], $2::bigint[])
     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE m.value <> excluded.value`,
    values.map(([name]) => name),
    values.map(([, value]) => value),
  );
}
