/**
 * The size of the log as retention keeps it: counted page by page, less what was deleted.
 */
import { countedFrom, type LogSize, logSizeNames, logSizeOf, logSizeValues, uncounted } from '../log-size';
import type { Context } from './context';
import type { Database, Row } from './database';

/** Counts on by at most so many events; `whole` where none is left. `atBegin`: a walk begins, so it may be counted anew. */
export function countLog(
  { database, nowMs }: Context,
  rowsMax: number,
  atBegin: boolean,
): { bytes: number; whole: boolean } {
  const stored = readSize(database);
  const size = atBegin ? countedFrom(stored, nowMs()) : stored;
  const page = database.get(
    `SELECT count(*) AS events, max(position) AS last, sum(bytes) AS bytes
     FROM (SELECT position, bytes FROM outbox WHERE position > ? ORDER BY position LIMIT ?)`,
    size.until,
    rowsMax,
  )!;
  const until = Number(page.last ?? size.until);
  const bytes = size.bytes + Number(page.bytes ?? 0);
  writeSize(database, stored, { ...size, until, bytes });
  return { bytes, whole: Number(page.events) < rowsMax };
}

/** Rows with `position` and `bytes` were deleted; what was never published was never counted. */
export function uncount({ database }: Context, gone: Row[]): void {
  const published = gone.flatMap(({ position, bytes }) =>
    position === null ? [] : [{ position: Number(position), bytes: Number(bytes) }],
  );
  if (published.length === 0) return;
  const size = readSize(database);
  writeSize(database, size, { ...size, bytes: size.bytes - uncounted(published, size.until) });
}

function readSize(database: Database): LogSize {
  const rows = database.all(
    `SELECT name, value FROM meta WHERE name IN (${logSizeNames.map(() => '?').join()})`,
    ...logSizeNames,
  );
  return logSizeOf(new Map(rows.map(({ name, value }) => [String(name), Number(value)])));
}

/** What stays as it is is not written. */
function writeSize(database: Database, before: LogSize, size: LogSize): void {
  const had = new Map(logSizeValues(before));
  for (const [name, value] of logSizeValues(size)) {
    if (had.get(name) === value) continue;
    database.run(
      'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      name,
      value,
    );
  }
}
