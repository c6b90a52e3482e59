/**
 * States of the platform that processes tell each other: each has one row, as long as it lives.
 */
import type { Condition, Told } from '../../model/alert';
import type { Context } from './context';

export async function shareConditions(
  { database, nowMs }: Context,
  holder: string,
  own: Condition[],
  forMs: number,
): Promise<Told[]> {
  await database.run(
    `INSERT INTO conditions (holder, conditions, until) VALUES ($1, $2, $3)
     ON CONFLICT (holder) DO UPDATE SET conditions = excluded.conditions, until = excluded.until`,
    holder,
    JSON.stringify(own),
    nowMs() + forMs,
  );
  // Of processes that ended without a word. Those that tell anew at this moment are passed over: none waits for another.
  await database.run(
    `DELETE FROM conditions
     WHERE holder IN (SELECT holder FROM conditions WHERE until <= $1 FOR UPDATE SKIP LOCKED)`,
    nowMs(),
  );
  const others = await database.all(
    'SELECT holder, conditions FROM conditions WHERE holder <> $1 AND until > $2 ORDER BY holder',
    holder,
    nowMs(),
  );
  return others.map((row) => ({
    holder: String(row.holder),
    conditions: JSON.parse(String(row.conditions)) as Condition[],
  }));
}
