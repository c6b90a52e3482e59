/**
 * What records of equipment are called by, kept with what each is known as. The rules are both stores'.
 */
import type { EquipmentNames, EquipmentSought, KnownEquipment } from '../../model/equipment-names';
import { EquipmentShelf, isSaidWhole, keptOf, namesOf, soughtOf } from '../equipment-names';
import type { Context } from './context';

const columns = 'side, id, organization_id, principal_id, erid, serial_number, resource_id';
const called = (name: string) => `SELECT resource_id FROM equipment WHERE ${name} = ?1`;
/** What stands in it twice does no harm, and finding it out costs more than all the rest. */
const related = `SELECT ${columns} FROM equipment WHERE resource_id IN (${called('id')} UNION ALL ${called('principal_id')}
  UNION ALL ${called('erid')} UNION ALL SELECT ?1)`;

export function nameEquipment({ database }: Context, pieces: EquipmentNames[]): KnownEquipment[] {
  const shelf = new EquipmentShelf();
  for (const name of new Set(pieces.flatMap(soughtOf))) {
    for (const row of database.all(related, name)) shelf.put(keptOf(row));
  }
  const { known, records } = shelf.choose(pieces);
  for (const { side, id, organizationId, principalId, erid, serialNumber, resourceId } of records) {
    database.run(
      `INSERT INTO equipment (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         principal_id = excluded.principal_id, erid = excluded.erid, serial_number = excluded.serial_number`,
      ...[side, id, organizationId, principalId, erid, serialNumber, resourceId],
    );
  }
  return known;
}

/** The same for one piece that was just read. A record that says what it said before needs no choice. */
export function knownAs(context: Context, piece: EquipmentNames): KnownEquipment {
  const { side, id, organizationId, principalId, erid, serialNumber } = piece;
  const own = context.database.get(
    `SELECT resource_id FROM equipment WHERE id = ? AND side = ? AND organization_id = ?
       AND principal_id IS ? AND erid IS ? AND serial_number IS ?`,
    ...[id, side, organizationId, principalId, erid, serialNumber],
  );
  const saysAll = own !== undefined && isSaidWhole(side, principalId);
  return saysAll ? { id: String(own.resource_id), principalId } : nameEquipment(context, [piece])[0]!;
}

export function equipmentRecords({ database }: Context, { id, as }: EquipmentSought): EquipmentNames[] {
  const rows =
    as === 'known'
      ? database.all(`SELECT ${columns} FROM equipment WHERE resource_id = ?`, id)
      : database.all(
          `SELECT ${columns} FROM equipment
           WHERE resource_id IN (SELECT resource_id FROM equipment WHERE id = ? AND side = ?)`,
          id,
          as,
        );
  return rows.map(namesOf);
}
