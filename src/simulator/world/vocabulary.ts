// The words of the invented farming world: makes, models, products, varieties, people, places.
// Only constants. Makes and trade names are invented; units, rates and active ingredients are of realistic size.

export interface Model {
  id: number;
  name: string;
  makeId: number;
  typeId: number;
}

export interface Named {
  id: number;
  name: string;
}

export const MAKES: readonly Named[] = [
  { id: 1, name: 'Harrow' },
  { id: 14, name: 'Veldkamp' },
  { id: 27, name: 'Lindqvist' },
  { id: 33, name: 'Prairie Star' },
  { id: 58, name: 'Ostrava Agro' },
];

export const TYPES: readonly (Named & { category: 'Machine' | 'Implement'; marketSegment: string })[] = [
  { id: 219, name: 'Four-wheel Drive Tractor', category: 'Machine', marketSegment: 'Agriculture' },
  { id: 222, name: 'Combine', category: 'Machine', marketSegment: 'Agriculture' },
  { id: 230, name: 'Self-propelled Sprayer', category: 'Machine', marketSegment: 'Agriculture' },
  { id: 301, name: 'Planter', category: 'Implement', marketSegment: 'Agriculture' },
  { id: 305, name: 'Pull-type Sprayer', category: 'Implement', marketSegment: 'Agriculture' },
  { id: 312, name: 'Disc Harrow', category: 'Implement', marketSegment: 'Agriculture' },
];

export const MODELS: readonly Model[] = [
  { id: 65001, name: 'H8 340', makeId: 1, typeId: 219 },
  { id: 65002, name: 'H9 520', makeId: 1, typeId: 219 },
  { id: 65014, name: 'C680', makeId: 1, typeId: 222 },
  { id: 65015, name: 'C790 Hillside', makeId: 33, typeId: 222 },
  { id: 65021, name: 'Boomer 4036', makeId: 14, typeId: 230 },
  { id: 65022, name: 'R4140i', makeId: 1, typeId: 230 },
  { id: 65033, name: 'VX 7430', makeId: 27, typeId: 219 },
  { id: 66280, name: 'DB60 24Row30', makeId: 1, typeId: 301 },
  { id: 66281, name: 'Precisa 12', makeId: 58, typeId: 301 },
  { id: 66294, name: 'M732i 36 m', makeId: 14, typeId: 305 },
  { id: 66301, name: 'Carrier 820', makeId: 27, typeId: 312 },
  { id: 66302, name: 'RT 3070', makeId: 58, typeId: 312 },
];

export const MACHINE_MODELS = MODELS.filter((model) => typeOf(model).category === 'Machine');
export const IMPLEMENT_MODELS = MODELS.filter((model) => typeOf(model).category === 'Implement');

export function typeOf(model: Model): (typeof TYPES)[number] {
  return TYPES.find((type) => type.id === model.typeId)!;
}

export function makeOf(model: Model): Named {
  return MAKES.find((make) => make.id === model.makeId)!;
}

/** Crop protection and nutrients; the rate is litres a hectare, least and most. */
export const PRODUCTS: readonly {
  name: string;
  registration: string;
  litresPerHa: readonly [number, number];
}[] = [
  { name: 'Glyphosate 480 SL', registration: '62719-556', litresPerHa: [1.5, 4] },
  { name: 'Prothioconazole 250 EC', registration: '264-825', litresPerHa: [0.4, 0.8] },
  { name: 'Tebuconazole 430 SC', registration: '264-752', litresPerHa: [0.2, 0.6] },
  { name: 'Lambda-cyhalothrin 100 CS', registration: '100-1112', litresPerHa: [0.05, 0.1] },
  { name: 'S-metolachlor 960 EC', registration: '100-816', litresPerHa: [1, 1.6] },
  { name: '2,4-D Amine 600', registration: '228-145', litresPerHa: [0.6, 1.2] },
  { name: 'Ammonium Sulfate 34 %', registration: '---', litresPerHa: [2, 4] },
  { name: 'Methylated Seed Oil', registration: '---', litresPerHa: [0.5, 1] },
  { name: 'UAN 32', registration: '---', litresPerHa: [90, 220] },
];

export const TANK_MIXES: readonly string[] = [
  'Burndown A',
  'T1 Fungicide',
  'Post-emerge Corn',
  'Fall Cleanup',
  'T2 Wheat',
];

export interface Crop {
  name: string;
  seedsPerHa: readonly [number, number];
  tonnesPerHa: readonly [number, number];
  moisture: readonly [number, number];
  tonnesPerCubicMetre: number;
  varieties: readonly { name: string; brand: string }[];
}

export const CROPS: readonly Crop[] = [
  {
    name: 'CORN_WET',
    seedsPerHa: [72_000, 89_000],
    tonnesPerHa: [8, 14.5],
    moisture: [15, 24],
    tonnesPerCubicMetre: 0.72,
    varieties: [
      { name: 'PX 9540 AM', brand: 'Northrow' },
      { name: 'DK 62-89 RIB', brand: 'Castell' },
      { name: 'LG 31.207', brand: '---' },
    ],
  },
  {
    name: 'SOYBEANS',
    seedsPerHa: [320_000, 420_000],
    tonnesPerHa: [2.4, 4.6],
    moisture: [11, 15],
    tonnesPerCubicMetre: 0.77,
    varieties: [
      { name: 'S24-K2', brand: 'Castell' },
      { name: 'AG 36X6', brand: 'Northrow' },
    ],
  },
  {
    name: 'WHEAT_WINTER',
    seedsPerHa: [2_400_000, 3_600_000],
    tonnesPerHa: [5, 10.5],
    moisture: [12, 17],
    tonnesPerCubicMetre: 0.78,
    varieties: [
      { name: 'Graham', brand: '---' },
      { name: 'KWX Extase', brand: 'Rhenus' },
    ],
  },
];

export const FARM_FIRST: readonly string[] = [
  'North',
  'Willow',
  'Stone',
  'Green',
  'Cedar',
  'Hill',
  'River',
  'Oak',
  'Prairie',
  'Meadow',
];
export const FARM_SECOND: readonly string[] = [
  'Farm',
  'Acres',
  'Valley Farms',
  'Creek Farm',
  'Brothers Farm',
  'Agro GmbH',
  'Land & Grain',
  'Ranch',
];
export const FIELD_FIRST: readonly string[] = [
  'Home',
  'Back',
  'Church',
  'Mill',
  'Long',
  'East',
  'West',
  'Railway',
  'School',
  'Lower',
];
export const FIELD_SECOND: readonly string[] = [
  'Quarter',
  'Forty',
  'Field',
  'Piece',
  'Bottom',
  'Ground',
  'Eighty',
  'Strip',
];
export const OPERATORS: readonly string[] = [
  'A. Jensen',
  'M. Okafor',
  'L. Novak',
  'R. Schmidt',
  'J. Tremblay',
  'P. Sousa',
];
