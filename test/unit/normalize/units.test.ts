/**
 * The provider's unit ids become UCUM units of one metric system. The expected figures are worked out from the
 * definitions of the units, not from the table that the code uses.
 */
import { convertUnit } from '../../../src/normalize/units';

const acreSquareMetres = 4046.8564224;
const gallonLitres = 3.785411784;
const poundKilograms = 0.45359237;
const bushelLitres = 35.23907016688;

test.each<[string, number, string, number]>([
  ['ha', 19.2, 'har', 19.2],
  ['ac', 1, 'har', acreSquareMetres / 10_000],
  ['m2', 10_000, 'har', 1],
  ['[ft2]', 43_560, 'har', acreSquareMetres / 10_000],
  ['l', 7.5, 'L', 7.5],
  ['gal', 100, 'L', 378.5411784],
  ['floz', 128, 'L', gallonLitres],
  ['pt', 8, 'L', gallonLitres],
  ['qt', 4, 'L', gallonLitres],
  ['bu', 2, 'L', 2 * bushelLitres],
  ['m3', 1.125, 'L', 1125],
  ['kg', 3, 'kg', 3],
  ['t', 3.25, 'kg', 3250],
  ['lb', 1, 'kg', poundKilograms],
  ['ozm', 16, 'kg', poundKilograms],
  ['ton', 1, 'kg', 2000 * poundKilograms],
  ['seeds', 2_512_000, '{seeds}', 2_512_000],
  ['bale', 4, '{bales}', 4],
  ['prcnt', 15.5, '%', 15.5],
  ['ratio', 0.155, '%', 15.5],
  ['cm', 12, 'm', 0.12],
  ['ft', 10, 'm', 3.048],
  ['in', 1, 'm', 0.0254],
  ['min', 90, 'h', 1.5],
  ['sec', 3600, 'h', 1],
  ['C', 21.5, 'Cel', 21.5],
  ['F', 212, 'Cel', 100],
  ['K', 273.15, 'Cel', 0],
  ['bar', 2.5, 'kPa', 250],
  ['PSI', 100, 'kPa', 689.4757293],
  ['RPM', 540, '/min', 540],
  ['arcdeg', 90, 'deg', 90],
  ['unitless', 3, '1', 3],
])('%s is converted: %d is in %s %d', (unitId, value, unit, expected) => {
  const converted = convertUnit(value, unitId);
  expect({ unit: converted.unit, known: converted.known }).toEqual({ unit, known: true });
  expect(converted.value).toBeCloseTo(expected, 8);
});

test.each<[string, number, string, number]>([
  ['l1ha-1', 120, 'L/har', 120],
  ['[m3]1ha-1', 0.15, 'L/har', 150],
  ['m3[ha]-1', 0.15, 'L/har', 150],
  ['gal1ac-1', 10, 'L/har', (10 * gallonLitres * 10_000) / acreSquareMetres],
  ['floz1ac-1', 48, 'L/har', ((48 / 128) * gallonLitres * 10_000) / acreSquareMetres],
  ['bu1ac-1', 200, 'L/har', (200 * bushelLitres * 10_000) / acreSquareMetres],
  ['ml1[m2]-1', 1, 'L/har', 10],
  ['t1ha-1', 9.2, 'kg/har', 9200],
  ['lb1ac-1', 100, 'kg/har', (100 * poundKilograms * 10_000) / acreSquareMetres],
  ['seeds1ha-1', 80_000, '{seeds}/har', 80_000],
  ['seeds1[m2]-1', 8, '{seeds}/har', 80_000],
  ['seeds1m-2', 8, '{seeds}/har', 80_000],
  ['km1hr-1', 14.75, 'km/h', 14.75],
  ['mi1hr-1', 10, 'km/h', 16.09344],
  ['m1sec-1', 10, 'km/h', 36],
  ['hr-1km1', 14.75, 'km/h', 14.75],
  ['l1hr-1', 33, 'L/h', 33],
  ['ha1hr-1', 12, 'har/h', 12],
  ['kg1l-1', 1.28, 'kg/L', 1.28],
  ['m1sec-2', 1, 'm/h2', 12_960_000],
  ['[m3]-1', 2, '1/L', 0.002],
  ['kg1m1sec-1', 1, 'kg.m/h', 3600],
  ['l1l-1', 3, '1', 3],
])('the compound %s is converted: %d is in %s %d', (unitId, value, unit, expected) => {
  const converted = convertUnit(value, unitId);
  expect({ unit: converted.unit, known: converted.known }).toEqual({ unit, known: true });
  expect(converted.value / expected).toBeCloseTo(1, 9);
});

test('a value in its canonical unit is left exactly as it is', () => {
  const value = 0.1 + 0.2;
  expect(convertUnit(value, 'l1ha-1').value).toBe(value);
});

test('the noise of a conversion is rounded away', () => {
  const acres = 0.03 / 0.40468564224;
  expect(acres * 0.40468564224).not.toBe(0.03);
  expect(convertUnit(acres, 'ac').value).toBe(0.03);
});

test.each([
  ['furlong', '{furlong}'],
  ['l1furlong-1', '{l1furlong-1}'],
  ['F1ha-1', '{F1ha-1}'],
  ['RPM1ha-1', '{RPM1ha-1}'],
  ['seeds2', '{seeds2}'],
  ['l/ha', '{l/ha}'],
  ['l1ha-1 ', '{l1ha-1_}'],
  ['1', '{1}'],
  ['a{b}c', '{a_b_c}'],
  ['größe', '{gr__e}'],
  ['', '{unknown}'],
  ['constructor', '{constructor}'],
  ['__proto__', '{__proto__}'],
])('the unknown unit %j keeps its value and becomes the annotation %s', (unitId, unit) => {
  expect(convertUnit(12.5, unitId)).toEqual({ value: 12.5, unit, known: false });
});

test('an endless unit id is not parsed and its annotation is cut', () => {
  const converted = convertUnit(1, 'l1ha-1'.repeat(100_000));
  expect(converted.known).toBe(false);
  expect(converted.unit).toHaveLength(66);
});

test('more ids than are remembered are converted all the same', () => {
  for (let index = 0; index < 600; index += 1) convertUnit(1, `unit${'x'.repeat(index % 60)}${index}`);
  expect(convertUnit(1, 'day')).toEqual({ value: 24, unit: 'h', known: true });
  expect(convertUnit(2, 'wk')).toEqual({ value: 336, unit: 'h', known: true });
});
