/**
 * The pause that the provider asked the client key for: kept here, so that it holds for every process and outlives the
 * one that was asked. While it lasts nothing is taken, whatever is due: claiming looks at it in its own statement.
 */
import type { ReadingPause } from '../../model/store';
import type { Context } from './context';

/** True while a pause lasts; `nowMs` is a parameter of the statement. */
export const isPaused = (nowMs: string) =>
  `EXISTS (SELECT 1 FROM meta WHERE name = 'pause-until' AND value > ${nowMs})`;

/** Locks the end before the beginning is judged: of two that come at once the second goes on with the first. */
export async function pauseReading({ database, nowMs }: Context, forMs: number): Promise<void> {
  await database.run(
    `INSERT INTO meta (name, value) VALUES ('pause-until', 0) ON CONFLICT (name) DO UPDATE SET value = meta.value`,
  );
  await database.run(
    `WITH begun AS (
       INSERT INTO meta (name, value) SELECT 'pause-since', $1::bigint FROM meta
       WHERE name = 'pause-until' AND value <= $1::bigint
       ON CONFLICT (name) DO UPDATE SET value = excluded.value)
     UPDATE meta SET value = greatest(value, $1::bigint + $2::bigint) WHERE name = 'pause-until'`,
    nowMs(),
    Math.ceil(forMs),
  );
}

export async function readingPause({ database, nowMs }: Context): Promise<ReadingPause | null> {
  const row = await database.get(
    `SELECT u.value AS until, s.value AS since FROM meta u JOIN meta s ON s.name = 'pause-since'
     WHERE u.name = 'pause-until' AND u.value > $1`,
    nowMs(),
  );
  return row === undefined ? null : { sinceMs: Number(row.since), leftMs: Number(row.until) - nowMs() };
}
