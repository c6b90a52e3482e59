/**
 * What is read and written on a person's behalf, joined from the parts of this room: the same gate, catalog, signatures
 * and choice of connection as every other call. Listings are streamed, each page under a deadline of its own.
 */
import type { ProviderData } from '../model/provider-data';
import type { Line } from './ask';
import type { Callers } from './caller';
import type { EquipmentAddresses } from './equipment-addresses';
import { makeFileContent } from './file-ranges';
import { makeFiles } from './files';
import type { Gate } from './gate';
import { listEquipment } from './list-equipment';
import { listFieldOperations } from './list-field-operations';
import { makeMeasurements } from './measurements';
import type { OldEquipment } from './old-equipment';
import type { ProviderDoors, ProviderOptions } from './options';
import type { Organizations } from './organizations';
import type { Pages } from './pages';
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
  const { options, callers } = parts;
  const { timeoutMs, listsAtOnce } = options;
  const alone = () => callers.alone(timeoutMs);
  const rangeBytes = Math.min(rangeBytesMax, options.bodyBytesMax);
  const catalogUrl = new URL(options.catalogUrl);
  const readRecord = makeReadRecord({ ...parts, timeoutMs, catalogUrl });
  const readResource = parts.readWrittenEquipment;
  const readWritten = makeReadRecord({ ...parts, readResource, timeoutMs, catalogUrl });
  const equipment = makeWriteEquipment({ ...parts, readRecord: readWritten, timeoutMs });
  const files = makeFiles({ ...parts, timeoutMs, listsAtOnce });
  return {
    equipment: (filter) => listEquipment(parts, filter, alone()),
    equipmentRecord: (id, organizationId) => readRecord('equipment', id, organizationId),
    createEquipment: equipment.create,
    updateEquipment: equipment.update,
    reference: makeReference({ ...parts, caller: alone }),
    fieldOperations: (filter) => listFieldOperations(parts, filter, alone()),
    fieldOperation: (id, organizationId) => readRecord('field-operation', id, organizationId),
    measurements: makeMeasurements({ ...parts, readRecord, caller: alone }),
    files: files.list,
    file: files.file,
    fileContent: makeFileContent({ ...parts, timeoutMs, rangeBytes, find: files.find }),
  };
}
