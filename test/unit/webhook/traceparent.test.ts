import { readTraceparent } from '../../../src/webhook/traceparent';

const trace = 'a'.repeat(32);
const span = 'b'.repeat(16);

test('a valid header is taken as it is', () => {
  expect(readTraceparent(`00-${trace}-${span}-01`)).toBe(`00-${trace}-${span}-01`);
});

test.each([
  undefined,
  '',
  'x',
  `00-${'0'.repeat(32)}-${span}-01`,
  `00-${trace}-${'0'.repeat(16)}-01`,
  `00-${trace.toUpperCase()}-${span}-01`,
  `ff-${trace}-${span}-01`,
  `01-${trace}-${span}-01-more`,
  `00-${trace}-${span}-01-more`,
  `00-${trace}-${span}-01, 00-${trace}-${span}-01`,
  `00-${trace}-${span}-01\n`,
])('%j is none', (header) => {
  expect(readTraceparent(header)).toBeNull();
});
