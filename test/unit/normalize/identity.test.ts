/**
 * Hashes: equal for what says the same, different for what does not.
 */
import { contentHashOf, contentTextOf, wireHashOf } from '../../../src/normalize/identity';
import { convertUnit } from '../../../src/normalize/units';
import fc from '../../support/properties';

const quantity = (value: number, unitId: string) => {
  const converted = convertUnit(value, unitId);
  return { value: converted.value, unit: converted.unit, source: { value, unit: unitId } };
};

test('the order of keys means nothing, the order of a list does', () => {
  expect(contentHashOf({ a: 1, b: { c: 2, d: 3 } })).toBe(contentHashOf({ b: { d: 3, c: 2 }, a: 1 }));
  expect(contentHashOf({ a: [1, 2] })).not.toBe(contentHashOf({ a: [2, 1] }));
});

test('canonical text has sorted keys, no white space, and text as JSON writes it', () => {
  expect(contentTextOf({ b: [null, true, -0, 1e21], a: 'x"\\\u0001é\ud800' })).toBe(
    '{"a":"x\\"\\\\\\u0001é\\ud800","b":[null,true,0,1e+21]}',
  );
});

test('what was absent differs from what was cleared', () => {
  expect(contentHashOf({ a: 1 })).not.toBe(contentHashOf({ a: 1, b: null }));
});

test('a quantity counts by value and unit, not by what it was converted from', () => {
  expect(contentHashOf({ area: quantity(19.2, 'ha') })).toBe(
    contentHashOf({ area: quantity(192_000, 'm2') }),
  );
  expect(contentHashOf({ area: quantity(19.2, 'ha') })).not.toBe(
    contentHashOf({ area: quantity(19.2, 'ac') }),
  );
  expect(contentHashOf({ area: { ...quantity(19.2, 'ha'), edited: true } })).not.toBe(
    contentHashOf({ area: quantity(19.2, 'ha') }),
  );
});

test('a change in the sixth digit is a change, one in the eighth is not', () => {
  const hash = (value: number) => contentHashOf({ area: quantity(value, 'ha') });
  expect(hash(123.456)).not.toBe(hash(123.457));
  expect(hash(123.456)).toBe(hash(123.45601));
});

test('metric and English answers of one quantity hash equal, also at the edge of rounding', () => {
  const pairs = [
    ['ha', 'ac', 0.40468564224],
    ['t1ha-1', 'lb1ac-1', 0.45359237e-3 / 0.40468564224],
    ['l1ha-1', 'gal1ac-1', 3.785411784 / 0.40468564224],
    ['km1hr-1', 'mi1hr-1', 1.609344],
    ['kg', 'lb', 0.45359237],
  ] as const;
  fc.assert(
    fc.property(
      fc.constantFrom(...pairs),
      fc.integer({ min: 1, max: 9_999_999 }),
      fc.integer({ min: 0, max: 4 }),
      ([metric, english, factor], digits, decimals) => {
        const value = digits / 10 ** decimals;
        const sent = Number((value / factor).toPrecision(9));
        expect(contentTextOf(quantity(sent, english))).toBe(contentTextOf(quantity(value, metric)));
      },
    ),
    { numRuns: 500, examples: [[pairs[0], 1_234_565, 2]] },
  );
});

test('a number that is no quantity counts with all its digits', () => {
  expect(contentHashOf({ lat: 41.9876543 })).not.toBe(contentHashOf({ lat: 41.9876544 }));
});

test('links do not count on the wire, under either of their names and at any depth', () => {
  const body = { id: 1, parts: [{ name: 'a' }] };
  const linked = {
    id: 1,
    links: [{ rel: 'self', uri: 'https://a.example' }],
    parts: [{ name: 'a', link: { rel: 'self' } }],
  };
  expect(wireHashOf(linked)).toBe(wireHashOf(body));
  expect(wireHashOf({ ...body, id: 2 })).not.toBe(wireHashOf(body));
});

test('what JSON cannot say, what is too deep and what is too large is refused with its path', () => {
  const fault = (body: unknown) => {
    try {
      return wireHashOf(body);
    } catch (error) {
      return error;
    }
  };
  expect(fault({ a: [undefined] })).toMatchObject({ code: 'wrong-type', path: '/a/0' });
  expect(fault({ 'a/b~c': 1n })).toMatchObject({ code: 'wrong-type', path: '/a~1b~0c' });
  expect(fault(JSON.parse(`${'['.repeat(65)}${']'.repeat(65)}`))).toMatchObject({ code: 'too-deep' });
  expect(fault(JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`))).toHaveLength(64);
  expect(fault(Array.from({ length: 1_000_001 }, () => 0))).toMatchObject({ code: 'too-large' });
});
