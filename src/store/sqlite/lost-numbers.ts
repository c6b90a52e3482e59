/**
 * Numbers that another life of the store may have given, on records that are gone: those before the beginning of a log, or on
 * another log of the same name. Which keys had them nobody can tell, so all of the kind go on above, and what waits under one
 * of them never goes out: a sync publishes it anew. What a key has had by what is known stays as it is: against that the records
 * that still stand are judged.
 */
import { partsOf } from '../../model/resource';
import type { FoundPage } from '../../model/topic-end';
import { kindOfTopic } from '../live-topic';
import { lostFloorPrefix, numberFloorPrefix } from '../store-rules';
import type { Context } from './context';
import { listWhole } from './list-whole';
import { tellAccess } from './observe';
import { refuseOvertaken } from './refuse-again';
import { keepUnclaimed } from './unclaimed';

/** Of a key: whether it is of the kind. */
const isOfKind = `substr(key, instr(key, '/') + 1) LIKE ?1 || '/%'`;

/** The log begins so many records after the place that the store knew, or is another. How many the store lacks, or sets aside. */
export function noteGone(context: Context, { topic, lost = 0, anotherLog }: FoundPage): number {
  const kind = kindOfTopic(topic);
  if (kind === null || (lost === 0 && !anotherLog)) return lost;
  raiseFloor(context, kind, lost);
  if (lost > 0) noteLost(context, kind);
  const keys = setAside(context, kind, lost > 0);
  refuseOvertaken(context, keys);
  const anew = lost > 0 ? whatMayDiffer(context, kind) : { organizationIds: [], told: [] };
  const ids = keys.map((key) => partsOf(key).organizationId);
  publishAnew(context, kind, keys, lost > 0);
  // A deletion of what moved on was set aside as well: its former place is left once the resource is published anew.
  keepUnclaimed(context, keys);
  listWhole(context, [...new Set([...anew.organizationIds, ...ids])]);
  const told = kind === 'organization-access' ? [...anew.told, ...ids] : [];
  for (const id of new Set(told)) tellAccess(context, id);
  return lost + keys.length;
}

/**
 * None was given above the milliseconds that have passed since 1970, as long as clocks were right; and no key has gained more numbers
 * than so many records, unless it went on above another floor.
 */
function raiseFloor({ database, nowMs }: Context, kind: string, by: number): void {
  database.run(
    `INSERT INTO meta (name, value)
       SELECT ?2, max((SELECT coalesce(max(sequence), 0) FROM sequences WHERE ${isOfKind}) + ?3, ?4)
     ON CONFLICT (name) DO UPDATE SET value = max(value + ?3, excluded.value)`,
    kind,
    numberFloorPrefix + kind,
    by,
    nowMs(),
  );
}

/** Nothing that was sent is known to be the newest of its key any more. */
function noteLost({ database }: Context, kind: string): void {
  database.run(
    `INSERT INTO meta (name, value) SELECT ?, value FROM meta WHERE name = ?
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    lostFloorPrefix + kind,
    numberFloorPrefix + kind,
  );
}

/** Nothing unsent is above the floor. What was sent once goes out again as it is, but not after what is gone. The keys. */
function setAside({ database }: Context, kind: string, alsoSent: boolean): string[] {
  const rows = database.all(
    `UPDATE outbox SET state = iif(log_offset IS NULL, 4, 2)
     WHERE state = 0 AND (?2 OR log_offset IS NULL) AND ${isOfKind} RETURNING key`,
    kind,
    alsoSent ? 1 : 0,
  );
  return [...new Set(rows.map(({ key }) => String(key)))];
}

function whatMayDiffer({ database }: Context, kind: string): { organizationIds: string[]; told: string[] } {
  const listed = database.all(
    'SELECT DISTINCT organization_id AS id FROM listings WHERE organization_id IS NOT NULL',
  );
  const told = database.all(`SELECT key FROM sequences WHERE ${isOfKind}`, kind);
  return {
    organizationIds: listed.map(({ id }) => String(id)),
    told: told.map(({ key }) => partsOf(String(key)).organizationId),
  };
}

/** A deletion that was set aside is found again by the sync. No other is told anew. */
function publishAnew({ database }: Context, kind: string, keys: string[], all: boolean): void {
  database.run(
    `UPDATE tasks SET content_hash = '', wire_hash = '', deleted = 0 WHERE kind = ?1 AND published = 1
       AND ((?3 AND deleted = 0 AND content_hash <> '') OR resource_id IN (SELECT value FROM json_each(?2)))`,
    kind,
    JSON.stringify(keys.map((key) => partsOf(key).id)),
    all ? 1 : 0,
  );
}
