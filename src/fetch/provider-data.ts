/**
 * What is read and written on a person's behalf, joined from the parts of this room: the same gate, catalog, signatures
 * and choice of connection as every other call. Listings are streamed, each page under a deadline of its own.
 */
import type { ProviderData, RawItem, RawRead } from '../model/provider-data';
import type { Line } from './ask';
import type { Callers } from './caller';
import type { EquipmentAddresses } from './equipment-addresses';
import { makeFileContent } from './file-ranges';
import { makeFiles } from './files';
import type { Gate } from './gate';
import { linksOf } from './links';
import { listEquipment } from './list-equipment';
import { listFieldOperations } from './list-field-operations';
import type { OldEquipment } from './old-equipment';
import type { ProviderDoors, ProviderOptions } from './options';
import type { Organizations } from './organizations';
import type { Pages } from './pages';
import { faultOf, itemsOf } from './reach';
import { makeReadRecord } from './read-record';
import type { ReadResource } from './read-resource';
import { makeReference } from './reference-data';
import type { Relocate } from './relocate';
import { makeWriteEquipment } from './write-equipment';

export interface DataParts {
  options: ProviderOptions;
  doors: ProviderDoors;
  gate: Gate;
  line: Line;
  callers: Callers;
  pages: Pages;
  organizations: Organizations;
  equipment: EquipmentAddresses;
  oldEquipment: OldEquipment | null;
  relocate: Relocate;
  readResource: ReadResource;
  /** Of equipment, in the equipment API alone. */
  readWrittenEquipment: ReadResource;
}

/** A range of a file; smaller where answers may not be that large. */
const rangeBytesMax = 4 * 1024 * 1024;

/** A file is read in ranges of at most 4 MiB. */
export function makeProviderData(parts: DataParts): ProviderData {
  const { options, doors, callers } = parts;
  const { timeoutMs, listsAtOnce } = options;
  const alone = () => callers.alone(timeoutMs);
  const rangeBytes = Math.min(rangeBytesMax, options.bodyBytesMax);
  const catalogUrl = new URL(options.catalogUrl);
  const readRecord = makeReadRecord({ ...parts, timeoutMs, catalogUrl });
  const readResource = parts.readWrittenEquipment;
  const readWritten = makeReadRecord({ ...parts, readResource, timeoutMs, catalogUrl });
  const equipment = makeWriteEquipment({ ...parts, readRecord: readWritten, timeoutMs });
  const reference = makeReference({ ...parts, caller: alone });
  const files = makeFiles({ ...parts, timeoutMs, listsAtOnce });

  async function measurements(
    id: string,
    organizationId: string | null,
    name: string | null,
  ): Promise<RawRead<{ operation: RawItem; values: unknown[] }>> {
    const read = await readRecord('field-operation', id, organizationId);
    if ('fault' in read) return read;
    const operation = read.value;
    const first = linksOf(operation.body).get('measurementTypes');
    const connection = doors
      .connections()
      .find(({ connectionId }) => connectionId === operation.connectionId);
    if (first === undefined || connection === undefined) {
      const { connectionId, address } = operation;
      const message = 'the operation has no relationship `measurementTypes`';
      return { fault: faultOf({ kind: 'no-access', connectionId, message }, address, organizationId) };
    }
    const reach = { connection, organizationId };
    const values: unknown[] = [];
    const walk = { operation: 'field-operation', reach, caller: alone(), embeds: [] } as const;
    for await (const line of itemsOf(parts, { ...walk, first })) {
      if ('fault' in line) return line;
      const { body } = line.item;
      if (name === null) values.push(body);
      else if (measurementNameOf(body) === name)
        return readOne(parts, operation, body, connection, walk.caller);
    }
    if (name === null) return { value: { operation, values } };
    const origin = URL.parse(first)?.origin ?? '';
    const { connectionId } = connection;
    return {
      fault: faultOf({ kind: 'gone', certain: false, connectionId, origin }, first, organizationId),
    };
  }

  return {
    equipment: (filter) => listEquipment(parts, filter, alone()),
    equipmentRecord: (id, organizationId) => readRecord('equipment', id, organizationId),
    createEquipment: equipment.create,
    updateEquipment: equipment.update,
    reference,
    fieldOperations: (filter) => listFieldOperations(parts, filter, alone()),
    fieldOperation: (id, organizationId) => readRecord('field-operation', id, organizationId),
    measurements,
    files: files.list,
    file: files.file,
    fileContent: makeFileContent({ ...parts, timeoutMs, rangeBytes, find: files.find }),
  };
}

function measurementNameOf(body: unknown): unknown {
  return (body as { measurementName?: unknown } | null)?.measurementName;
}

/** One measurement type at its own address; as it is listed where it names none. */
async function readOne(
  { gate }: DataParts,
  operation: RawItem,
  listed: unknown,
  connection: NonNullable<ReturnType<ProviderDoors['connections']>[number]>,
  caller: ReturnType<Callers['alone']>,
): Promise<RawRead<{ operation: RawItem; values: unknown[] }>> {
  const address = linksOf(listed).get('self');
  if (address === undefined) return { value: { operation, values: [listed] } };
  const admission = gate.admit(address);
  if (!admission.admitted) {
    const { code, detail } = admission;
    return { fault: faultOf({ kind: 'address-refused', code, detail }, address, null) };
  }
  const verdict = await caller.call({ url: admission.url, operation: 'field-operation', connection });
  if (verdict.kind === 'ok') return { value: { operation, values: [verdict.document.body] } };
  const { connectionId } = connection;
  const answer =
    verdict.kind === 'forbidden'
      ? ({ kind: 'no-access', connectionId, message: verdict.message } as const)
      : verdict;
  return { fault: faultOf(answer, address, null) };
}
