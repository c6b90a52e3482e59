/**
 * Field operations: what they become in each of the forms that the provider has sent, and what is refused.
 */
import { at, type JsonObject, normalized, providerDocument, refused, withValue } from './provider-document';

type Facts = Record<string, unknown>;

const several = providerDocument('field-operation-several-products');
const harvest = providerDocument('field-operation-harvest');
const seeding = providerDocument('field-operation-seeding');
const mix = {
  old: providerDocument('field-operation-tank-mix-old'),
  both: providerDocument('field-operation-tank-mix-both'),
  new: providerDocument('field-operation-tank-mix-new'),
};

const facts = (body: JsonObject): Facts => normalized(body).facts;
const rate = (body: JsonObject): Facts => at(facts(body), '/measurements/0') as Facts;
const totals = (body: JsonObject): Facts[] => rate(body).applicationTotals as Facts[];

test('a field operation is published with its times in UTC, its kind in lower case and its time of modification', () => {
  const document = normalized(withValue(harvest, '/fieldOperationType', 'Harvest'));
  expect(document).toMatchObject({
    kind: 'field-operation',
    organizationId: '4711',
    modifiedTime: '2025-05-06T18:00:00.123Z',
    archived: false,
  });
  expect(document.facts).toMatchObject({
    fieldOperationType: 'harvest',
    cropSeason: '2025',
    startTime: '2025-05-06T12:01:02.000Z',
    endTime: '2025-05-06T16:31:02.000Z',
  });
});

test('an operation without a time of modification has none', () => {
  expect(normalized(withValue(harvest, '/modifiedTime', null)).modifiedTime).toBeNull();
  expect(normalized(withValue(harvest, '/modifiedTime', undefined)).modifiedTime).toBeNull();
});

test('an operation is archived only when the provider says so', () => {
  expect(normalized(withValue(harvest, '/archived', true)).archived).toBe(true);
});

test('quantities are metric UCUM with what the provider sent beside them', () => {
  expect(rate(harvest)).toMatchObject({
    name: 'HarvestYieldResult',
    category: 'result',
    yield: { value: 389_804, unit: 'kg', source: { value: 389.804, unit: 't' } },
    averageYield: { value: 9200, unit: 'kg/har', source: { value: 9.2, unit: 't1ha-1' } },
    averageMoisture: { value: 15.5, unit: '%' },
  });
  expect(rate(seeding)).toMatchObject({
    totalMaterial: { value: 2_512_000, unit: '{seeds}' },
    averageMaterial: { value: 80_000, unit: '{seeds}/har' },
  });
});

test('metric and English answers of one operation have one content hash', () => {
  const english = providerDocument('field-operation-harvest-english');
  expect(normalized(english).contentHash).toBe(normalized(harvest).contentHash);
  expect(normalized(english).wireHash).not.toBe(normalized(harvest).wireHash);
  expect(at(rate(english), '/area/source/unit')).toBe('ac');
});

test('the old form, the new one and both at once are one document', () => {
  expect(facts(mix.both)).toEqual(facts(mix.new));
  expect(facts(mix.old)).toEqual(facts(mix.new));
  expect(normalized(mix.old).contentHash).toBe(normalized(mix.new).contentHash);
});

test('a tank mix keeps its carrier, its components and their rates', () => {
  expect(facts(mix.new).products).toMatchObject([
    {
      name: 'Mix A',
      tankMix: true,
      rate: { value: 120, unit: 'L/har' },
      carrier: { name: 'Water', rate: { value: 110 } },
      components: [{ name: 'Broadleaf 480', agencyRegistrationNumber: '1234-567' }, { name: 'Adjuvant X' }],
    },
  ]);
});

test('each total refers to its product or tank mix', () => {
  const [first, second] = totals(several);
  expect([first?.name, first?.tankMix]).toEqual(['Mix A', true]);
  expect([second?.name, second?.tankMix]).toEqual(['UAN 32', false]);
  expect([first?.productId, second?.productId]).toEqual([
    at(facts(several), '/products/0/productId'),
    at(facts(several), '/products/1/productId'),
  ]);
  expect(first?.components).toHaveLength(3);
  expect(second?.appliedArea).toMatchObject({ value: 7.25, edited: true });
});

