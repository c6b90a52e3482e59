/**
 * What records of equipment are called by, kept with what each is known as. The rules are both stores'. What is new is
 * added by one transaction at a time, so that two reads of one piece cannot both be its first.
 */
import type { EquipmentNames, EquipmentSought, KnownEquipment } from '../../model/equipment-names';
import { EquipmentShelf, keptOf, namesOf, soughtOf } from '../equipment-names';
import type { Context } from './context';
import { lockNumbers } from './server/lock-numbers';

const columns = 'side, id, organization_id, principal_id, erid, serial_number, resource_id';

/** What calls of the same moment ask for, in one go: the answers in their order. */
export async function nameTogether(context: Context, calls: EquipmentNames[][]): Promise<KnownEquipment[][]> {
  const known = await nameEquipment(context, calls.flat());
  return calls.map(({ length }) => known.splice(0, length));
}

async function nameEquipment(context: Context, pieces: EquipmentNames[]): Promise<KnownEquipment[]> {
  const { database } = context;
  const [locked, first] = await Promise.all([lockWhereNew(context, pieces), shelfFor(context, pieces)]);
  let { known, records } = first.choose(pieces);
  if (records.length === 0) return known;
  if (!locked) {
    // Another has changed a row since it was asked whether to lock.
    const [, shelf] = await Promise.all([database.all(`SELECT ${lock}`), shelfFor(context, pieces)]);
    ({ known, records } = shelf.choose(pieces));
  }
  database.last(
    `INSERT INTO equipment (${columns})
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
     ON CONFLICT (id, side, organization_id) DO UPDATE SET
       principal_id = excluded.principal_id, erid = excluded.erid, serial_number = excluded.serial_number`,
    ...columnsOf(records),
    records.map(({ resourceId }) => resourceId),
  );
  return known;
}

/** A list for each of the columns, but for which resource they name. */
function columnsOf(pieces: EquipmentNames[]): (string | null)[][] {
  return [
    pieces.map(({ side }) => side),
    pieces.map(({ id }) => id),
    pieces.map(({ organizationId }) => organizationId),
    pieces.map(({ principalId }) => principalId),
    pieces.map(({ erid }) => erid),
    pieces.map(({ serialNumber }) => serialNumber),
  ];
}

const lock = `pg_advisory_xact_lock(${lockNumbers.equipmentNames})`;

/**
 * True where the lock is held: one of the pieces is not kept as it says. What is asked with this, behind it, is then asked under
 * the lock; where nothing is new nobody waits for it.
 */
async function lockWhereNew({ database }: Context, pieces: EquipmentNames[]): Promise<boolean> {
  const rows = await database.all(
    `SELECT ${lock} WHERE EXISTS (
       SELECT 1 FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
         AS n (side, id, organization_id, principal_id, erid, serial_number)
       WHERE (SELECT true FROM equipment e
         WHERE e.id = n.id AND e.side = n.side AND e.organization_id = n.organization_id
           AND e.principal_id IS NOT DISTINCT FROM coalesce(n.principal_id, e.principal_id)
           AND e.erid IS NOT DISTINCT FROM coalesce(n.erid, e.erid)
           AND e.serial_number IS NOT DISTINCT FROM coalesce(n.serial_number, e.serial_number)) IS NULL)`,
    ...columnsOf(pieces),
  );
  return rows.length > 0;
}

async function shelfFor({ database }: Context, pieces: EquipmentNames[]): Promise<EquipmentShelf> {
  const rows = await database.all(
    // An array, since a join would be planned on a table that is empty yet, as one that reads all of it.
    `SELECT ${columns} FROM equipment WHERE resource_id = ANY($1::text[] || ARRAY(
       SELECT resource_id FROM equipment WHERE id = ANY($1::text[])
       UNION ALL SELECT resource_id FROM equipment WHERE principal_id = ANY($1::text[])
       UNION ALL SELECT resource_id FROM equipment WHERE erid = ANY($1::text[])))`,
    [...new Set(pieces.flatMap(soughtOf))],
  );
  const shelf = new EquipmentShelf();
  for (const row of rows) shelf.put(keptOf(row));
  return shelf;
}

/** Each read that finds nothing asks: what is asked in the same moment is one message to the server. */
export function recordsTogether(context: Context, calls: [EquipmentSought][]): Promise<EquipmentNames[][]> {
  return Promise.all(calls.map(([sought]) => recordsOf(context, sought)));
}

async function recordsOf({ database }: Context, { id, as }: EquipmentSought): Promise<EquipmentNames[]> {
  const of = 'SELECT resource_id FROM equipment WHERE id = $1 AND side = $2';
  const rows =
    as === 'known'
      ? await database.all(`SELECT ${columns} FROM equipment WHERE resource_id = $1`, id)
      : await database.all(`SELECT ${columns} FROM equipment WHERE resource_id IN (${of})`, id, as);
  return rows.map(namesOf);
}
