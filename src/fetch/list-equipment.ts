/**
 * Equipment listed as it is asked for: organization by organization, so that one that is closed hides no other, or by
 * ids and serial numbers through every connection. The same serial number in two organizations is two records.
 */
import type { EquipmentFilter, RawListed } from '../model/provider-data';
import type { Caller } from './caller';
import { equipmentEmbeds } from './embed';
import type { EquipmentAddresses } from './equipment-addresses';
import { idAt } from './equipment-ids';
import type { OldEquipment } from './old-equipment';
import type { ProviderDoors } from './options';
import { equipmentLimits } from './pages';
import {
  connectionReaches,
  faultOf,
  itemsOf,
  type ListParts,
  organizationReaches,
  type Reach,
} from './reach';

export interface EquipmentParts extends ListParts {
  doors: ProviderDoors;
  equipment: EquipmentAddresses;
  /** null: the equipment API is asked, and filters. */
  oldEquipment: OldEquipment | null;
}

/** Values of one filter in one address; an address has at most 2,048 characters. */
const valuesMax = 40;

/** Throws only what the store throws; holds one page at a time. */
export async function* listEquipment(
  parts: EquipmentParts,
  wanted: EquipmentFilter,
  caller: Caller,
): AsyncGenerator<RawListed> {
  const { doors, equipment, oldEquipment } = parts;
  const side = oldEquipment === null ? 'new' : 'old';
  const filter = { ...wanted, ids: await Promise.all(wanted.ids.map((id) => idAt(side, id, doors))) };
  if (oldEquipment !== null) return yield* listOld(parts, oldEquipment, filter, caller);
  const byId = filter.ids.length > 0 || filter.serialNumbers.length > 0;
  const byOrganization = !byId || filter.organizationIds.length > 0;
  const reaches = byOrganization
    ? organizationReaches(doors, filter.organizationIds)
    : connectionReaches(doors, null);
  // Several connections may see one record that is asked for by its id alone.
  const shown = byOrganization ? null : new Set<string>();
  for (const reached of reaches) {
    if ('fault' in reached) {
      yield reached;
      continue;
    }
    const { reach } = reached;
    // Only the catalog says which addresses are for authorization.
    const catalog = await caller.catalog(reach.connection, false);
    if ('answer' in catalog) {
      const { answer } = catalog;
      const detail = 'detail' in answer ? answer.detail : 'the catalog was not answered';
      yield {
        fault: { answer: answer as never, detail, address: null, organizationId: reach.organizationId },
      };
      continue;
    }
    for (const first of addressesOf(filter, reach, equipment)) {
      const walk = { first, operation: 'equipment-list', reach, caller, embeds: equipmentEmbeds } as const;
      for await (const line of itemsOf(parts, { ...walk, limits: equipmentLimits })) {
        if ('fault' in line || isNew(line.item.body, shown)) yield withAddress(line, equipment);
      }
    }
  }
}

/** The endpoints before the equipment API know no filter: it is applied here. */
async function* listOld(
  parts: EquipmentParts,
  oldEquipment: OldEquipment,
  filter: EquipmentFilter,
  caller: Caller,
): AsyncGenerator<RawListed> {
  for (const reached of organizationReaches(parts.doors, filter.organizationIds)) {
    if ('fault' in reached) {
      yield reached;
      continue;
    }
    const { reach } = reached;
    const organizationId = reach.organizationId as string;
    const listed = await oldEquipment.listings(organizationId, reach.connection, caller);
    if ('answer' in listed) {
      yield { fault: faultOf(listed.answer as never, null, organizationId) };
      continue;
    }
    for (const first of listed.addresses) {
      const walk = { first, operation: 'equipment-list', reach, caller, embeds: [] } as const;
      for await (const line of itemsOf(parts, walk)) {
        if ('fault' in line || fits(line.item.body, filter)) yield line;
      }
    }
  }
}

function fits(body: unknown, { ids, serialNumbers, category, archived }: EquipmentFilter): boolean {
  const record = (body ?? {}) as Record<string, unknown>;
  const serialNumber = record.serialNumber ?? record.vin;
  const named = ids.length > 0 || serialNumbers.length > 0;
  return (
    (!named || ids.includes(idOf(body) ?? '') || serialNumbers.includes(String(serialNumber))) &&
    (category === null || String(record['@type']).toLowerCase() === category) &&
    (archived === null || (record.archived === true) === archived)
  );
}

function isNew(body: unknown, shown: Set<string> | null): boolean {
  const id = idOf(body);
  if (shown === null || id === null) return true;
  if (shown.has(id)) return false;
  shown.add(id);
  return true;
}

/** An item without a link of its own stands where its id says. */
function withAddress(line: RawListed, equipment: EquipmentAddresses): RawListed {
  if ('fault' in line) return line;
  const { body, address } = line.item;
  const id = idOf(body);
  const isOwn = !new URL(address).search.includes('itemLimit=');
  return isOwn || id === null ? line : { item: { ...line.item, address: equipment.record(id) } };
}

function idOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const { id } = body as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null;
}

/** The first pages' addresses: ids before serial numbers, in parts that fit. */
function addressesOf(
  filter: EquipmentFilter,
  { organizationId }: Reach,
  equipment: EquipmentAddresses,
): string[] {
  const fixed: [string, string][] = [];
  if (organizationId !== null) fixed.push(['organizationIds', organizationId]);
  if (filter.category !== null) fixed.push(['category', filter.category]);
  if (filter.archived !== null) fixed.push(['archived', String(filter.archived)]);
  const addressWith = (...more: [string, string][]) => {
    const query = [...fixed, ...more].map(
      ([name, value]) => `${name}=${String(value).split(',').map(encodeURIComponent).join(',')}`,
    );
    return `${equipment.collection('equipment')}?${query.join('&')}`;
  };
  const { ids, serialNumbers } = filter;
  if (ids.length === 0 && serialNumbers.length === 0) return [addressWith()];
  const parts = (name: string, values: string[]) =>
    Array.from({ length: Math.ceil(values.length / valuesMax) }, (_none, place) =>
      addressWith([name, values.slice(place * valuesMax, (place + 1) * valuesMax).join(',')]),
    );
  return [...parts('ids', ids), ...parts('serialNumbers', serialNumbers)];
}