test('the order of products, totals, measurements and machines means nothing', () => {
  const reversed = structuredClone(several);
  for (const name of ['products', 'measurementTypes', 'fieldOperationMachines']) {
    (reversed[name] as []).reverse();
  }
  for (const measurement of reversed.measurementTypes as JsonObject[]) {
    (measurement.applicationProductTotals as []).reverse();
  }
  expect(facts(reversed)).toEqual(facts(several));
});

test('a total that names its tank mix only by name is given the id, where one product alone has the name', () => {
  const byName = withValue(several, '/measurementTypes/0/applicationProductTotals/1/productId', undefined);
  const total = totals(byName).find((entry) => entry.name === 'Mix A');
  expect(total).toMatchObject({ productId: '61cb0000000000000000000a', tankMix: true });
  const ambiguous = withValue(byName, '/products/0/name', 'Mix A');
  const unclear = totals(ambiguous).find((entry) => entry.name === 'Mix A');
  expect(unclear).toBeDefined();
  expect(unclear?.productId).toBeUndefined();
  expect(unclear?.tankMix).toBeUndefined();
});

test('a total of an unknown product stays without a reference', () => {
  const stranger = { productId: 'unknown', name: 'Stranger' };
  const body = withValue(mix.new, '/measurementTypes/0/applicationProductTotals', [stranger, {}]);
  expect(totals(body)).toEqual([{}, stranger]);
});

test('what the total says of itself is not overwritten', () => {
  const body = withValue(mix.new, '/measurementTypes/0/applicationProductTotals/0/tankMix', false);
  expect(totals(body)[0]?.tankMix).toBe(false);
});

test('measurements that were not asked for are absent, none are an empty list, cleared ones null', () => {
  expect('measurements' in facts(withValue(harvest, '/measurementTypes', undefined))).toBe(false);
  expect(facts(withValue(harvest, '/measurementTypes', [])).measurements).toEqual([]);
  expect(facts(withValue(harvest, '/measurementTypes', null)).measurements).toBeNull();
});

test('one product sent without its list is a list of one', () => {
  const [only] = mix.new.products as JsonObject[];
  expect(facts(withValue(mix.new, '/products', only))).toEqual(facts(mix.new));
  expect(facts(withValue(mix.old, '/product', [only as JsonObject]))).toEqual(facts(mix.new));
});

test('the old product fills in only where the list says nothing', () => {
  expect(facts(withValue(mix.both, '/products', [])).products).toHaveLength(1);
  expect(facts(withValue(mix.both, '/products', null)).products).toHaveLength(1);
  expect(facts(withValue(mix.old, '/product', null)).products).toBeNull();
  expect(facts(withValue(mix.both, '/product', null)).products).toHaveLength(1);
  expect(facts({ ...several, product: null, products: [] }).products).toEqual([]);
});

test('old totals without a product keep their quantities and have no reference', () => {
  const [total] = totals(withValue(mix.old, '/product', undefined));
  expect(total).toMatchObject({ area: { value: 19.2 }, totalMaterial: { value: 2304 } });
  expect(total?.productId).toBeUndefined();
});

test('old totals of an operation with several products are not given to one of them', () => {
  const body = { ...mix.old, products: several.products ?? null };
  expect(totals(body)).toHaveLength(1);
  expect(totals(body)[0]?.productId).toBeUndefined();
});

test('an application of which nothing was recorded has no totals, in either form', () => {
  const nothing = { '@type': 'FieldOperationMeasurement', measurementName: 'ApplicationRateResult' };
  const of = (measurement: JsonObject) => rate(withValue(mix.new, '/measurementTypes', [measurement]));
  const empty = { name: 'ApplicationRateResult', applicationTotals: [] };
  expect(of({ ...nothing, productTotals: [] })).toEqual(empty);
  expect(of({ ...nothing, applicationProductTotals: [] })).toEqual(empty);
  expect(of({ ...nothing, productTotals: [], applicationProductTotals: [], area: null })).toEqual(empty);
  expect(of(nothing)).toEqual({ name: 'ApplicationRateResult' });
  expect(of({ ...nothing, applicationProductTotals: null })).toEqual({
    name: 'ApplicationRateResult',
    applicationTotals: null,
  });
});

