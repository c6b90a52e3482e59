/**
 * Resources that another life of the store left on the topics, and that this one holds nothing of: where each stands. What
 * is first shown elsewhere moved away from there. Their rows are locked after tasks and before sequences.
 */
import { partsOf } from '../../model/resource';
import type { FoundRecord } from '../../model/topic-end';
import type { Context } from './context';

/** Whether there is any, for a statement that is made anyway. */
export const isAnyUnclaimed = 'EXISTS (SELECT FROM unclaimed)';

/** By kind and id, the organizations that they stand in by the topics; the rows are locked. */
export async function lockUnclaimed(
  { database }: Context,
  resources: { kind: string; id: string }[],
): Promise<Map<string, string[]>> {
  const places = new Map<string, string[]>();
  if (resources.length === 0) return places;
  const rows = await database.all(
    `SELECT u.kind, u.resource_id, u.organization_id FROM unclaimed u
     WHERE u.kind = ANY($1::text[]) AND u.resource_id = ANY($2::text[]) AND ((u.kind, u.resource_id) IN
       (SELECT kind, resource_id FROM unnest($1::text[], $2::text[]) AS n (kind, resource_id))) IS TRUE
     ORDER BY u.kind, u.resource_id, u.organization_id FOR UPDATE OF u`,
    resources.map(({ kind }) => kind),
    resources.map(({ id }) => id),
  );
  for (const { kind, resource_id: id, organization_id: organizationId } of rows)
    places.set(`${kind}/${id}`, [...(places.get(`${kind}/${id}`) ?? []), organizationId]);
  return places;
}

/** Of the page's records of `keys`, the newest of each key says whether its resource stands there. */
export async function noteUnclaimed(
  { database }: Context,
  records: FoundRecord[],
  keys: ReadonlySet<string>,
): Promise<void> {
  const newest = new Map<string, FoundRecord>();
  for (const record of records)
    if (keys.has(record.key) && record.sequence >= (newest.get(record.key)?.sequence ?? 0))
      newest.set(record.key, record);
  const stands = (deleted: boolean) =>
    [...newest.values()].filter((one) => one.deleted === deleted).map(({ key }) => partsOf(key));
  const gone = stands(true);
  await database.run(forget, ...columnsOf(gone));
  await keep(database, stands(false));
}

/** They may stand where these keys say, but for what is published here under that key. */
export async function keepUnclaimed({ database }: Context, keys: string[]): Promise<void> {
  if (keys.length > 0) await keep(database, keys.map(partsOf));
}

/** What is published here under that key is known. */
async function keep(database: Context['database'], places: Place[]): Promise<void> {
  await database.run(
    `INSERT INTO unclaimed (kind, resource_id, organization_id)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS n (kind, resource_id, organization_id)
     WHERE (SELECT t.organization_id FROM tasks t WHERE t.kind = n.kind AND t.resource_id = n.resource_id AND t.published)
       IS DISTINCT FROM n.organization_id ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING`,
    ...columnsOf(places.filter(({ kind }) => kind !== 'organization-access')),
  );
}

/** Those are not unclaimed any more. */
export async function forgetUnclaimed({ database }: Context, claimed: Place[]): Promise<void> {
  if (claimed.length > 0) await database.run(forget, ...columnsOf(claimed));
}

export interface Place {
  kind: string;
  id: string;
  organizationId: string;
}

const forget = `DELETE FROM unclaimed WHERE kind = ANY($1::text[]) AND resource_id = ANY($2::text[]) AND ((kind, resource_id, organization_id) IN
  (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))) IS TRUE`;

function columnsOf(places: Place[]): [string[], string[], string[]] {
  return [
    places.map(({ kind }) => kind),
    places.map(({ id }) => id),
    places.map(({ organizationId }) => organizationId),
  ];
}
