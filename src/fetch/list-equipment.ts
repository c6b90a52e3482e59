/**
 * Equipment listed as it is asked for: organization by organization, so that one that is closed hides no other, or by
 * ids and serial numbers through every connection. What is listed fits every filter, and no record comes twice. The same
 * serial number in two organizations is two records.
 */
import type { EquipmentFilter, RawFault, RawItem, RawListed } from '../model/provider-data';
import type { Caller } from './caller';
import { equipmentEmbeds } from './embed';
import type { EquipmentAddresses } from './equipment-addresses';
import { idAt } from './equipment-ids';
import { mayHaveEnded, type OldEquipment } from './old-equipment';
import type { ProviderDoors } from './options';
import { equipmentLimits, idOf } from './pages';
import {
  connectionReaches,
  faultOf,
  itemsOf,
  type ListParts,
  organizationReaches,
  type Reach,
  type Reached,
  unlinked,
} from './reach';
import { makeShownIds } from './shown-ids';

export interface EquipmentParts extends ListParts {
  doors: ProviderDoors;
  equipment: EquipmentAddresses;
  /** null: the equipment API is asked, and filters. */
  oldEquipment: OldEquipment | null;
}

/** Values of one filter in one address; an address has at most 2,048 characters. */
const valuesMax = 40;

/**
 * Throws only what the store throws; holds one page at a time. An address names at most 40 values of a filter; 100,000
 * ids are remembered to tell a repeat.
 */
export async function* listEquipment(
  parts: EquipmentParts,
  wanted: EquipmentFilter,
  caller: Caller,
): AsyncGenerator<RawListed> {
  const { doors, equipment, oldEquipment } = parts;
  const side = oldEquipment === null ? 'new' : 'old';
  const ids = await Promise.all(wanted.ids.map((id) => idAt(side, id, doors)));
  const serialNumbers = [...new Set(wanted.serialNumbers)];
  const filter = { ...wanted, ids: [...new Set(ids)], serialNumbers };
  if (oldEquipment !== null) return yield* listOld(parts, oldEquipment, filter, caller);
  const byId = filter.ids.length > 0 || filter.serialNumbers.length > 0;
  const byOrganization = !byId || filter.organizationIds.length > 0;
  const reaches = byOrganization
    ? organizationReaches(doors, filter.organizationIds)
    : connectionReaches(doors, null);
  // Several connections may see one record, one may go by two names, and a list may shift between its pages.
  const isNew = makeShownIds();
  async function* through(reached: Reached): AsyncGenerator<RawListed> {
    if ('fault' in reached) return yield reached;
    const { reach } = reached;
    // Only the catalog says which addresses are for authorization.
    const catalog = await caller.catalog(reach.connection, false);
    if ('answer' in catalog) return yield { fault: faultOf(catalog.answer, null, reach.organizationId) };
    for (const first of addressesOf(filter, reach, equipment)) {
      const walk = { first, operation: 'equipment-list', reach, caller, embeds: equipmentEmbeds } as const;
      for await (const line of itemsOf(parts, { ...walk, limits: equipmentLimits })) {
        if ('fault' in line) yield line;
        else if (hasAskedSerial(line.item.body, filter) && isNew(idOf(line.item.body))) {
          yield withAddress(line.item, equipment);
        }
      }
    }
  }

  let refusal: RawFault | null = null;
  for (const reached of reaches) {
    for await (const line of through(reached)) {
      if (!byOrganization && 'fault' in line && isOfOne(line.fault)) refusal ??= line.fault;
      else yield line;
    }
  }
  if (refusal === null) return;
  let isFound = false;
  for (const reached of organizationReaches(doors, [])) {
    for await (const line of through(reached)) {
      isFound ||= 'fault' in line;
      yield line;
    }
  }
  // Whose it is was not found out: it is told all the same.
  if (!isFound) yield { fault: refusal };
}

const ofOne: ReadonlySet<string> = new Set(['action-required', 'not-connected', 'no-access']);

/** One organization's refusal, which hides what others have under the same numbers: each is asked for alone then. */
function isOfOne({ answer }: RawFault): boolean {
  return answer !== null && ofOne.has(answer.kind);
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
      yield { fault: faultOf(listed.answer, null, organizationId) };
      continue;
    }
    // A number may be a machine's and an implement's, and in several organizations: each is a record of its own.
    const isNew = makeShownIds();
    for (const first of [...listed.addresses, ...listed.refused]) {
      const walk = { first, operation: 'equipment-list', reach, caller, embeds: [] } as const;
      for await (const line of itemsOf(parts, walk)) {
        if ('fault' in line) yield { fault: withEnd(line.fault) };
        else if (fits(line.item.body, filter) && isNew(oldNameOf(line.item.body))) yield line;
      }
    }
    for (const rel of listed.unshared) yield { fault: unlinked(reach, null, [rel]) };
  }
}

/** A list of the older endpoints that is not there. */
function withEnd(fault: RawFault): RawFault {
  return fault.answer?.kind === 'gone' ? { ...fault, detail: `${fault.detail}; ${mayHaveEnded}` } : fault;
}

function fits(body: unknown, { ids, serialNumbers, category, archived }: EquipmentFilter): boolean {
  const record = (body ?? {}) as Record<string, unknown>;
  const serialNumber = record.serialNumber ?? record.vin;
  return (
    (ids.length === 0 || ids.includes(idOf(body) ?? '')) &&
    (serialNumbers.length === 0 || serialNumbers.includes(String(serialNumber))) &&
    (category === null || String(record['@type']).toLowerCase() === category) &&
    (archived === null || (record.archived === true) === archived)
  );
}

/** Both filters are not sent together: what that would mean is not said. An entry without an id is shown as unreadable. */
function hasAskedSerial(body: unknown, { ids, serialNumbers }: EquipmentFilter): boolean {
  if (ids.length === 0 || serialNumbers.length === 0 || idOf(body) === null) return true;
  return serialNumbers.includes(String((body as Record<string, unknown>).serialNumber));
}

function oldNameOf(body: unknown): string | null {
  const id = idOf(body);
  return id === null ? null : `${(body as Record<string, unknown>)['@type']} ${id}`;
}

/** An item without a link of its own stands where its id says. */
function withAddress(item: RawItem, equipment: EquipmentAddresses): RawListed {
  const { body, address } = item;
  const id = idOf(body);
  const isOwn = !new URL(address).search.includes('itemLimit=');
  return { item: isOwn || id === null ? item : { ...item, address: equipment.record(id) } };
}

/** The first pages' addresses, in parts that fit: by ids, else by serial numbers, else all. */
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
  return ids.length > 0 ? parts('ids', ids) : parts('serialNumbers', serialNumbers);
}