const fuel = {
  '@type': 'FieldOperationMeasurement',
  measurementName: 'FuelRateResult',
  totalMaterial: { value: 120, unitId: 'l' },
  averageMaterial: { value: 12, unitId: 'l1ha-1' },
  area: { value: 10, unitId: 'ha' },
  averageSpeed: { value: 14, unitId: 'km1hr-1' },
};

test.each(['old', 'both', 'new'] as const)(
  'what an application measured besides the product is not given to the product, in the %s form',
  (form) => {
    const measured = mix[form].measurementTypes as JsonObject[];
    const lists = { old: { productTotals: [] }, both: { productTotals: [] }, new: {} }[form];
    const body = withValue(mix[form], '/measurementTypes', [...measured, { ...fuel, ...lists }]);
    const [applied, other] = facts(body).measurements as Facts[];
    expect(applied).toEqual(rate(mix.new));
    expect(other).toMatchObject({
      name: 'FuelRateResult',
      totalMaterial: { value: 120, unit: 'L' },
      averageMaterial: { value: 12, unit: 'L/har' },
      area: { value: 10, unit: 'har' },
      averageSpeed: { value: 14, unit: 'km/h' },
    });
    expect('applicationTotals' in other!).toBe(false);
  },
);

test.each([
  ['old', 'productTotals'],
  ['both', 'productTotals'],
  ['both', 'applicationProductTotals'],
] as const)(
  'a measurement of another name with products of its own is theirs (%s form, %s)',
  (form, list) => {
    const [measured] = mix[form].measurementTypes as JsonObject[];
    const other = list === 'productTotals' ? 'applicationProductTotals' : 'productTotals';
    const one = { ...measured, measurementName: 'SprayedResult' } as JsonObject;
    delete one[other];
    const [total, ...more] = totals(withValue(mix[form], '/measurementTypes', [one]));
    expect(more).toEqual([]);
    expect(total).toEqual(totals(mix.new)[0]);
  },
);

const newTotals = '/measurementTypes/0/applicationProductTotals';

test.each([
  ['with its product', { productId: '61cb0000000000000000000a', name: 'Mix A' }],
  ['with its name alone', { name: 'Mix A' }],
])('what the only new total leaves out is filled in from the old form (%s)', (_case, reference) => {
  const totalMaterial = { value: 2304, unitId: 'l' };
  const both = withValue(mix.both, newTotals, [
    { ...reference, totalMaterial, area: null, productTotals: [] },
  ]);
  expect(totals(both)).toEqual(totals(mix.new));
});

test('a total without a name is filled in too, and what it says itself stays', () => {
  const totalMaterial = { value: 2000, unitId: 'l' };
  const both = withValue(mix.both, newTotals, [{ totalMaterial }]);
  const [total] = totals(both);
  expect(total).toMatchObject({ totalMaterial: { value: 2000 }, area: { value: 19.2 } });
  expect(total?.productId).toBeUndefined();
});

test('a null of the old form is not filled in', () => {
  const named = withValue(mix.both, newTotals, [{ name: 'Mix A' }]);
  const [total] = totals(withValue(named, '/measurementTypes/0/area', null));
  expect(total).toMatchObject({ averageSpeed: { value: 14.75 } });
  expect('area' in total!).toBe(false);
});

test('the old quantities are given neither to one of several totals nor to that of another product', () => {
  const stranger = { productId: 'unknown', name: 'Stranger' };
  expect(totals(withValue(mix.both, newTotals, [stranger]))).toEqual([stranger]);
  expect(totals(withValue(mix.both, newTotals, [stranger, {}]))).toEqual([{}, stranger]);
  const [one, two] = several.products as JsonObject[];
  const named = withValue(mix.both, newTotals, [{ productId: one!.productId! }]);
  expect(totals({ ...named, products: [one!, two!] })[0]).not.toHaveProperty('area');
});

test('the quantities of a harvest stay where they are, and its empty product totals are nothing', () => {
  expect(rate(harvest).area).toMatchObject({ value: 42.37 });
  expect('applicationTotals' in rate(harvest)).toBe(false);
});

