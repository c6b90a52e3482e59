/**
 * States of the platform that processes tell each other: each has one row, as long as it has something to tell.
 */
import type { Condition } from '../../model/alert';
import type { Context } from './context';

export async function shareConditions(
  { database, nowMs }: Context,
  holder: string,
  own: Condition[],
  forMs: number,
): Promise<Condition[]> {
  if (own.length === 0) {
    await database.run('DELETE FROM conditions WHERE holder = $1', holder);
  } else {
    await database.run(
      `INSERT INTO conditions (holder, conditions, until) VALUES ($1, $2, $3)
       ON CONFLICT (holder) DO UPDATE SET conditions = excluded.conditions, until = excluded.until`,
      holder,
      JSON.stringify(own),
      nowMs() + forMs,
    );
  }
  const others = await database.all(
    'SELECT conditions FROM conditions WHERE holder <> $1 AND until > $2 ORDER BY holder',
    holder,
    nowMs(),
  );
  return others.flatMap((row) => JSON.parse(String(row.conditions)) as Condition[]);
}
