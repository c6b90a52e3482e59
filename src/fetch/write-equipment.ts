/**
 * Equipment written: created in an organization, or changed. What is not wished is sent back as it stands, since the
 * provider takes the whole of what a client may write. A success is read back, so that what is shown is the provider's.
 */
import type { Connection } from '../model/connection';
import type { AcceptedView, EquipmentWish, RawItem, RawRead } from '../model/provider-data';
import type { EquipmentAddresses } from './equipment-addresses';
import { idAt } from './equipment-ids';
import type { ProviderDoors } from './options';
import { organizationReaches } from './reach';
import type { ReadRecord } from './read-record';
import { makeWriteDocument, type WriteParts, type Written } from './write-document';

export interface WriteEquipmentParts extends WriteParts {
  doors: ProviderDoors;
  equipment: EquipmentAddresses;
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
    if ('fault' in written) return written;
    const id = idOf(written.value);
    const accepted: AcceptedView = { id, organizationId, visible: false };
    // 202, or a 201 that does not say where: accepted, and not to be seen yet.
    if (id === null) return { value: accepted };
    const read = await readRecord('equipment', id, organizationId);
    return 'fault' in read && read.fault.answer?.kind === 'gone' ? { value: accepted } : read;
  }

  async function update(
    id: string,
    organizationId: string | null,
    wish: EquipmentWish,
  ): Promise<RawRead<RawItem>> {
    const { doors, equipment, readRecord } = parts;
    const before = await readRecord('equipment', id, organizationId);
    if ('fault' in before) return before;
    const { connectionId, body: known } = before.value;
    const connection = doors.connections().find((one) => one.connectionId === connectionId) as Connection;
    const current = (known ?? {}) as Record<string, unknown>;
    const reach = { connection, organizationId: organizationId ?? ownerOf(current) };
    const ownId = await idAt('new', id, doors);
    const body = { id: ownId, ...bodyOf(wish, current) };
    const written = await write({ method: 'PUT', address: equipment.record(ownId), operation, body }, reach);
    return 'fault' in written ? written : readRecord('equipment', id, organizationId);
  }

  return { create, update };
}

const kept = ['name', 'serialNumber', 'make', 'type', 'model', 'icon'] as const;
const typeNames = { make: 'EquipmentMake', type: 'EquipmentType', model: 'EquipmentModel' } as const;

function bodyOf(wish: EquipmentWish, current: Record<string, unknown>): Record<string, unknown> {
  const body: Record<string, unknown> = { '@type': categoryOf(wish, current) };
  for (const name of kept) {
    const value = single(current[name]);
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

function categoryOf({ category }: EquipmentWish, current: Record<string, unknown>): unknown {
  if (category === null) return current['@type'] ?? 'Machine';
  return category === 'machine' ? 'Machine' : 'Implement';
}

/** Some records wrap what is one thing in a list. */
function single(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function ownerOf(record: Record<string, unknown>): string | null {
  const { id } = (single(record.organization) ?? {}) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null;
}

/** Of the body, else the last segment of the location. */
function idOf({ location, body }: Written): string | null {
  const { id } = (body ?? {}) as { id?: unknown };
  if (typeof id === 'string' || typeof id === 'number') return String(id);
  const path = location?.split(/[?#]/, 1)[0]?.replace(/\/+$/, '') ?? '';
  const last = path.slice(path.lastIndexOf('/') + 1);
  try {
    return last === '' ? null : decodeURIComponent(last);
  } catch {
    return null;
  }
}
