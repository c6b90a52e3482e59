// What was applied to a field: `products` of the operation and `applicationProductTotals` of its measurements.
// A total names its product by `productId`; a component's total names it by the component's guid. New form only:
// the deprecated fields are derived from this one elsewhere.
import type { JsonObject } from '../json';
import { quantity } from './quantities';
import { type Random, round, uuidFor } from './random';
import { PRODUCTS, TANK_MIXES } from './vocabulary';

const PRODUCT_SALT = 31;

/** One liquid of an application; `share` of it is litres a hectare. */
interface Liquid {
  guid: string;
  name: string;
  registration: string | undefined;
  litresPerHa: number;
  carrier: boolean;
}

/** One entry of `products`: a single product (one liquid) or a tank mix (several, one of them the carrier). */
export interface Application {
  productId: string;
  name: string;
  tankMix: boolean;
  liquids: Liquid[];
}

/** `tankMix` forces the kind of the first entry; `count` entries in all. */
export function applicationsFor(
  seed: number,
  random: Random,
  count: number,
  tankMix: boolean,
): Application[] {
  return Array.from({ length: count }, (_, at) =>
    tankMix === (at % 2 === 0) ? mixed(seed, random) : single(seed, random),
  );
}

function liquid(seed: number, random: Random): Liquid {
  const at = random.integer(0, PRODUCTS.length - 1);
  const product = PRODUCTS[at]!;
  return {
    guid: uuidFor(seed, PRODUCT_SALT, at),
    name: product.name,
    registration: product.registration === '---' ? undefined : product.registration,
    litresPerHa: random.decimal(product.litresPerHa[0], product.litresPerHa[1], 3),
    carrier: false,
  };
}

function single(seed: number, random: Random): Application {
  const one = liquid(seed, random);
  return { productId: random.hex(32), name: one.name, tankMix: false, liquids: [one] };
}

function mixed(seed: number, random: Random): Application {
  const components = new Map<string, Liquid>();
  const count = random.integer(2, 4);
  while (components.size < count) {
    const one = liquid(seed, random);
    components.set(one.guid, one);
  }
  const water: Liquid = {
    guid: uuidFor(seed, PRODUCT_SALT, 999),
    name: 'Water',
    registration: undefined,
    litresPerHa: random.decimal(80, 180, 1),
    carrier: true,
  };
  return {
    productId: random.hex(32),
    name: random.pick(TANK_MIXES),
    tankMix: true,
    liquids: [...components.values(), water],
  };
}

function rate(litresPerHa: number): JsonObject {
  return quantity(litresPerHa, 'l1ha-1', 'vrAppRateVolumeMeasured');
}

/** The entry of `products`. A single product carries no rate on the wire; a tank mix carries one for each part. */
export function productEntry(seed: number, application: Application): JsonObject {
  if (!application.tankMix) {
    const [only] = application.liquids;
    return {
      '@type': 'Product',
      guid: only!.guid,
      productType: 'CHEMICAL',
      productId: application.productId,
      name: application.name,
      tankMix: false,
    };
  }
  const carrier = application.liquids.find((part) => part.carrier)!;
  return {
    '@type': 'Product',
    guid: uuidFor(seed, PRODUCT_SALT + 1, Number.parseInt(application.productId.slice(0, 7), 16)),
    productType: 'TANK_MIX',
    productId: application.productId,
    name: application.name,
    tankMix: true,
    rate: rate(totalRate(application)),
    carrier: {
      '@type': 'Component',
      guid: carrier.guid,
      name: carrier.name,
      rate: rate(carrier.litresPerHa),
    },
    components: application.liquids
      .filter((part) => !part.carrier)
      .map((part) => ({
        '@type': 'Component',
        guid: part.guid,
        name: part.name,
        ...(part.registration === undefined ? {} : { agencyRegistrationNumber: part.registration }),
        rate: rate(part.litresPerHa),
      })),
  };
}

function totalRate(application: Application): number {
  return round(
    application.liquids.reduce((sum, part) => sum + part.litresPerHa, 0),
    3,
  );
}

/** The entry of `applicationProductTotals`; `share` scales the rates (a target differs a little from a result). */
export function totalEntry(
  application: Application,
  hectares: number,
  kilometresPerHour: number,
  share: number,
): JsonObject {
  const perHa = round(totalRate(application) * share, 3);
  return {
    '@type': 'ApplicationProductTotal',
    productId: application.productId,
    name: application.name,
    area: quantity(hectares, 'ha', 'vrTaskArea'),
    averageSpeed: quantity(kilometresPerHour, 'km1hr-1', 'vrVehicleSpeed'),
    totalMaterial: quantity(round(perHa * hectares, 2), 'l', 'vrTotalQuantityAppliedVolume'),
    averageMaterial: rate(perHa),
    appliedArea: quantity(hectares, 'ha', 'vrAppliedArea'),
    productTotals: application.liquids.map((part) => ({
      '@type': 'ProductTotal',
      productId: part.guid,
      name: part.name,
      brand: '---',
      carrier: part.carrier,
      totalMaterial: quantity(
        round(part.litresPerHa * share * hectares, 2),
        'l',
        'vrTotalQuantityAppliedVolume',
      ),
      averageMaterial: rate(round(part.litresPerHa * share, 3)),
    })),
  };
}
