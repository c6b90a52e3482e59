/**
 * What a move began with: the steps of both schemas and what is copied of each table. A version that has others copies other
 * rows than those that are there, and a step may have changed what was copied: neither goes on with it.
 */
import { createHash } from 'node:crypto';
import type { Statements } from '../postgres/server/database';
import type { Database as Source } from '../sqlite/database';
import { tablesToMove } from './tables';

/** Among the places of the tables. */
const planName = 'plan';

/** Throws `store.refused` when something of the source would be left behind. */
export async function planOf(source: Source, target: Statements): Promise<string> {
  const tables = await tablesToMove(source, target);
  const steps = 'SELECT name FROM migrations';
  const made = [source.all(steps), await target.all(steps)].map((rows) =>
    rows.map(({ name }) => name).sort(),
  );
  return createHash('sha256')
    .update(JSON.stringify([made, tables]))
    .digest('base64');
}

/** Undefined where a version began that kept none. */
export async function begunWith(target: Statements): Promise<string | undefined> {
  return (await target.get('SELECT hash FROM moves WHERE name = $1', planName))?.hash;
}

export async function keepPlan(target: Statements, plan: string): Promise<void> {
  await target.run(`INSERT INTO moves (name, after, rows, hash) VALUES ($1, '', 0, $2)`, planName, plan);
}