test('product totals of another operation than an application are kept as totals', () => {
  const body = withValue(seeding, '/measurementTypes/0/productTotals', [
    { productId: 'p1', name: 'Starter', totalMaterial: { value: 10, unitId: 'l' } },
  ]);
  expect(totals(body)).toMatchObject([{ components: [{ productId: 'p1' }] }]);
  expect(rate(body).area).toMatchObject({ value: 31.4 });
});

test('names of operators are left out, and given when they are asked for; licences never', () => {
  const secret = ['Alex Example', 'LIC-0001'];
  const plain = JSON.stringify(normalized(harvest));
  for (const word of secret) expect(plain).not.toContain(word);
  const named = normalized(harvest, true);
  expect(named.facts.machines).toMatchObject([{ operators: [{ name: 'Alex Example' }] }]);
  expect(JSON.stringify(named)).not.toContain('LIC-0001');
  expect(named.unknownFields).toEqual([]);
});

test('another operator name alone is no change while names are left out', () => {
  const renamed = withValue(harvest, '/fieldOperationMachines/0/operators/0/name', 'Sam Sample');
  expect(normalized(renamed).contentHash).toBe(normalized(harvest).contentHash);
  expect(normalized(renamed, true).contentHash).not.toBe(normalized(harvest, true).contentHash);
});

test('an unknown unit is kept as an annotation and counted', () => {
  const document = normalized(
    withValue(harvest, '/measurementTypes/0/area', { value: 3, unitId: 'furlong', precision: 2 }),
  );
  expect(at(document.facts, '/measurements/0/area')).toEqual({
    value: 3,
    unit: '{furlong}',
    source: { value: 3, unit: 'furlong' },
  });
  expect(document.unknownFields).toEqual([
    '/measurementTypes/*/area/precision',
    '/measurementTypes/*/area/unitId',
  ]);
});

test('a quantity whose value was cleared is null', () => {
  expect(rate(withValue(harvest, '/measurementTypes/0/area/value', null)).area).toBeNull();
  expect(rate(withValue(harvest, '/measurementTypes/0/area', null)).area).toBeNull();
  expect(at(rate(withValue(harvest, '/measurementTypes/0/area/edited', null)), '/area/edited')).toBeNull();
});

test.each([
  ['/id', undefined, 'required /id'],
  ['/orgId', undefined, 'required /orgId'],
  ['/orgId', 2 ** 53 + 2, 'unsafe-integer /orgId'],
  ['/fieldOperationType', undefined, 'required /fieldOperationType'],
  ['/fieldOperationType', null, 'required /fieldOperationType'],
  ['/fieldOperationType', 7, 'wrong-type /fieldOperationType'],
  ['/modifiedTime', '2025-05-06', 'malformed-time /modifiedTime'],
  ['/measurementTypes', 'all', 'wrong-type /measurementTypes'],
  ['/measurementTypes/0/measurementName', undefined, 'required /measurementTypes/0/measurementName'],
  ['/measurementTypes/0/area', 42, 'wrong-type /measurementTypes/0/area'],
  ['/measurementTypes/0/area/value', undefined, 'required /measurementTypes/0/area/value'],
  ['/measurementTypes/0/area/value', '42', 'wrong-type /measurementTypes/0/area/value'],
  ['/measurementTypes/0/area/unitId', undefined, 'required /measurementTypes/0/area/unitId'],
  ['/measurementTypes/0/area/unitId', null, 'required /measurementTypes/0/area/unitId'],
  ['/measurementTypes/0/area/unitId', 3, 'wrong-type /measurementTypes/0/area/unitId'],
  ['/measurementTypes/0/area/edited', 'yes', 'wrong-type /measurementTypes/0/area/edited'],
  ['/measurementTypes/0/yield/value', 1.7e308, 'out-of-range /measurementTypes/0/yield/value'],
  ['/varieties/0/tankMix', 'no', 'wrong-type /varieties/0/tankMix'],
  ['/fieldOperationMachines/0/operators/0', 'Alex', 'wrong-type /fieldOperationMachines/0/operators/0'],
])('a field operation with another value at %s is refused (%#)', (pointer, value, refusal) => {
  expect(refused(withValue(harvest, pointer, value))).toBe(refusal);
});
