/**
 * What the machine and implement endpoints called by other names than the equipment API does: `GUID` is the ERID, `vin`
 * the serial number, make, type and model stand under names of their own or, for machines, among categories. Folding
 * them leaves the one shape; the newer name wins where both are sent.
 */
import { asRecord, type Facts, optional, ownValue, type Part, shapeOf } from './reading';
import { label, text } from './scalars';
import { setBy } from './sets';

const categories = setBy(
  shapeOf({ type: optional('type', text), id: optional('id', label), name: optional('name', text) }),
  'type',
);

/** A list inside an object of the same name. */
export const machineCategories: Part = {
  schema: categories.schema,
  read(value, path, reading) {
    if (Array.isArray(value)) return categories.read(value, path, reading);
    const list = ownValue(asRecord(value, path), 'machineCategories') ?? [];
    return categories.read(list, `${path}/machineCategories`, reading);
  },
};

/** What the old shape says of how machines are drawn and classed, and its owner, which is read apart. */
export const leftOutOfOld = /^(?:owningOrganization|visualizationCategory|detailMachineCode|category)$/;

const newNames = {
  oldErid: 'erid',
  oldSerialNumber: 'serialNumber',
  oldMake: 'make',
  oldType: 'type',
  oldIsgType: 'isgType',
  oldModel: 'model',
  oldDevices: 'devices',
} as const;

const categoryNames = { Make: 'make', Type: 'type', Model: 'model' } as const;

/** In place. A member stays where the provider's newer name has none. */
export function foldOldEquipment(facts: Facts): void {
  for (const [from, to] of Object.entries(newNames)) {
    const value = facts[from];
    delete facts[from];
    if (value !== undefined && facts[to] === undefined) facts[to] = value;
  }
  const listed = facts.oldCategories;
  delete facts.oldCategories;
  for (const entry of Array.isArray(listed) ? (listed as Facts[]) : []) {
    const name = categoryNames[entry.type as keyof typeof categoryNames];
    if (name === undefined || facts[name] !== undefined) continue;
    const { type: _type, ...reference } = entry;
    facts[name] = reference;
  }
}
