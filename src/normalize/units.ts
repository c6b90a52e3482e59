/**
 * The provider's unit ids (`l1ha-1`, `[m3]1ha-1`, `prcnt`), read by a small grammar and converted to one metric unit per
 * quantity, named in UCUM (https://ucum.org). Pure and total: an id that is not understood keeps its value and becomes a
 * UCUM annotation (`{…}`). Nothing here knows documents.
 */

/** A value in its canonical unit. `known` is false when the id was not understood and the value was left as it is. */
export interface Converted {
  value: number;
  unit: string;
  known: boolean;
}

type Dimension =
  | 'length'
  | 'area'
  | 'volume'
  | 'mass'
  | 'time'
  | 'seeds'
  | 'bales'
  | 'share'
  | 'temperature'
  | 'pressure'
  | 'rotation'
  | 'angle'
  | 'number';

/** The unit in which each dimension is published. Speed is the exception among compounds: `km/h`. */
const canonicalUnits: Record<Dimension, string> = {
  length: 'm',
  area: 'har',
  volume: 'L',
  mass: 'kg',
  time: 'h',
  seeds: '{seeds}',
  bales: '{bales}',
  share: '%',
  temperature: 'Cel',
  pressure: 'kPa',
  rotation: '/min',
  angle: 'deg',
  number: '1',
};

/** Symbol → how many canonical units it is. The ids and factors are those of the ADAPT unit system. */
const symbolsByDimension: Record<Dimension, Record<string, number>> = {
  length: { m: 1, km: 1e3, dm: 0.1, cm: 0.01, mm: 1e-3, ft: 0.3048, in: 0.0254, yd: 0.9144, mi: 1609.344 },
  area: { ha: 1, a: 0.01, ac: 0.40468564224, thsndSqFt: 0.009290304 },
  volume: {
    l: 1,
    ml: 1e-3,
    cl: 0.01,
    dl: 0.1,
    hl: 100,
    kl: 1000,
    floz: 0.0295735295625,
    pt: 0.473176473,
    qt: 0.946352946,
    gal: 3.785411784,
    igal: 4.54609,
    bu: 35.23907016688,
  },
  mass: {
    kg: 1,
    g: 1e-3,
    mg: 1e-6,
    q: 100,
    t: 1000,
    ozm: 0.028349523125,
    lb: 0.45359237,
    cwt: 45.359237,
    ton: 907.18474,
  },
  time: { hr: 1, min: 1 / 60, sec: 1 / 3600, ms: 1 / 3_600_000, day: 24, wk: 168 },
  seeds: { seeds: 1 },
  bales: { bale: 1 },
  share: { prcnt: 1, ratio: 100, ppm: 1e-4 },
  temperature: { C: 1, F: 5 / 9, K: 1 },
  pressure: { kPa: 1, Pa: 1e-3, bar: 100, PSI: 6.894757293 },
  rotation: { RPM: 1 },
  angle: { arcdeg: 1, rad: 180 / Math.PI },
  number: { unitless: 1, count: 1 },
};

/** What is added after scaling. */
const temperatureOffsets: Record<string, number> = { C: 0, F: -160 / 9, K: -273.15 };

/** An offset, or a unit that is a quotient itself, has no meaning inside a compound. */
const aloneOnly: ReadonlySet<Dimension> = new Set(['temperature', 'rotation']);

const symbols = new Map<string, { dimension: Dimension; scale: number }>();
for (const dimension of Object.keys(symbolsByDimension) as Dimension[]) {
  for (const [symbol, scale] of Object.entries(symbolsByDimension[dimension])) {
    symbols.set(symbol, { dimension, scale });
  }
}

interface Unit {
  unit: string;
  scale: number;
  offset: number;
}

const unitIdCharactersMax = 64;
const rememberedMax = 512;
const remembered = new Map<string, Unit | null>();

/**
 * Converts a value to the canonical unit of its quantity: length `m`, area `har`, volume `L`, mass `kg`, time `h`,
 * counts `{seeds}` and `{bales}`, shares `%`, temperature `Cel`, pressure `kPa`, rotation `/min`, angle `deg`, numbers
 * `1`, speed `km/h`, other compounds composed of these (`L/har`, `kg/har`, `{seeds}/har`, `L/h`). Converted values are
 * rounded to 12 significant digits, which is below what the factors are good for. Never throws; may overflow to an
 * infinity. An id of more than 64 characters is no unit; what 512 ids mean is remembered.
 */
