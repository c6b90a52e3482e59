/**
 * What the machine and implement endpoints and the equipment API may call one piece of equipment by, from the records of
 * it that were seen before, and whether what an address shows is that piece.
 */
import type { EquipmentNames, EquipmentSide } from '../model/equipment-names';
import type { EquipmentAddresses } from './equipment-addresses';
import { linksOf } from './links';
import type { ProviderDoors } from './options';

/**
 * Ids to ask the side by, the surest first: as it was seen there, else as the other side's records let expect. `id` is
 * what is left where none was seen.
 */
export function idsAt(side: EquipmentSide, id: string, records: readonly EquipmentNames[]): string[] {
  const seen = records.filter((one) => one.side === side).map((one) => one.id);
  if (seen.length > 0) return [...new Set(seen)];
  // The older endpoints may call a thing by its principal id; the equipment API also knows a record by its ERID.
  const others = records.flatMap((one) => [one.id, side === 'old' ? one.principalId : one.erid]);
  return [...new Set(others.length > 0 ? others : [id])].filter((one) => one !== null);
}

/** Another id than it was seen by on that side shows that piece only where nothing in the document speaks against it. */
export function mayShow(body: unknown, records: readonly EquipmentNames[]): boolean {
  const { GUID, ERID = GUID, vin, serialNumber = vin } = factsOf(body);
  return records.every((one) => {
    const sameErid = agree(one.erid, ERID);
    const sameSerial = agree(one.serialNumber, serialNumber);
    return sameErid === true || sameSerial === true || (sameErid === null && sameSerial === null);
  });
}

/** An older record that says itself which one of the equipment API it is: by its ERID, or by a link to it. */
export function saysItIs(body: unknown, id: string, equipment: EquipmentAddresses): boolean {
  const { GUID, ERID = GUID } = factsOf(body);
  const linked = URL.parse(linksOf(body).get('equipment') ?? '');
  return ERID === id || (linked !== null && linked.pathname === new URL(equipment.record(id)).pathname);
}

/** What an older record with that id says of which piece it is. */
export function namesShown(body: unknown, id: string, organizationId: string): EquipmentNames {
  const { GUID, ERID = GUID, vin, serialNumber = vin } = factsOf(body);
  const textOf = (sent: unknown) => (isName(sent) ? String(sent) : null);
  const [erid, serialNumberShown] = [textOf(ERID), textOf(serialNumber)];
  return { side: 'old', id, organizationId, principalId: null, erid, serialNumber: serialNumberShown };
}

function factsOf(body: unknown): Record<string, unknown> {
  return (body ?? {}) as Record<string, unknown>;
}

function isName(sent: unknown): sent is string | number {
  return typeof sent === 'string' || typeof sent === 'number';
}

/** null where one does not say. */
function agree(known: string | null, sent: unknown): boolean | null {
  return known === null || !isName(sent) ? null : known === String(sent);
}

/** The thing that was seen at the older endpoints alone, where the equipment API can be asked for it; null: none. */
export function principalOf(records: readonly EquipmentNames[]): EquipmentNames | null {
  return records.some(({ side }) => side === 'new') ? null : (records[0] ?? null);
}

/** What a side calls what a person names as events do; as it was named where that was not seen. Rejects as the store does. */
export async function idAt(
  side: EquipmentSide,
  id: string,
  { equipmentRecords }: Pick<ProviderDoors, 'equipmentRecords'>,
): Promise<string> {
  const records = (await equipmentRecords?.({ id, as: 'known' })) ?? [];
  return records.find((one) => one.side === side)?.id ?? id;
}
