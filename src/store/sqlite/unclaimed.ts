/**
 * Resources that another life of the store left on the topics, and that this one holds nothing of: where each stands. What
 * is found gone at the address of one is that resource from then on; what is first shown elsewhere moved away from there.
 */
import type { PublishedState } from '../../model/event';
import { partsOf, type ResourceIdentity } from '../../model/resource';
import type { FoundRecord } from '../../model/topic-end';
import type { Context } from './context';
import type { Row } from './database';

/** Of the page's records of `keys`, the newest of each key says whether its resource stands there. */
export function noteUnclaimed(
  { database }: Context,
  records: FoundRecord[],
  keys: ReadonlySet<string>,
): void {
  const newest = new Map<string, FoundRecord>();
  for (const record of records)
    if (keys.has(record.key) && record.sequence >= (newest.get(record.key)?.sequence ?? 0))
      newest.set(record.key, record);
  for (const { key, deleted } of newest.values()) {
    const { kind, id, organizationId } = partsOf(key);
    if (deleted) database.run(forgetOne, kind, id, organizationId);
    else if (kind !== 'organization-access') database.run(keepOne, kind, id, organizationId);
  }
}

/** They may stand where these keys say, but for what is published here under that key. */
export function keepUnclaimed({ database }: Context, keys: string[]): void {
  for (const { kind, id, organizationId } of keys.map(partsOf))
    if (kind !== 'organization-access') database.run(keepOne, kind, id, organizationId);
}

const forgetOne = 'DELETE FROM unclaimed WHERE kind = ? AND resource_id = ? AND organization_id = ?';
/** What is published here under that key is known. */
const keepOne = `INSERT INTO unclaimed (kind, resource_id, organization_id) SELECT ?1, ?2, ?3
  WHERE NOT EXISTS (SELECT 1 FROM tasks
    WHERE kind = ?1 AND resource_id = ?2 AND published = 1 AND organization_id = ?3)
  ON CONFLICT DO NOTHING`;

/** What is published first, or anew since others were found to have published it, may stand elsewhere by the topics. */
export function mayStandElsewhere(previous: PublishedState | null): boolean {
  return previous === null || previous.contentHash === '';
}

/** The organizations that it stands in by the topics. */
export function placesOf({ database }: Context, { kind, id }: ResourceIdentity): string[] {
  const rows = database.all(
    'SELECT organization_id FROM unclaimed WHERE kind = ? AND resource_id = ? ORDER BY organization_id',
    kind,
    id,
  );
  return rows.map((row) => String(row.organization_id));
}

/** From now on this life of the store holds the resource. */
export function claim({ database }: Context, { kind, id }: ResourceIdentity): void {
  database.run('DELETE FROM unclaimed WHERE kind = ? AND resource_id = ?', kind, id);
}

/**
 * True when the task, of which nothing is known but its address, is the resource's from now on, as another life of the store
 * published it where the hint says.
 */
export function adopt({ database }: Context, task: Row, named: ResourceIdentity | undefined): boolean {
  if (named === undefined || task.kind !== null || task.hinted_organization_id === null) return false;
  const place = [named.kind, named.id, String(task.hinted_organization_id)] as const;
  const isAdopted =
    database.run(
      `UPDATE tasks SET kind = ?1, resource_id = ?2, organization_id = ?3, published = 1, deleted = 0, content_hash = '',
         wire_hash = '', normalizer_version = 0 WHERE id = ?4
         AND EXISTS (SELECT 1 FROM unclaimed WHERE kind = ?1 AND resource_id = ?2 AND organization_id = ?3)
         AND NOT EXISTS (SELECT 1 FROM tasks WHERE kind = ?1 AND resource_id = ?2)`,
      ...place,
      Number(task.id),
    ) > 0;
  if (isAdopted) database.run(forgetOne, ...place);
  return isAdopted;
}