export function convertUnit(value: number, unitId: string): Converted {
  const unit = unitOf(unitId);
  if (unit === null) return { value, unit: annotationOf(unitId), known: false };
  if (unit.scale === 1 && unit.offset === 0) return { value, unit: unit.unit, known: true };
  const converted = value * unit.scale + unit.offset;
  return { value: Number(converted.toPrecision(12)), unit: unit.unit, known: true };
}

/** Parsed once per id; what is remembered is bounded, because the ids come from outside. */
function unitOf(unitId: string): Unit | null {
  const known = remembered.get(unitId);
  if (known !== undefined) return known;
  const unit = unitId.length > unitIdCharactersMax ? null : parseUnitId(unitId);
  if (remembered.size < rememberedMax && unitId.length <= unitIdCharactersMax) remembered.set(unitId, unit);
  return unit;
}

/**
 * unitId = term { term } ; term = ( symbol | "[" symbol [ "2" | "3" ] "]" ) [ exponent ] ; exponent = [ "-" ] digit.
 * The brackets keep a power that belongs to the symbol apart from the exponent: `[m3]1ha-1`.
 */
const termPattern = /(?:\[([A-Za-z]+)([23]?)\]|([A-Za-z]+))(-?[1-9])?/y;

function parseUnitId(unitId: string): Unit | null {
  const powers = new Map<Dimension, number>();
  let scale = 1;
  let position = 0;
  while (position < unitId.length) {
    termPattern.lastIndex = position;
    const match = termPattern.exec(unitId);
    if (match === null) return null;
    const name = match[1] ?? match[3] ?? '';
    const symbol = symbols.get(name);
    if (symbol === undefined) return null;
    if (aloneOnly.has(symbol.dimension)) return aloneOf(unitId, name, symbol);
    const term = termOf(symbol, Number(match[2] || 1) * Number(match[4] ?? 1));
    scale *= term.scale;
    powers.set(term.dimension, (powers.get(term.dimension) ?? 0) + term.power);
    position = termPattern.lastIndex;
  }
  return position === 0 ? null : composed(powers, scale);
}

function aloneOf(unitId: string, name: string, symbol: { dimension: Dimension; scale: number }): Unit | null {
  if (unitId !== name) return null;
  return {
    unit: canonicalUnits[symbol.dimension],
    scale: symbol.scale,
    offset: temperatureOffsets[name] ?? 0,
  };
}

/** One term as a power of its dimension. A squared length is an area, a cubed one a volume: they are published as such. */
function termOf(
  symbol: { dimension: Dimension; scale: number },
  power: number,
): { dimension: Dimension; power: number; scale: number } {
  const sign = Math.sign(power);
  if (symbol.dimension === 'length' && Math.abs(power) === 2) {
    return { dimension: 'area', power: sign, scale: (symbol.scale ** 2 * 1e-4) ** sign };
  }
  if (symbol.dimension === 'length' && Math.abs(power) === 3) {
    return { dimension: 'volume', power: sign, scale: (symbol.scale ** 3 * 1000) ** sign };
  }
  return { dimension: symbol.dimension, power, scale: symbol.scale ** power };
}

function composed(powers: Map<Dimension, number>, scale: number): Unit | null {
  const isSpeed = powers.size === 2 && powers.get('length') === 1 && powers.get('time') === -1;
  if (isSpeed) return { unit: 'km/h', scale: scale / 1000, offset: 0 };
  const above: string[] = [];
  const below: string[] = [];
  for (const [dimension, power] of powers) {
    if (power === 0) continue;
    const unit = canonicalUnits[dimension];
    // In UCUM only a plain symbol takes an exponent; an annotation or `%` does not.
    if (Math.abs(power) > 1 && !/^[A-Za-z]+$/.test(unit)) return null;
    (power > 0 ? above : below).push(Math.abs(power) === 1 ? unit : `${unit}${Math.abs(power)}`);
  }
  // In a fixed order, so that the order of the terms in the id does not show.
  const numerator = above.sort().join('.') || '1';
  return { unit: [numerator, ...below.sort()].join('/'), scale, offset: 0 };
}

/** UCUM annotations hold visible ASCII without braces (UCUM §12); anything else becomes `_`. */
function annotationOf(unitId: string): string {
  return `{${unitId.slice(0, unitIdCharactersMax).replace(/[^\x21-\x7e]|[{}]/g, '_') || 'unknown'}}`;
}
