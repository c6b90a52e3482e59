/**
 * Equipment written: created in an organization, or changed. What is not wished is sent back as it stands, since the
 * provider takes the whole of what a client may write; but not what speaks against the wish. A success is read back, so
 * that what is shown is the provider's, and is none where the provider does not show what was wished. Both are read where
 * they are written, in the equipment API: the older endpoints name what a client may write otherwise.
 */

import type { Connection } from '../model/connection';
import { idText } from '../model/id-text';
import type { AcceptedView, EquipmentWish, RawItem, RawRead } from '../model/provider-data';
import { withoutEndSlashes } from '../model/without-end-slashes';
import type { EquipmentAddresses } from './equipment-addresses';
import { mayShow } from './equipment-ids';
import type { ProviderDoors } from './options';
import { faultOf, organizationReaches } from './reach';
import type { ReadRecord } from './read-record';
import { isReferenceTo, singleOf, unkeptWish } from './unkept-wish';
import { asUnanswered, makeWriteDocument, type WriteParts, type Written } from './write-document';

export interface WriteEquipmentParts extends WriteParts {
  doors: ProviderDoors;
  equipment: EquipmentAddresses;
  /** In the equipment API alone. */
  readRecord: ReadRecord;
}

/** Neither rejects but as the store does. A write is sent once: whether it was acted upon without an answer, a list tells. */
export function makeWriteEquipment(parts: WriteEquipmentParts) {
  const write = makeWriteDocument(parts);
  const operation = 'equipment-write';

  async function create(
    organizationId: string,
    wish: EquipmentWish,
  ): Promise<RawRead<RawItem | AcceptedView>> {
    const { doors, equipment, readRecord } = parts;
    const [reached] = organizationReaches(doors, [organizationId]);
    if (reached === undefined || 'fault' in reached) return reached as RawRead<never>;
    const address = equipment.ofOrganization(organizationId);
    const written = await write(
      { method: 'POST', address, operation, body: bodyOf(wish, {}) },
      reached.reach,
    );
    // A serial number is not required: asked for again, it may be there twice.
    if ('fault' in written) return { fault: asUnanswered(written.fault, 'equipment list') };
    const id = idOf(written.value);
    const accepted: AcceptedView = { id, organizationId, visible: false };
    // 202, or a 201 that does not say where: accepted, and not to be seen yet.
    if (id === null) return { value: accepted };
    const read = await readRecord('equipment', id, organizationId);
    // What was taken is none that failed, whatever keeps it from being read.
    if ('fault' in read) return { value: accepted };
    return asWished(read.value, wish, organizationId);
  }

  async function update(
    id: string,
    organizationId: string | null,
    wish: EquipmentWish,
  ): Promise<RawRead<RawItem>> {
    const { doors, equipment, readRecord } = parts;
    const records = (await doors.equipmentRecords?.({ id, as: 'known' })) ?? [];
    const seenAs = records.find(({ side }) => side === 'new')?.id ?? null;
    const before = await readRecord('equipment', seenAs ?? id, organizationId);
    if ('fault' in before) return before;
    const { connectionId, body: known } = before.value;
    const connection = doors.connections().find((one) => one.connectionId === connectionId) as Connection;
    const current = (known ?? {}) as Record<string, unknown>;
    // Where it was seen at the older endpoints alone, its number may be another's in the equipment API.
    if (seenAs === null && !mayShow(current, records)) return anotherPiece(before.value, organizationId);
    const owner = ownerOf(current);
    if (organizationId !== null && owner !== null && owner !== organizationId) {
      const { origin } = new URL(before.value.address);
      const answer = { kind: 'gone', certain: false, connectionId, origin } as const;
      const detail = `it is in organization ${owner}, not in ${organizationId}`;
      return { fault: { ...faultOf(answer, before.value.address, organizationId), detail } };
    }
    const reach = { connection, organizationId: organizationId ?? owner };
    const ownId = String(current.id ?? seenAs ?? id);
    const body = { id: ownId, ...bodyOf(wish, current) };
    const written = await write({ method: 'PUT', address: equipment.record(ownId), operation, body }, reach);
    if ('fault' in written) return written;
    const after = await readRecord('equipment', ownId, organizationId);
    return 'fault' in after ? after : asWished(after.value, wish, organizationId);
  }

  return { create, update };
}

/** A success only where the provider shows what was wished. */
function asWished(item: RawItem, wish: EquipmentWish, organizationId: string | null): RawRead<RawItem> {
  const unkept = unkeptWish(wish, item.body);
  if (unkept === null) return { value: item };
  const detail = `the provider took it without a refusal, but shows ${unkept}`;
  return refusedAt(item, 'not-as-wished', detail, organizationId);
}

function anotherPiece(item: RawItem, organizationId: string | null): RawRead<never> {
  const detail =
    'that number is another piece of equipment in the equipment API; a sync of it tells which is meant';
  return refusedAt(item, 'another-piece', detail, organizationId);
}

function refusedAt(
  { address, connectionId }: RawItem,
  code: string,
  detail: string,
  organizationId: string | null,
): RawRead<never> {
  const { origin } = new URL(address);
  return { fault: faultOf({ kind: 'refused', code, detail, origin, connectionId }, address, organizationId) };
}

const kept = ['name', 'serialNumber', 'make', 'type', 'model', 'icon'] as const;
const typeNames = { make: 'EquipmentMake', type: 'EquipmentType', model: 'EquipmentModel' } as const;

function bodyOf(wish: EquipmentWish, current: Record<string, unknown>): Record<string, unknown> {
  const body: Record<string, unknown> = { '@type': categoryOf(wish, current) };
  const left = contradicted(wish, current);
  for (const name of kept) {
    if (left.includes(name)) continue;
    const value = singleOf(current[name]);
    if (value !== undefined && value !== null) body[name] = value;
  }
  if (wish.name !== null) body.name = wish.name;
  if (wish.serialNumber !== null) body.serialNumber = wish.serialNumber;
  for (const name of ['make', 'type', 'model'] as const) {
    const id = wish[`${name}Id`];
    if (id !== null) body[name] = { '@type': typeNames[name], id: /^\d{1,15}$/.test(id) ? Number(id) : id };
  }
  return body;
}

/** A model has one make and one type: what stood there before does not go with another. */
function contradicted(
  { makeId, typeId, modelId }: EquipmentWish,
  { make, type, model }: Record<string, unknown>,
): string[] {
  if (modelId !== null) return isReferenceTo(model, modelId) ? [] : ['make', 'type'];
  const isOther =
    (makeId !== null && !isReferenceTo(make, makeId)) || (typeId !== null && !isReferenceTo(type, typeId));
  return isOther ? ['model'] : [];
}

function categoryOf({ category }: EquipmentWish, current: Record<string, unknown>): unknown {
  if (category === null) return current['@type'] ?? 'Machine';
  return category === 'machine' ? 'Machine' : 'Implement';
}

function ownerOf(record: Record<string, unknown>): string | null {
  const { id } = (singleOf(record.organization ?? record.owningOrganization) ?? {}) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null;
}

/** Of the body, else the last segment of the location. */
function idOf({ location, body }: Written): string | null {
  const id = idText((body as { id?: unknown } | null | undefined)?.id);
  if (id !== null) return id;
  const path = withoutEndSlashes(location?.split(/[?#]/, 1)[0] ?? '');
  const last = path.slice(path.lastIndexOf('/') + 1);
  try {
    return last === '' ? null : decodeURIComponent(last);
  } catch {
    return null;
  }
}
