/**
 * Is the store ready? A write that is taken back would prove nothing: this one commits.
 */
import type { Context } from './context';

export async function ready({ database }: Context): Promise<void> {
  await database.run(
    `INSERT INTO meta AS m (name, value) VALUES ('heartbeat', 1)
     ON CONFLICT (name) DO UPDATE SET value = m.value + 1`,
  );
}
