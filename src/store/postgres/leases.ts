/**
 * Named leases: one holder at a time until it runs out by the store's clock.
 */
import type { Context } from './context';

export async function holdLease(
  { database, nowMs }: Context,
  name: string,
  holder: string,
  leaseMs: number,
): Promise<boolean> {
  // Who waits for it asks often, and only looks.
  const others = await database.get(
    'SELECT 1 AS there FROM leases WHERE name = $1 AND holder <> $2 AND until > $3',
    name,
    holder,
    nowMs(),
  );
  if (others !== undefined) return false;
  const held = await database.run(
    `INSERT INTO leases (name, holder, until) VALUES ($1, $2, $3)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
     WHERE leases.holder = excluded.holder OR leases.until <= $4`,
    name,
    holder,
    nowMs() + leaseMs,
    nowMs(),
  );
  return held === 1;
}

export async function leaseFreeMs({ database, nowMs }: Context, name: string): Promise<number | null> {
  const lease = await database.get('SELECT until FROM leases WHERE name = $1', name);
  return lease === undefined ? null : Math.max(0, nowMs() - lease.until);
}
