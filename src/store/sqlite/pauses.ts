/**
 * The pause that the provider asked the client key for: kept here, so that it outlives the process that was asked. While
 * it lasts nothing is taken, whatever is due.
 */
import type { ReadingPause } from '../../model/store';
import type { Context } from './context';
import type { Row } from './database';

/** While no task may be taken, whatever is due. */
const heldLookMs = 1000;

export function pauseReading({ database, nowMs }: Context, forMs: number): void {
  // A pause that comes while another lasts goes on with it.
  database.run(
    `INSERT INTO meta (name, value) VALUES ('pause-since', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value
     WHERE coalesce((SELECT value FROM meta WHERE name = 'pause-until'), 0) <= excluded.value`,
    nowMs(),
  );
  database.run(
    `INSERT INTO meta (name, value) VALUES ('pause-until', ?)
     ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`,
    nowMs() + Math.ceil(forMs),
  );
}

export function readingPause({ database, nowMs }: Context): ReadingPause | null {
  const row = database.get(
    `SELECT u.value AS until, s.value AS since FROM meta u JOIN meta s ON s.name = 'pause-since'
     WHERE u.name = 'pause-until' AND u.value > ?`,
    nowMs(),
  );
  return row === undefined ? null : { sinceMs: Number(row.since), leftMs: Number(row.until) - nowMs() };
}

/** Neither while the topics are still read nor during a pause; one look for both. */
export function mayTake(context: Context): boolean {
  return holds(context).length === 0;
}

/** For how long nothing is taken in any case; 0: not held. */
export function heldForMs(context: Context, what: 'task' | 'probe'): number {
  const ofKind = holds(context).filter(({ name }) => what === 'task' || name === 'pause-until');
  const ms = ofKind.map(({ name, value }) =>
    name === 'pause-until' ? Number(value) - context.nowMs() : heldLookMs,
  );
  return Math.max(0, ...ms);
}

function holds({ database, nowMs }: Context): Row[] {
  return database.all(
    `SELECT name, value FROM meta WHERE name = 'reading-on' OR (name = 'pause-until' AND value > ?)`,
    nowMs(),
  );
}
