// One field operation with its measurements, made from the seed and its number: application, seeding, harvest, tillage.
// Promises the new form, metric, every measurement type included and no links; older forms and other units are derived
// from it elsewhere.
import type { JsonObject } from '../json';
import { applicationsFor, productEntry, totalEntry } from './application';
import { ERID_SALT, FIRST_EQUIPMENT_ID } from './equipment';
import { fieldHectares } from './fields';
import { quantity } from './quantities';
import { type Random, randomFor, round, uuidFor } from './random';
import { CROPS, type Crop, OPERATORS } from './vocabulary';

export const FIELD_OPERATION_SALT = 41;
const VARIETY_SALT = 42;
/** How many operations one field has. */
export const OPERATIONS_PER_FIELD = 8;

/** The work on a field in the order of its operations, so that small worlds show every kind. */
const WORK: readonly ('application' | 'seeding' | 'harvest' | 'tillage')[] = [
  'application',
  'application',
  'seeding',
  'harvest',
  'application',
  'tillage',
  'application',
  'harvest',
];

export interface OperationPlace {
  index: number;
  fieldIndex: number;
  /** Number within its organization, from 0. */
  position: number;
  organizationId: string;
  firstEquipment: number;
  equipmentCount: number;
}

/** The full operation at `place`; `orgId` is a number, as the provider sends it. */
export function fieldOperationContent(seed: number, place: OperationPlace): JsonObject {
  const random = randomFor(seed, 8, place.index);
  const work = WORK[place.position % WORK.length]!;
  const year = 2025 - (Math.floor(place.position / OPERATIONS_PER_FIELD) % 2);
  const crop = CROPS[place.fieldIndex % CROPS.length]!;
  const start = Date.UTC(
    year,
    { seeding: 3, application: 5, harvest: 8, tillage: 10 }[work],
    random.integer(1, 28),
    random.integer(5, 17),
    random.integer(0, 59),
    random.integer(0, 59),
    random.integer(0, 999),
  );
  const end = start + random.integer(20, 600) * 60_000;
  const hectares = round(fieldHectares(seed, place.fieldIndex) * (0.9 + random.next() * 0.1), 2);
  return {
    '@type': 'FieldOperation',
    id: uuidFor(seed, FIELD_OPERATION_SALT, place.index),
    orgId: Number(place.organizationId),
    fieldOperationType: work,
    adaptMachineType: 'unknown',
    cropSeason: String(year),
    startDate: new Date(start).toISOString(),
    endDate: new Date(end).toISOString(),
    modifiedTime: new Date(end + random.integer(5, 2_000) * 60_000).toISOString(),
    ...workDetails(seed, random, { work, crop, hectares, position: place.position }),
    fieldOperationMachines: machines(seed, random, place),
    tasks: [],
  };
}

interface Work {
  work: (typeof WORK)[number];
  crop: Crop;
  hectares: number;
  position: number;
}

function workDetails(seed: number, random: Random, { work, crop, hectares, position }: Work): JsonObject {
  if (work === 'tillage') return { measurementTypes: [] };
  if (work === 'application') return application(seed, random, hectares, position);
  const varieties = crop.varieties.slice(0, 1 + (position % crop.varieties.length)).map((variety, at) => ({
    guid: uuidFor(seed, VARIETY_SALT, CROPS.indexOf(crop) * 10 + at),
    productId: random.hex(32),
    ...variety,
  }));
  return {
    cropName: crop.name,
    varieties: varieties.map((variety) => ({
      '@type': 'Product',
      guid: variety.guid,
      productType: 'SEED',
      productId: variety.productId,
      name: variety.name,
      brand: variety.brand,
      tankMix: false,
    })),
    measurementTypes:
      work === 'seeding'
        ? seeding(random, crop, hectares, varieties)
        : harvest(random, crop, hectares, varieties),
  };
}

