// Field operations: their shape, the embed, the three phases around the removal of deprecated fields, and units.
import { NEW_FIELDS_ANNOUNCED } from '../../../../src/simulator/rules';
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Body, control, get } from '../caller';

let simulator: Simulator;
let operations: Body[];
beforeAll(async () => {
  simulator = await startSimulator({ organizations: 1, fieldOperations: 24, today: '2025-01-01' });
  operations = (await control(simulator, 'GET', 'state')).fieldOperations;
});
afterAll(() => simulator.close());
afterEach(() => control(simulator, 'PUT', 'today', { today: '2025-01-01' }));

const operation = (fits: (content: Body) => boolean): Body => operations.find(({ content }) => fits(content));
const single = (): Body =>
  operation(({ products }) => products?.length === 1 && products[0].tankMix === false);
const mix = (): Body => operation(({ products }) => products?.length === 1 && products[0].tankMix === true);
const several = (): Body => operation(({ products }) => products?.length > 1);
const EMBED = '?embed=measurementTypes';

test('the embed adds the measurement types; without it the key is absent', async () => {
  const { uri } = single();
  const plain = (await get(simulator, uri)).body;
  expect(plain).not.toHaveProperty('measurementTypes');
  expect(plain).toMatchObject({ '@type': 'FieldOperation', orgId: 4711, fieldOperationType: 'application' });
  const embedded = (await get(simulator, uri + EMBED)).body;
  expect(embedded.measurementTypes.map((entry: Body) => entry.measurementName)).toEqual([
    'ApplicationRateResult',
    'ApplicationRateTarget',
  ]);
  expect((await get(simulator, `${uri}?embed=everything`)).status).toBe(400);
});

test('what the state shows is what the provider answers', async () => {
  for (const { uri, content } of operations)
    expect((await get(simulator, uri + EMBED)).body).toEqual(content);
});

test('a tillage operation has recorded nothing: the list is there and empty', async () => {
  const { uri } = operation(({ fieldOperationType }) => fieldOperationType === 'tillage');
  expect((await get(simulator, uri + EMBED)).body.measurementTypes).toEqual([]);
});

test('a total names its product, and its inner totals name the product’s parts', async () => {
  const one = single().content;
  const [total] = one.measurementTypes[0].applicationProductTotals;
  expect([total.productId, total.name]).toEqual([one.products[0].productId, one.products[0].name]);
  expect(total.productTotals.map((entry: Body) => entry.productId)).toEqual([one.products[0].guid]);
  expect(one.products[0]).not.toHaveProperty('rate');
  const mixed = mix().content;
  const [mixTotal] = mixed.measurementTypes[0].applicationProductTotals;
  const [product] = mixed.products;
  expect(mixTotal.productId).toBe(product.productId);
  const parts = [...product.components, product.carrier].map((part: Body) => part.guid);
  expect(mixTotal.productTotals.map((entry: Body) => entry.productId)).toEqual(parts);
  expect(
    mixTotal.productTotals.filter((entry: Body) => entry.carrier).map((entry: Body) => entry.name),
  ).toEqual(['Water']);
  expect(mixTotal.area).toEqual({
    '@type': 'EventMeasurement',
    value: expect.any(Number),
    unitId: 'ha',
    variableRepresentation: 'vrTaskArea',
  });
});

test('from July 10, 2024 only the new fields are there and several products may stand in one operation', async () => {
  await control(simulator, 'PUT', 'today', { today: '2024-07-10' });
  const { body } = await get(simulator, several().uri + EMBED);
  expect(body.products.length).toBeGreaterThan(1);
  expect(body).not.toHaveProperty('product');
  for (const measurement of body.measurementTypes) {
    expect(measurement.applicationProductTotals).toHaveLength(body.products.length);
    for (const gone of ['productTotals', 'area', 'averageSpeed', 'totalMaterial', 'averageMaterial'])
      expect(measurement).not.toHaveProperty(gone);
  }
});

test('until July 9, 2024 both forms are there and hold one product or tank mix', async () => {
  await control(simulator, 'PUT', 'today', { today: '2024-07-09' });
  const { body } = await get(simulator, several().uri + EMBED);
  expect(body.products).toEqual([body.product]);
  const [measurement] = body.measurementTypes;
  const [total] = measurement.applicationProductTotals;
  expect(measurement.applicationProductTotals).toHaveLength(1);
  expect(measurement).toMatchObject({
    area: total.area,
    averageSpeed: total.averageSpeed,
    totalMaterial: total.totalMaterial,
    productTotals: total.productTotals,
  });
});

test('before the announcement only the old fields are there', async () => {
  const dayBefore = new Date(Date.parse(NEW_FIELDS_ANNOUNCED) - 86_400_000).toISOString().slice(0, 10);
  await control(simulator, 'PUT', 'today', { today: dayBefore });
  const { body } = await get(simulator, mix().uri + EMBED);
  expect(body).not.toHaveProperty('products');
  expect(body.product).toMatchObject({ tankMix: true, carrier: { name: 'Water' } });
  const [measurement] = body.measurementTypes;
  expect(measurement).not.toHaveProperty('applicationProductTotals');
  expect(measurement.productTotals.length).toBeGreaterThan(1);
  expect(measurement.averageMaterial.unitId).toBe('l1ha-1');
  await control(simulator, 'PUT', 'today', { today: NEW_FIELDS_ANNOUNCED });
  expect((await get(simulator, mix().uri)).body).toHaveProperty('products');
});

