/**
 * Whom an operator let go of, and nobody has connected again. Reads alone.
 */
import type { Context } from './context';

/** Was the last word on it an operator's? */
export function isForgotten({ database, organizations }: Context, id: string): boolean {
  const organization = organizations.get(id);
  if (organization?.access !== 'not-connected') return false;
  const sql = `SELECT 1 FROM organization_history WHERE organization_id = ? AND epoch = ? AND said_by = 'operator'`;
  return database.get(sql, id, organization.epoch) !== undefined;
}
