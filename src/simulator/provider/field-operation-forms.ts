// The forms a field operation takes on the wire: by the day's rules (deprecated fields before July 10, 2024), by the
// system of units and by the preferred measure of yield. Pure: the new metric form in, the form asked for out.
import { isObject, type Json, type JsonObject } from '../json';
import type { FieldOperationPhase } from '../rules';
import { massToVolume, toEnglish } from '../world/quantities';
import { CROPS } from '../world/vocabulary';

/** The measurement fields that stood at the top level of application measurements before they were removed. */
const REMOVED_FIELDS = ['area', 'averageSpeed', 'totalMaterial', 'averageMaterial'] as const;

export interface Units {
  english: boolean;
  yieldByVolume: boolean;
}

/** `content` as it is shown in a phase: deprecated fields are made from the first product or tank mix. */
export function inPhase(content: JsonObject, phase: FieldOperationPhase): JsonObject {
  if (phase === 'new') return content;
  const shown: JsonObject = { ...content };
  const products = list(content.products);
  if (products.length > 0) {
    shown.product = products[0]!;
    if (phase === 'both') shown.products = products.slice(0, 1);
    else delete shown.products;
  }
  if (Array.isArray(content.measurementTypes)) {
    shown.measurementTypes = content.measurementTypes.map((entry) =>
      isObject(entry) ? measurementInPhase(entry, phase) : entry,
    );
  }
  return shown;
}

function measurementInPhase(measurement: JsonObject, phase: 'old' | 'both'): JsonObject {
  const [first] = list(measurement.applicationProductTotals);
  // Harvest and seeding have no products; the provider sent the empty list all the same.
  if (!isObject(first)) return { ...measurement, productTotals: [] };
  const shown: JsonObject = { ...measurement, productTotals: first.productTotals ?? [] };
  for (const name of REMOVED_FIELDS) if (first[name] !== undefined) shown[name] = first[name];
  if (phase === 'both') shown.applicationProductTotals = [first];
  else delete shown.applicationProductTotals;
  return shown;
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

export function inUnits(content: JsonObject, units: Units): JsonObject {
  const byVolume = units.yieldByVolume ? yieldByVolume(content) : content;
  return units.english ? (toEnglish(byVolume) as JsonObject) : byVolume;
}

function yieldByVolume(content: JsonObject): JsonObject {
  const density = CROPS.find((crop) => crop.name === content.cropName)?.tonnesPerCubicMetre ?? 0.75;
  const convert = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(convert);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        key === 'yield' || key === 'averageYield' ? massToVolume(inner, density) : convert(inner),
      ]),
    );
  };
  return convert(content) as JsonObject;
}
