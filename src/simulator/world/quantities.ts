// Quantities on the wire: the EventMeasurement object, and the same in English units.
// Everything is made in metric units; the other systems are derived when a request asks for them.
import { isObject, type Json, type JsonObject } from '../json';

/** One measured value: number, unit and what it represents. */
export function quantity(value: number, unitId: string, variableRepresentation: string): JsonObject {
  return { '@type': 'EventMeasurement', value, unitId, variableRepresentation };
}

const ENGLISH: Readonly<Record<string, readonly [unit: string, factor: number]>> = {
  ha: ['ac', 2.471_053_8],
  l: ['gal', 0.264_172_05],
  'l1ha-1': ['gal1ac-1', 0.106_906_6],
  'km1hr-1': ['mi1hr-1', 0.621_371_19],
  m3: ['bu', 28.377_593],
  '[m3]1ha-1': ['bu1ac-1', 11.483_97],
  t: ['ton', 1.102_311_3],
  't1ha-1': ['ton1ac-1', 0.446_089_56],
  kg: ['lb', 2.204_622_6],
  'kg1ha-1': ['lb1ac-1', 0.892_179_12],
  'seeds1ha-1': ['seeds1ac-1', 0.404_685_64],
};
const SMALL_RATE_LITRES_PER_HA = 2;
const FLUID_OUNCES_PER_ACRE = 13.684_05;

/** `value` with every quantity inside it in English units; small application rates become fluid ounces an acre. */
export function toEnglish(value: Json): Json {
  if (Array.isArray(value)) return value.map(toEnglish);
  if (!isObject(value)) return value;
  const { unitId, value: amount } = value;
  if (typeof unitId === 'string' && typeof amount === 'number') {
    const small = unitId === 'l1ha-1' && amount > 0 && amount < SMALL_RATE_LITRES_PER_HA;
    const [unit, factor] = small
      ? (['floz1ac-1', FLUID_OUNCES_PER_ACRE] as const)
      : (ENGLISH[unitId] ?? [unitId, 1]);
    return { ...value, value: significant(amount * factor), unitId: unit };
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toEnglish(inner)]));
}

/** A mass of grain as the volume it fills, for clients that prefer yield by volume. */
export function massToVolume(mass: Json, tonnesPerCubicMetre: number): Json {
  if (!isObject(mass) || typeof mass.value !== 'number') return mass;
  const perArea = mass.unitId === 't1ha-1';
  if (!perArea && mass.unitId !== 't') return mass;
  return {
    ...mass,
    value: significant(mass.value / tonnesPerCubicMetre),
    unitId: perArea ? '[m3]1ha-1' : 'm3',
    variableRepresentation: perArea ? 'vrYieldVolume' : 'vrTotalYieldVolume',
  };
}

function significant(value: number): number {
  return Number(value.toPrecision(8));
}
