/**
 * Of whom an operator is letting go at this moment, or whose forgetting was broken off: what stands in `meta` of it.
 */
import { forgettingName, forgettingPrefix } from '../forgetting';
import type { Context } from './context';

/** Is a row of `organizations` of one that is being forgotten? */
export const isBeingForgotten = `(organizations.access = 'not-connected' AND (SELECT true FROM meta m
  WHERE m.name = ('${forgettingPrefix}' || organizations.epoch || ':' || organizations.id) COLLATE "default") IS NOT NULL)`;

/** How many were given up by whoever was broken off, of which nothing stands there any more; 0 where nobody was. */
export async function takeForgotten({ database }: Context, name: string): Promise<number> {
  const row = await database.get('DELETE FROM meta WHERE name = $1 RETURNING value', name);
  return Number(row?.value ?? 0);
}

/** null: all is given up. */
export async function noteForgetting(
  { database }: Context,
  { organizationId, epoch }: { organizationId: string; epoch: number },
  discarded: number | null,
): Promise<void> {
  const name = forgettingName(organizationId, epoch);
  if (discarded === null) await database.run('DELETE FROM meta WHERE name = $1', name);
  else
    await database.run(
      `INSERT INTO meta (name, value) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      name,
      discarded,
    );
}

/** Its row is locked. */
export async function isForgetting({ database }: Context, id: string, epoch: number): Promise<boolean> {
  const sql = 'SELECT 1 AS there FROM meta WHERE name = $1';
  return (await database.get(sql, forgettingName(id, epoch))) !== undefined;
}
