/**
 * What a record of equipment is called by, read without the rest of it: a page of a listing is compared by this. Only
 * names that could be read of a document too; nothing is refused here.
 */
import type { EquipmentNames } from '../model/equipment-names';
import { ownValue } from './reading';
import { readId } from './scalars';

type Sent = Record<string, unknown>;

/** Any of them, and no ERID, is how the machine and implement endpoints wrote a record. */
const olderNames = ['GUID', 'vin', 'owningOrganization', 'equipmentMake', 'equipmentType', 'equipmentModel'];

/** null for what is no machine or implement, and for what lacks an id or an owner. Never throws. */
export function equipmentNamesOf(body: unknown): EquipmentNames | null {
  if (typeof body !== 'object' || body === null) return null;
  const record = body as Sent;
  const type = ownValue(record, '@type');
  const id = nameOf(record, 'id');
  const organizationId = ownerOf(record);
  if ((type !== 'Machine' && type !== 'Implement') || id === null || organizationId === null) return null;
  const erid = nameOf(record, 'ERID');
  const isOlder = erid === null && olderNames.some((name) => Object.hasOwn(record, name));
  return {
    side: isOlder ? 'old' : 'new',
    id,
    organizationId,
    principalId: nameOf(record, 'principalId'),
    erid: erid ?? nameOf(record, 'GUID'),
    serialNumber: nameOf(record, 'serialNumber') ?? nameOf(record, 'vin'),
  };
}

function nameOf(record: Sent, name: string): string | null {
  try {
    return readId(ownValue(record, name), '');
  } catch {
    // Absent, or nothing that anything could be known by.
    return null;
  }
}

/** Alone in a list or not, as in a document. */
function ownerOf(record: Sent): string | null {
  const sent = ownValue(record, 'organization') ?? ownValue(record, 'owningOrganization');
  const [owner] = Array.isArray(sent) ? sent : [sent];
  return typeof owner === 'object' && owner !== null ? nameOf(owner as Sent, 'id') : null;
}
