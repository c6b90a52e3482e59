/**
 * Equipment: a machine or an implement of an organization, from the equipment API or from the machine and implement
 * endpoints before it: what both say is one document. Make, type, model and organization come as objects or alone in a
 * list; both are one. Connected devices and paired equipment are there only when they were asked for: absent is not empty.
 */
import { z } from 'zod';
import { foldOldEquipment, leftOutOfOld, machineCategories } from './old-equipment';
import {
  asRecord,
  type Facts,
  Fault,
  named,
  optional,
  ownValue,
  type Part,
  type Reading,
  required,
  shapeOf,
  single,
} from './reading';
import type { ResourceFacts } from './resource-facts';
import { flag, label, plainNumber, readId, text, time, word } from './scalars';
import { setBy } from './sets';

/** An entry of the provider's reference data. Whether a make is the provider's own is no fact about the machine. */
const reference = named(
  'reference',
  shapeOf(
    {
      id: optional('id', label),
      erid: optional('ERID', label),
      name: optional('name', text),
      certified: optional('certified', flag),
    },
    /OrSubsidiary$/,
  ),
);

const organizationRole = named(
  'organizationRole',
  shapeOf({
    type: optional('type', text),
    event: optional('event', text),
    effectiveTime: optional('effectiveTS', time),
    inPossession: optional('inPossession', flag),
  }),
);

const pairingDetails = named(
  'pairingDetails',
  shapeOf({
    paired: optional('paired', flag),
    associationTime: optional('associationTimestamp', time),
    disassociationTime: optional('disassociationTimestamp', time),
    confirmationTime: optional('confirmationTimestamp', time),
    location: optional(
      'location',
      shapeOf({ lat: optional('lat', plainNumber), lon: optional('lon', plainNumber) }),
    ),
  }),
);

const device = shapeOf({
  id: optional('id', label),
  deviceType: optional('@type', text),
  principalId: optional('principalId', label),
  serialNumber: optional('serialNumber', text),
  make: optional('make', single(reference)),
  type: optional('type', single(reference)),
  model: optional('model', single(reference)),
  archived: optional('archived', flag),
  decommissioned: optional('decommissioned', flag),
  stolen: optional('stolen', flag),
  pairingStatus: optional('pairingStatus', text),
  organizationRole: optional('organizationRole', organizationRole),
  pairingDetails: optional('pairingDetails', pairingDetails),
});

const deviceSet = setBy(device, 'id', 'principalId', 'serialNumber');

/** Another piece of equipment, as far as it is named here; it has a record of its own. */
const related = named(
  'relatedEquipment',
  shapeOf({
    id: optional('id', label),
    category: optional('@type', word),
    principalId: optional('principalId', label),
    erid: optional('ERID', label),
    name: optional('name', text),
    serialNumber: optional('serialNumber', text),
    make: optional('make', single(reference)),
    type: optional('type', single(reference)),
    model: optional('model', single(reference)),
    pairingDetails: optional('pairingDetails', pairingDetails),
  }),
);

const relatedSet = setBy(related, 'id', 'erid', 'principalId');

const icon = shapeOf({
  name: optional('name', text),
  style: optional(
    'iconStyle',
    shapeOf({
      primaryColor: optional('primaryColor', text),
      secondaryColor: optional('secondaryColor', text),
    }),
  ),
});

const alternateIdentifiers: Part = setBy(
  shapeOf({ type: optional('type', text), value: optional('value', text) }),
  'type',
);

/** The two values of the contract; the entry of this room lets no other type come here. */
const category: Part = { schema: z.enum(['machine', 'implement']), read: word.read };

const published = {
  category: required('@type', category),
  name: optional('name', text),
  isoName: optional('isoName', text),
  principalId: optional('principalId', label),
  erid: optional('ERID', label),
  serialNumber: optional('serialNumber', text),
  serialNumberCertified: optional('isSerialNumberCertified', flag),
  engineSerialNumber: optional('engineSerialNumber', text),
  modelYear: optional('modelYear', label),
  make: optional('make', single(reference)),
  type: optional('type', single(reference)),
  isgType: optional('isgType', single(reference)),
  model: optional('model', single(reference)),
  organizationRole: optional('organizationRole', organizationRole),
  telematicsCapable: optional('telematicsCapable', flag),
  isCsc: optional('isCsc', flag),
  archived: optional('archived', flag),
  archivedTime: optional('archivedTimestamp', time),
  alternateIdentifiers: optional('alternateIdentifiers', alternateIdentifiers),
  icon: optional('icon', icon),
  devices: optional('devices', deviceSet, 'Connected devices. Absent when not asked for.'),
  pairingDetails: optional('pairingDetails', pairingDetails),
  mergedEquipment: optional('mergedEquipment', relatedSet),
};

/** Machines name their implements, implements their machine; both are published as `pairedEquipment`. */
const sent = shapeOf(
  {
    ...published,
    implements: optional('implements', relatedSet),
    machine: optional('machine', single(related)),
    oldErid: optional('GUID', label),
    oldSerialNumber: optional('vin', text),
    oldMake: optional('equipmentMake', single(reference)),
    oldType: optional('equipmentType', single(reference)),
    oldIsgType: optional('equipmentISGType', single(reference)),
    oldModel: optional('equipmentModel', single(reference)),
    oldDevices: optional('terminals', deviceSet),
    oldCategories: optional('machineCategories', machineCategories),
  },
  new RegExp(`^(?:id|organization)$|${leftOutOfOld.source}`),
);

/** The schema of the facts; `sent` differs only by how paired equipment comes. */
export const equipmentFacts = shapeOf({
  ...published,
  pairedEquipment: optional('implements', relatedSet, "A machine's implements, or an implement's machine."),
}).schema;

/** Reads a document whose `@type` is Machine or Implement. Throws `Fault`. */
export function readEquipment(body: unknown, reading: Reading): ResourceFacts {
  const record = asRecord(body, '');
  const id = readId(ownValue(record, 'id'), '/id');
  const organizationId = readOrganization(record);
  const facts = sent.read(record, '', reading);
  joinPaired(facts);
  foldOldEquipment(facts);
  // The equipment representation has no time of modification.
  return { id, organizationId, facts, modifiedTime: null, archived: facts.archived === true };
}

function readOrganization(record: Facts): string {
  const name =
    record.organization == null && record.owningOrganization != null ? 'owningOrganization' : 'organization';
  const sentAs = ownValue(record, name);
  const list = Array.isArray(sentAs) ? sentAs : [sentAs];
  const path = Array.isArray(sentAs) ? `/${name}/0` : `/${name}`;
  if (list.length > 1) throw new Fault(`/${name}`, 'wrong-type', 'expected one entry, got several');
  const [organization] = list;
  if (organization === undefined || organization === null) {
    throw new Fault('/organization', 'required', 'expected an organization, got none');
  }
  return readId(ownValue(asRecord(organization, path), 'id'), `${path}/id`);
}

function joinPaired(facts: Facts): void {
  const { implements: paired, machine } = facts;
  delete facts.implements;
  delete facts.machine;
  if (paired === undefined && machine === undefined) return;
  const all = [...(Array.isArray(paired) ? paired : []), ...(machine ? [machine] : [])];
  facts.pairedEquipment = all.length === 0 && !Array.isArray(paired) ? null : all;
}
