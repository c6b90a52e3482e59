/**
 * The last number that each key was given. While a task's row names one, that is the last of the key made of this row's
 * organization, kind and id, and `sequences` is not asked; of every other key (organizations, former owners, what was found
 * on a topic) the number stands in `sequences`. A number never falls.
 */
import { keyOf, type ResourceKind } from '../../model/resource';
import type { Context } from './context';
import type { Row } from './database';

/**
 * Gives the key its next number: in `sequences`, or in the row whose key it is from now on, all of which was read. Whoever
 * calls writes that row.
 */
export function nextSequence({ database }: Context, key: string, row: Row | null): number {
  if (row === null) {
    const given = database.get(
      `INSERT INTO sequences (key, sequence) VALUES (?, 1)
       ON CONFLICT (key) DO UPDATE SET sequence = sequence + 1 RETURNING sequence`,
      key,
    )!;
    return Number(given.sequence);
  }
  const last = row.sequence ?? database.get('SELECT sequence FROM sequences WHERE key = ?', key)?.sequence;
  const sequence = Number(last ?? 0) + 1;
  row.sequence = sequence;
  return sequence;
}

/** To be called before the row is written under another key than its own: that one's number is kept. */
export function leaveKey({ database }: Context, row: Row, nextKey: string): void {
  const { sequence } = row;
  if (typeof sequence !== 'number') return;
  const key = keyOf(String(row.organization_id), row.kind as ResourceKind, String(row.resource_id));
  if (key === nextKey) return;
  database.run(
    `INSERT INTO sequences (key, sequence) VALUES (?, ?)
     ON CONFLICT (key) DO UPDATE SET sequence = excluded.sequence`,
    key,
    sequence,
  );
  row.sequence = null;
}

/** True when the key had a lower number, or none. */
export function raiseSequence({ database }: Context, key: string, sequence: number): boolean {
  const last = database.get(`SELECT ${lastOf('?1')} AS sequence`, key)!.sequence;
  if (last !== null && Number(last) >= sequence) return false;
  database.run(
    `INSERT INTO sequences (key, sequence) VALUES (?, ?)
     ON CONFLICT (key) DO UPDATE SET sequence = excluded.sequence`,
    key,
    sequence,
  );
  database.run(`UPDATE tasks SET sequence = NULL WHERE ${isRowOf('?1')}`, key);
  return true;
}

/** In SQL: the last number of the key that the expression gives; NULL when it has none. */
export function lastOf(key: string): string {
  return `coalesce((SELECT tasks.sequence FROM tasks WHERE ${isRowOf(key)}),
    (SELECT sequences.sequence FROM sequences WHERE sequences.key = ${key}))`;
}

function isRowOf(key: string): string {
  const rest = `substr(${key}, instr(${key}, '/') + 1)`;
  return `tasks.kind = substr(${rest}, 1, instr(${rest}, '/') - 1)
    AND tasks.resource_id = substr(${rest}, instr(${rest}, '/') + 1)
    AND tasks.organization_id = substr(${key}, 1, instr(${key}, '/') - 1)`;
}