test('harvest and seeding keep their totals and varieties in every phase', async () => {
  const { uri } = operation(({ fieldOperationType }) => fieldOperationType === 'harvest');
  const now = (await get(simulator, uri + EMBED)).body;
  expect(now.varieties[0]).toMatchObject({ productType: 'SEED', tankMix: false });
  expect(now.measurementTypes[0]).not.toHaveProperty('productTotals');
  expect(now.measurementTypes[0].varietyTotals[0].varietyId).toBe(now.varieties[0].guid);
  await control(simulator, 'PUT', 'today', { today: '2024-01-01' });
  const before = (await get(simulator, uri + EMBED)).body.measurementTypes[0];
  expect([before.productTotals, before.area]).toEqual([[], now.measurementTypes[0].area]);
  const seeding = operation(({ fieldOperationType }) => fieldOperationType === 'seeding').content;
  expect(seeding.measurementTypes[0].totalMaterial.unitId).toBe('seeds');
  expect(seeding.measurementTypes[0].averageMaterial.unitId).toBe('seeds1ha-1');
});

test('English units are the same quantities, small rates in fluid ounces', async () => {
  const { uri, content } = mix();
  const { body } = await get(simulator, uri + EMBED, { 'Accept-UOM-System': 'ENGLISH' });
  const metric = content.measurementTypes[0].applicationProductTotals[0];
  const english = body.measurementTypes[0].applicationProductTotals[0];
  expect(english.area.unitId).toBe('ac');
  expect(english.area.value / metric.area.value).toBeCloseTo(2.4710538, 5);
  expect(english.averageMaterial.unitId).toBe('gal1ac-1');
  expect(english.averageSpeed.unitId).toBe('mi1hr-1');
  const small = content.products[0].components.findIndex((part: Body) => part.rate.value < 2);
  expect(body.products[0].components[small].rate.unitId).toBe('floz1ac-1');
  expect((await get(simulator, uri, { 'Accept-UOM-System': 'IMPERIAL' })).status).toBe(400);
});

test('yield by volume is the mass over the crop’s density', async () => {
  const { uri, content } = operation(({ fieldOperationType }) => fieldOperationType === 'harvest');
  const { body } = await get(simulator, uri + EMBED, { 'Accept-Yield-Preference': 'VOLUME' });
  const [volume, mass] = [body.measurementTypes[0], content.measurementTypes[0]];
  expect([volume.yield.unitId, volume.averageYield.unitId, volume.wetMass.unitId]).toEqual([
    'm3',
    '[m3]1ha-1',
    't',
  ]);
  expect(volume.yield.value).toBeGreaterThan(mass.yield.value);
  const bushels = await get(simulator, uri + EMBED, {
    'Accept-Yield-Preference': 'VOLUME',
    'Accept-UOM-System': 'ENGLISH',
  });
  expect(bushels.body.measurementTypes[0].averageYield.unitId).toBe('bu1ac-1');
  expect((await get(simulator, uri, { 'Accept-Yield-Preference': 'BUCKETS' })).status).toBe(400);
});

test('operations are listed per field, with filters, and found again from the field', async () => {
  const fields = (await get(simulator, `${simulator.catalog}organizations/4711/fields`)).body;
  expect(fields.total).toBe(3);
  const uri = fields.values[0].links.find((link: Body) => link.rel === 'fieldOperation').uri;
  const all = (await get(simulator, uri)).body;
  expect([all.total, all.values.length]).toEqual([8, 8]);
  expect(all.values[0]).not.toHaveProperty('measurementTypes');
  expect(all.values[0].links.find((link: Body) => link.rel === 'field').uri).toBe(
    fields.values[0].links[0].uri,
  );
  const harvests = (await get(simulator, `${uri}?fieldOperationType=HARVEST${EMBED.replace('?', '&')}`)).body;
  expect(new Set(harvests.values.map((entry: Body) => entry.fieldOperationType))).toEqual(
    new Set(['harvest']),
  );
  expect(harvests.values[0].measurementTypes).toHaveLength(1);
  const { startDate } = all.values[0];
  const end = new Date(Date.parse(startDate) + 86_400_000).toISOString();
  const inWindow = (await get(simulator, `${uri}?startDate=${startDate}&endDate=${end}`)).body;
  expect(inWindow.values.map((entry: Body) => entry.id)).toContain(all.values[0].id);
  expect((await get(simulator, `${uri}?startDate=2025-01-01&endDate=2025-02-01`)).status).toBe(400);
  expect((await get(simulator, `${uri}?cropSeason=1999`)).body.total).toBe(0);
  expect(
    (
      await get(
        simulator,
        `${simulator.catalog}organizations/4711/fields/${'0'.repeat(8)}-0000-4000-a000-000000000000`,
      )
    ).status,
  ).toBe(404);
  expect((await get(simulator, `${simulator.catalog}fieldOperations`)).status).toBe(404);
});

test('measurement types have addresses of their own', async () => {
  const { uri, content } = single();
  const list = (await get(simulator, `${uri}/measurementTypes`)).body;
  expect(list.values).toEqual(content.measurementTypes);
  const rel = content.links.find((link: Body) => link.rel === 'applicationRateResult');
  expect((await get(simulator, rel.uri)).body).toEqual(content.measurementTypes[0]);
  expect((await get(simulator, `${uri}/measurementTypes/Nothing`)).status).toBe(404);
});

test('a field has a closed boundary of about its area', async () => {
  const [field] = (await get(simulator, `${simulator.catalog}organizations/4711/fields?embed=activeBoundary`))
    .body.values;
  const boundaries = (await get(simulator, field.links.find((link: Body) => link.rel === 'boundaries').uri))
    .body;
  expect(boundaries.values[0]).toEqual(field.activeBoundary);
  const { points } = field.activeBoundary.multipolygons[0].rings[0];
  expect(points.at(-1)).toEqual(points[0]);
  expect(points.length).toBeGreaterThan(60);
  expect(field.activeBoundary.area.unit).toBe('ha');
});
