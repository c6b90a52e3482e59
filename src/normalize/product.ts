/**
 * What was applied or planted: a product, a variety, or a tank mix with its carrier and components. The provider's old
 * single `product` has the same structure as an entry of `products`.
 */
import { quantity } from './quantity';
import { type Facts, named, optional, shapeOf, single } from './reading';
import { flag, label, text } from './scalars';
import { setBy } from './sets';

const component = named(
  'component',
  shapeOf({
    id: optional('guid', label),
    name: optional('name', text),
    agencyRegistrationNumber: optional('agencyRegistrationNumber', label),
    rate: optional('rate', quantity),
  }),
);

/** One product or tank mix. */
export const product = named(
  'product',
  shapeOf({
    id: optional('guid', label),
    productId: optional('productId', label),
    name: optional('name', text),
    productType: optional('productType', text),
    brand: optional('brand', text),
    agencyRegistrationNumber: optional('agencyRegistrationNumber', label),
    tankMix: optional('tankMix', flag),
    rate: optional('rate', quantity),
    carrier: optional('carrier', single(component)),
    components: optional('components', setBy(component, 'id', 'name')),
  }),
);

/** Products or varieties. */
export const products = setBy(product, 'productId', 'id', 'name');

/** The products of an operation, to be found from what refers to them. */
export interface ProductIndex {
  /** The operation's only product; null when it has none or several. */
  only: Facts | null;
  byId: Map<string, Facts>;
  /** Null for a name that several products bear. */
  byName: Map<string, Facts | null>;
}

export function indexProducts(list: Facts[]): ProductIndex {
  const byId = new Map<string, Facts>();
  const byName = new Map<string, Facts | null>();
  for (const entry of list) {
    if (typeof entry.productId === 'string') byId.set(entry.productId, entry);
    if (typeof entry.name === 'string') byName.set(entry.name, byName.has(entry.name) ? null : entry);
  }
  return { only: list.length === 1 ? (list[0] ?? null) : null, byId, byName };
}

/** The product that an entry names by its product id, else by a name that no other bears; null when there is none. */
export function productOf(entry: Facts, index: ProductIndex): Facts | null {
  const { productId, name } = entry;
  const byId = typeof productId === 'string' ? index.byId.get(productId) : undefined;
  return byId ?? (typeof name === 'string' ? index.byName.get(name) : undefined) ?? null;
}