function application(seed: number, random: Random, hectares: number, position: number): JsonObject {
  const applications = applicationsFor(
    seed,
    random,
    position % 8 < 2 ? 1 : random.integer(1, 3),
    position % 2 === 1,
  );
  const speed = random.decimal(9, 24, 1);
  const measured = (name: string, category: string, share: number): JsonObject =>
    measurement(name, category, {
      varietyTotals: [],
      applicationProductTotals: applications.map((entry) => totalEntry(entry, hectares, speed, share)),
    });
  return {
    products: applications.map((entry) => productEntry(seed, entry)),
    measurementTypes: [
      measured('ApplicationRateResult', 'Result', 1),
      measured('ApplicationRateTarget', 'Target', 1.02),
    ],
  };
}

function measurement(name: string, category: string, values: JsonObject): JsonObject {
  return {
    '@type': 'FieldOperationMeasurement',
    measurementName: name,
    measurementCategory: category,
    ...values,
  };
}

type Variety = { guid: string; name: string };

function seeding(random: Random, crop: Crop, hectares: number, varieties: readonly Variety[]): JsonObject[] {
  const perHa = random.integer(crop.seedsPerHa[0], crop.seedsPerHa[1]);
  const totals = (area: number, rate: number): JsonObject => ({
    area: quantity(area, 'ha', 'vrTaskArea'),
    totalMaterial: quantity(Math.round(area * rate), 'seeds', 'vrTotalSeedsQuantityAppliedSeed'),
    averageMaterial: quantity(Math.round(rate), 'seeds1ha-1', 'vrSeedRateSeedsActual'),
  });
  const measured = (name: string, category: string, rate: number): JsonObject =>
    measurement(name, category, {
      ...totals(hectares, rate),
      varietyTotals: varieties.map((variety) =>
        varietyTotal(variety, totals(round(hectares / varieties.length, 2), rate)),
      ),
    });
  return [
    measured('SeedingRateResult', 'Result', perHa),
    measured('SeedingRateTarget', 'Target', perHa * 1.01),
  ];
}

function harvest(random: Random, crop: Crop, hectares: number, varieties: readonly Variety[]): JsonObject[] {
  const tonnesPerHa = random.decimal(crop.tonnesPerHa[0], crop.tonnesPerHa[1], 3);
  const moisture = random.decimal(crop.moisture[0], crop.moisture[1], 1);
  const speed = random.decimal(4, 8, 1);
  const totals = (area: number): JsonObject => ({
    area: quantity(area, 'ha', 'vrTaskArea'),
    yield: quantity(round(area * tonnesPerHa, 2), 't', 'vrTotalYieldMass'),
    averageYield: quantity(tonnesPerHa, 't1ha-1', 'vrYieldMass'),
    averageMoisture: quantity(moisture, 'prcnt', 'vrHarvestMoisture'),
    wetMass: quantity(round(area * tonnesPerHa * 1.06, 2), 't', 'vrTotalYieldWetMass'),
    averageWetMass: quantity(round(tonnesPerHa * 1.06, 3), 't1ha-1', 'vrYieldWetMass'),
    averageSpeed: quantity(speed, 'km1hr-1', 'vrVehicleSpeed'),
  });
  return [
    measurement('HarvestYieldResult', 'Result', {
      ...totals(hectares),
      varietyTotals: varieties.map((variety) =>
        varietyTotal(variety, totals(round(hectares / varieties.length, 2))),
      ),
    }),
  ];
}

function varietyTotal(variety: Variety, totals: JsonObject): JsonObject {
  return { '@type': 'VarietyTotal', varietyId: variety.guid, name: variety.name, ...totals };
}

function machines(seed: number, random: Random, place: OperationPlace): JsonObject[] {
  if (place.equipmentCount === 0) return [];
  const index = place.firstEquipment + random.integer(0, place.equipmentCount - 1);
  return [
    {
      '@type': 'FieldOperationMachine',
      vin: `1H0M${random.integer(100_000_000, 999_999_999)}`,
      GUID: uuidFor(seed, 43, index),
      erid: uuidFor(seed, ERID_SALT, index),
      machineId: FIRST_EQUIPMENT_ID + index,
      operators: [
        {
          '@type': 'Operator',
          name: random.pick(OPERATORS),
          operatorId: uuidFor(seed, 44, random.integer(1, 40)),
        },
      ],
    },
  ];
}
