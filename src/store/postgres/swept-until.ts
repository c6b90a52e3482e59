/**
 * How far retention has walked, in rows of `meta`: whichever process sweeps next goes on from there.
 */
import type { Context } from './context';

/** The log and the journals that are walked. */
type Walked = 'events' | 'deliveries' | 'reads' | 'reads-fence';

/** 0 where it begins. */
export async function sweptUntil({ database }: Context, what: Walked): Promise<number> {
  const row = await database.get('SELECT value FROM meta WHERE name = $1', `swept-${what}`);
  return row?.value ?? 0;
}

export async function noteSwept({ database }: Context, what: Walked, until: number): Promise<void> {
  await database.run(
    `INSERT INTO meta AS m (name, value) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE m.value <> excluded.value`,
    `swept-${what}`,
    until,
  );
}
