// One piece of equipment as the provider's new API describes it, made from the seed and its number.
// Promises the full record, every embed included; what a request did not ask for is taken away elsewhere.
import type { Json, JsonObject } from '../json';
import { type Random, randomFor, uuidFor } from './random';
import { IMPLEMENT_MODELS, MACHINE_MODELS, type Model, makeOf, type Named, typeOf } from './vocabulary';

export const FIRST_EQUIPMENT_ID = 217_001;
/** `principalId` (the physical thing) lies this far below `id` (the organization's record of it). */
export const PRINCIPAL_DISTANCE = 135_000;
/** `ERID`s are made with this; a record can be addressed by its id or by its ERID. */
export const ERID_SALT = 11;

/** Every third piece is an implement; each pairs with the machine before it. */
export function isImplement(position: number): boolean {
  return position % 3 === 2;
}

/** Every fifteenth piece is archived. */
export function isArchived(position: number): boolean {
  return position % 15 === 14;
}

/** The serial number alone, cheap enough to search through tens of thousands. Every 25th is shared between organizations. */
export function serialNumberFor(index: number, position: number): string {
  const number = position % 25 === 24 ? position : index;
  return `1H0${isImplement(position) ? 'A' : 'M'}${(6_800_000 + number * 37).toString().padStart(9, '0')}`;
}

export interface EquipmentPlace {
  index: number;
  /** Number within its organization, from 0. */
  position: number;
  perOrganization: number;
  organizationId: string;
}

/** The full record of the equipment at `place`: ids are numbers, make, type, model and organization are objects. */
export function equipmentContent(seed: number, place: EquipmentPlace): JsonObject {
  const { index, position, organizationId } = place;
  const random = randomFor(seed, 2, index);
  const implement = isImplement(position);
  const model = random.pick(implement ? IMPLEMENT_MODELS : MACHINE_MODELS);
  const archived = isArchived(position);
  const paired = pairedWith(place);
  return {
    '@type': implement ? 'Implement' : 'Machine',
    id: FIRST_EQUIPMENT_ID + index,
    principalId: FIRST_EQUIPMENT_ID + index - PRINCIPAL_DISTANCE,
    ERID: uuidFor(seed, ERID_SALT, index),
    name: `${typeOf(model).name.split(' ').at(-1)} ${position + 1}`,
    isoName: random.hex(16).toUpperCase(),
    serialNumber: serialNumberFor(index, position),
    ...(implement
      ? {}
      : { engineSerialNumber: `RG61${random.integer(100_000, 999_999)}L${random.hex(4).toUpperCase()}` }),
    isSerialNumberCertified: random.next() < 0.9,
    modelYear: String(random.integer(2008, 2025)),
    ...modelReferences(seed, model),
    organization: { '@type': 'Resource', id: Number(organizationId) },
    organizationRole: {
      type: 'Controlling',
      event: 'CREATION',
      effectiveTS: timeIn(random, 2023),
      inPossession: true,
    },
    telematicsCapable: !implement,
    archived,
    archivedTimestamp: archived ? timeIn(random, 2024) : null,
    isCsc: false,
    alternateIdentifiers: [{ type: 'serialNumber', value: serialNumberFor(index, position) }],
    icon: {
      name: typeOf(model).name.toLowerCase().replaceAll(' ', '_'),
      iconStyle: { primaryColor: '#2f6f3e', secondaryColor: '#f2c14e' },
    },
    devices: implement ? [] : [device(seed, random, index)],
    ...pairedEquipment(seed, place, paired),
    pairingDetails: pairingDetails(random, paired !== undefined),
    mergedEquipment: [],
  };
}

/** Make, type, ISG type and model as they stand in a record. */
export function modelReferences(seed: number, model: Model): JsonObject {
  const type = typeOf(model);
  return {
    make: reference(seed, 'EquipmentMake', makeOf(model), {
      certified: true,
      harrowOrSubsidiary: model.makeId === 1,
    }),
    type: reference(seed, 'EquipmentType', type, {}),
    isgType: reference(seed, 'EquipmentISGType', { id: type.id % 100, name: type.name }, {}),
    model: reference(seed, 'EquipmentModel', model, { certified: true }),
  };
}

/** A make, type or model as it stands in records and in the reference lists. */
export function reference(seed: number, kind: string, named: Named, more: JsonObject): JsonObject {
  return {
    '@type': kind,
    id: named.id,
    ERID: uuidFor(seed, kind.length * 31, named.id),
    name: named.name,
    ...more,
  };
}

/** The number of the equipment that the one at `place` is paired with, if there is one. */
function pairedWith(place: EquipmentPlace): number | undefined {
  if (isImplement(place.position)) return place.index - 1;
  const next = place.position + 1;
  return isImplement(next) && next < place.perOrganization ? place.index + 1 : undefined;
}

function pairedEquipment(seed: number, place: EquipmentPlace, paired: number | undefined): JsonObject {
  const implement = isImplement(place.position);
  if (paired === undefined) return implement ? {} : { implements: [] };
  const position = place.position + (implement ? -1 : 1);
  const summary: JsonObject = {
    '@type': implement ? 'Machine' : 'Implement',
    id: FIRST_EQUIPMENT_ID + paired,
    principalId: FIRST_EQUIPMENT_ID + paired - PRINCIPAL_DISTANCE,
    ERID: uuidFor(seed, ERID_SALT, paired),
    serialNumber: serialNumberFor(paired, position),
    pairingDetails: pairingDetails(randomFor(seed, 4, paired), true),
  };
  return implement ? { machine: summary } : { implements: [summary] };
}

function device(seed: number, random: Random, index: number): Json {
  return {
    '@type': 'TelematicsGateway',
    id: 82_044 + index,
    principalId: 82_044 + index,
    serialNumber: `PCMTG3${random.integer(100_000, 999_999)}`,
    make: reference(seed, 'EquipmentMake', { id: 1, name: 'Harrow' }, {}),
    type: reference(seed, 'EquipmentType', { id: 181, name: 'Modular Telematics Gateway' }, {}),
    model: reference(
      seed,
      'EquipmentModel',
      { id: 61_120, name: random.pick(['MTG 4G LTE', 'MTG 3G', 'M-Modem']) },
      {},
    ),
    archived: false,
    decommissioned: false,
    stolen: false,
    pairingStatus: random.next() < 0.95 ? 'PAIRED' : 'PENDING_PAIRING',
    organizationRole: { type: 'Controlling' },
    pairingDetails: pairingDetails(random, true),
  };
}

function pairingDetails(random: Random, paired: boolean): JsonObject {
  return {
    paired,
    associationTimestamp: paired ? timeIn(random, 2024) : null,
    disassociationTimestamp: null,
    confirmationTimestamp: null,
    location: { lat: random.decimal(38, 47, 6), lon: random.decimal(-98, -86, 6) },
  };
}

function timeIn(random: Random, year: number): string {
  return new Date(
    Date.UTC(
      year,
      random.integer(0, 11),
      random.integer(1, 28),
      random.integer(5, 20),
      random.integer(0, 59),
    ),
  ).toISOString();
}
