import { scanJson } from '../../../src/webhook/scan-json';
import fc from '../../support/properties';

const scan = (text: string, depthMax = 64, valuesMax = 1000) =>
  scanJson(Buffer.from(text), { depthMax, valuesMax });

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test('the depth it bounds is the depth the parser would build, for any JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 12 }), fc.nat(6), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const depth = depthOf(JSON.parse(text));
      expect(scan(text, depth, Number.MAX_SAFE_INTEGER)).not.toBe('too-deep');
      if (depth > 0) expect(scan(text, depth - 1, Number.MAX_SAFE_INTEGER)).toBe('too-deep');
    }),
    { numRuns: 300 },
  );
});

test('brackets, commas and quotes inside strings count for nothing', () => {
  expect(scan('["[[[[{{{{,,,,::::", "\\"[[[[", "\\\\", "\\\\\\"[["]', 1, 3)).toMatchObject({ members: 0 });
});

test('the number of items and members is bounded', () => {
  expect(scan('[1,2,3]', 64, 2)).toEqual({ exact: false, members: 0 });
  expect(scan('[1,2,3,4]', 64, 2)).toBe('too-many-values');
  expect(scan('{"a":1,"b":2}', 64, 2)).toBe('too-many-values');
});

test.each(['[9007199254740993]', '[0.1234567890123456]', '[1e3]', '[1E3]', '{"a":-12345678901234567890}'])(
  '%s holds a number that must be read exactly',
  (text) => {
    expect(scan(text)).toMatchObject({ exact: true });
  },
);

test.each(['[123456789012345]', '["9007199254740993"]', '[true,false,null]', '[1,2]', '[12345678,90123456]'])(
  '%s holds none',
  (text) => {
    expect(scan(text)).toMatchObject({ exact: false });
  },
);

test.each(['"', '["\\', '["abc', ']]]]', '', '{'])('broken text %j does not break it', (text) => {
  expect(scan(text)).toMatchObject({ exact: false });
});
