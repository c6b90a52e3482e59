/**
 * A field operation's measurement: totals and averages of one thing that was measured. The provider has changed how it
 * sends applications: once four quantities and `productTotals` at the top, since July 10, 2024 the same inside each entry
 * of `applicationProductTotals`, in between both. Here they are one shape, `applicationTotals`.
 */
import { type ProductIndex, productOf } from './product';
import { quantity } from './quantity';
import { type Facts, optional, type Part, required, type ShapePart, shapeOf } from './reading';
import { flag, label, text, word } from './scalars';
import { setBy, setOf } from './sets';

const componentTotals = setBy(
  shapeOf({
    productId: optional('productId', label),
    name: optional('name', text),
    brand: optional('brand', text),
    carrier: optional('carrier', flag),
    area: optional('area', quantity),
    averageSpeed: optional('averageSpeed', quantity),
    totalMaterial: optional('totalMaterial', quantity),
    averageMaterial: optional('averageMaterial', quantity),
  }),
  'productId',
  'name',
);

const applicationTotal = shapeOf({
  productId: optional('productId', label, 'The `productId` of an entry of `products`.'),
  name: optional('name', text),
  brand: optional('brand', text),
  tankMix: optional('tankMix', flag, 'Whether the product that this total is for is a tank mix.'),
  area: optional('area', quantity),
  appliedArea: optional('appliedArea', quantity),
  averageSpeed: optional('averageSpeed', quantity),
  totalMaterial: optional('totalMaterial', quantity),
  averageMaterial: optional('averageMaterial', quantity),
  components: optional('productTotals', componentTotals, 'What the product or tank mix consists of.'),
});

const applicationTotals = setBy(applicationTotal, 'productId', 'name');

const varietyTotal = shapeOf({
  varietyId: optional('varietyId', label),
  productId: optional('productId', label),
  name: optional('name', text),
  brand: optional('brand', text),
  area: optional('area', quantity),
  averageSpeed: optional('averageSpeed', quantity),
  totalMaterial: optional('totalMaterial', quantity),
  averageMaterial: optional('averageMaterial', quantity),
  yield: optional('yield', quantity),
  averageYield: optional('averageYield', quantity),
  averageMoisture: optional('averageMoisture', quantity),
  wetMass: optional('wetMass', quantity),
  averageWetMass: optional('averageWetMass', quantity),
});

const published = {
  name: required('measurementName', text),
  category: optional('measurementCategory', word),
  area: optional('area', quantity),
  averageSpeed: optional('averageSpeed', quantity),
  averageDepth: optional('averageDepth', quantity),
  totalMaterial: optional('totalMaterial', quantity),
  averageMaterial: optional('averageMaterial', quantity),
  yield: optional('yield', quantity),
  averageYield: optional('averageYield', quantity),
  averageMoisture: optional('averageMoisture', quantity),
  wetMass: optional('wetMass', quantity),
  averageWetMass: optional('averageWetMass', quantity),
  applicationTotals: optional(
    'applicationProductTotals',
    applicationTotals,
    'One entry for each product or tank mix that was applied.',
  ),
  varietyTotals: optional('varietyTotals', setBy(varietyTotal, 'varietyId', 'productId', 'name')),
};

/** What is read: the published fields, and the old totals until `settleMeasurement` has folded them in. */
const sent = shapeOf({ ...published, oldTotals: optional('productTotals', componentTotals) });

const measurement: ShapePart = { schema: shapeOf(published).schema, read: sent.read };

/** All measurements of an operation. What is read still has `oldTotals`: `settleMeasurement` takes them away. */
export const measurements: Part = setOf(
  measurement,
  (facts) => `${String(facts.name)} ${String(facts.category)}`,
);

/** The quantities that moved from the top of what was applied into its totals. */
const movedQuantities = ['area', 'averageSpeed', 'totalMaterial', 'averageMaterial'];

/** How the provider names what was applied: ApplicationRateResult, ApplicationRateTarget. */
const nameOfApplied = /^applicationRate/i;

/**
 * Brings a measurement, in place, to the one shape. The new form wins where both are there; in the old one the quantities
 * of what was applied belong to the operation's only product. Each total gets back its reference to the product or tank
 * mix it is for: `productId` where the name alone was sent, and `tankMix`.
 */
export function settleMeasurement(
  facts: Facts,
  operation: { isApplication: boolean; products: ProductIndex },
): void {
  const { isApplication, products } = operation;
  const old = takeOldTotal(facts, isApplication && isOfApplied(facts));
  if (old !== null) mergeOldTotal(facts, old, products);
  if (isFilledList(facts.applicationTotals)) {
    for (const total of facts.applicationTotals) referToProduct(total, products);
  }
}

/** Fuel, heights and more are measured while a product is applied: their quantities are none of the product's. */
function isOfApplied({ name, oldTotals, applicationTotals }: Facts): boolean {
  return nameOfApplied.test(String(name)) || isFilledList(oldTotals) || isFilledList(applicationTotals);
}

/** Takes what the old form says out of the measurement; null when that is nothing. */
function takeOldTotal(facts: Facts, isOfProduct: boolean): Facts | null {
  const total: Facts = {};
  for (const name of isOfProduct ? movedQuantities : []) {
    if (facts[name] !== undefined) total[name] = facts[name];
    delete facts[name];
  }
  const components = facts.oldTotals;
  delete facts.oldTotals;
  if (isFilledList(components)) total.components = components;
  if (Object.values(total).some((value) => value !== null)) return total;
  // Of what was applied an empty old list says the same as an empty new one.
  if (isOfProduct && Array.isArray(components)) facts.applicationTotals ??= [];
  return null;
}

/** The old total stands where there is no new one, and fills in what the only one of the same product does not say. */
function mergeOldTotal(facts: Facts, old: Facts, products: ProductIndex): void {
  const totals = facts.applicationTotals;
  if (!isFilledList(totals)) {
    facts.applicationTotals = [{ ...referenceTo(products.only), ...old }];
    return;
  }
  const [total] = totals;
  if (total === undefined || totals.length > 1 || isOfAnother(total, products)) return;
  for (const [name, value] of Object.entries(old)) {
    if (value !== null && saysNothing(total[name])) total[name] = value;
  }
}

/** Whether a total names another product than the one that the old form's quantities belong to. */
function isOfAnother(total: Facts, products: ProductIndex): boolean {
  const isNamed = typeof total.productId === 'string' || typeof total.name === 'string';
  return isNamed && productOf(total, products) !== products.only;
}

function saysNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** The old form knew one product; an operation with several cannot say whose total it is. */
function referenceTo(only: Facts | null): Facts {
  const reference: Facts = {};
  for (const name of ['productId', 'name']) {
    if (typeof only?.[name] === 'string') reference[name] = only[name];
  }
  return reference;
}

function referToProduct(total: Facts, products: ProductIndex): void {
  const product = productOf(total, products);
  if (product === null) return;
  if (typeof product.productId === 'string') total.productId ??= product.productId;
  if (typeof product.tankMix === 'boolean') total.tankMix ??= product.tankMix;
}

function isFilledList(value: unknown): value is Facts[] {
  return Array.isArray(value) && value.length > 0;
}
