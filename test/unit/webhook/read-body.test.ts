import { digitsOf } from '../../../src/webhook/exact-number';
import { readBody } from '../../../src/webhook/read-body';
import { repeatedMembers } from '../../../src/webhook/repeated-members';
import { processorTimeOf } from '../../support/processor-time';
import fc from '../../support/properties';

const read = (text: string) => readBody(Buffer.from(text));
const faultOf = (body: Buffer) => {
  const reading = readBody(body);
  return 'fault' in reading ? reading.fault : null;
};

test('an array of 1 to 256 is read as it is', () => {
  expect(read('[1]')).toEqual({ elements: [1], repeated: new Map() });
  const many = JSON.stringify(Array.from({ length: 256 }, (_, at) => at));
  expect(read(many)).toMatchObject({ elements: JSON.parse(many) });
});

test.each([
  ['', 'empty'],
  [' ', 'not-json'],
  ['[', 'not-json'],
  ['[1,]', 'not-json'],
  ['[1] x', 'not-json'],
  ['\uFEFF[1]', 'not-json'],
  ['{}', 'not-an-array'],
  ['{"0":1,"length":1}', 'not-an-array'],
  ['null', 'not-an-array'],
  ['5', 'not-an-array'],
  ['12345678901234567890', 'not-an-array'],
  ['"[1]"', 'not-an-array'],
  ['[]', 'no-elements'],
  [`[${'1,'.repeat(256)}1]`, 'too-many-elements'],
  [`${'['.repeat(65)}${']'.repeat(65)}`, 'too-deep'],
  ['['.repeat(200_000), 'too-deep'],
  [`[{${Array.from({ length: 60_000 }, (_, at) => `"k${at}":1`).join(',')}}]`, 'too-many-values'],
])('%.20j… is refused as %s', (text, fault) => {
  expect(read(text)).toEqual({ fault });
});

test.each([
  ['a byte that begins nothing', [0x5b, 0x22, 0xff, 0x22, 0x5d]],
  ['a cut character', [0x5b, 0x22, 0xc3, 0x22, 0x5d]],
  ['an overlong form', [0x5b, 0x22, 0xc0, 0xaf, 0x22, 0x5d]],
  ['a surrogate', [0x5b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x5d]],
  ['Latin-1', [...Buffer.from('["é"]', 'latin1')]],
  ['UTF-16', [...Buffer.from('\uFEFF["a"]', 'utf16le')]],
])('%s is not UTF-8', (_what, bytes) => {
  expect(faultOf(Buffer.from(bytes))).toBe('not-utf8');
});

test('a member named `__proto__` is a member like any other, and changes no prototype', () => {
  const reading = read('[{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}]');
  const element = 'elements' in reading ? (reading.elements[0] as Record<string, unknown>) : {};
  expect(Object.keys(element)).toEqual(['__proto__', 'constructor']);
  expect(Object.getPrototypeOf(element)).toBe(Object.prototype);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(element.polluted).toBeUndefined();
});

test('a member that came before under the same name is named, however it is written and wherever it is', () => {
  const fine = '{"a":"{\\"a\\":1,","b":[{"a":1},{"a":1}],"c":{"a":9007199254740993,"__proto__":1}}';
  const text = `[${fine},{"a":1,"a":2},7,{"b":[1,{"c/d":1,"c/d":2}]},{"a":{},"\\u0061":[]}]`;
  expect(read(`[${fine}]`)).toMatchObject({ repeated: new Map() });
  expect(read(text)).toMatchObject({
    repeated: new Map([
      [1, { path: '/a', text: '{"a":1,"a":2}' }],
      [3, { path: '/b/1/c~1d', text: '{"b":[1,{"c/d":1,"c/d":2}]}' }],
      [4, { path: '/a', text: '{"a":{},"\\u0061":[]}' }],
    ]),
  });
});

test('what was written from values has no member twice', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 5 }), { minLength: 1, maxLength: 9 }), (values) => {
      const text = JSON.stringify(values);
      expect(repeatedMembers(Buffer.from(text))).toEqual(new Map());
      expect(readBody(Buffer.from(text))).toMatchObject({ repeated: new Map() });
    }),
    { numRuns: 300 },
  );
});

test.each(['9007199254740993', '340282366920938463463374607431768211456', '18446744073709551616'])(
  'the number %s keeps its digits',
  (digits) => {
    const reading = read(`[{"id":${digits}}]`);
    const [element] = 'elements' in reading ? reading.elements : [];
    expect(digitsOf((element as { id: unknown }).id)).toBe(digits);
    expect(JSON.stringify(element)).toBe(`{"id":${digits}}`);
  },
);

test.each(['-1', '1.5', '1e400', '"4711"', 'null', '[4711]', '-9007199254740993', '0.12345678901234567'])(
  '%s is no whole number that could be an id',
  (text) => {
    const reading = read(`[{"id":${text}}]`);
    const [element] = 'elements' in reading ? reading.elements : [];
    expect(digitsOf((element as { id: unknown }).id)).toBeNull();
  },
);

test('ordinary numbers are ordinary, also beside long ones', () => {
  expect(read('[{"a":1.5,"b":47,"c":1000000000000000000}]')).toMatchObject({ elements: [{ a: 1.5, b: 47 }] });
  expect(digitsOf(47)).toBe('47');
  expect(digitsOf(0)).toBe('0');
});

test('no bytes whatever make it throw, and what it returns can be printed', () => {
  const hostile = fc.oneof(
    fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: 'binary', maxLength: 400 }).map((text) => Buffer.from(text)),
    fc.json().map((text) => Buffer.from(text)),
    fc
      .array(fc.constantFrom('[', ']', '{', '}', '"', ',', ':', '\\', '1', 'e', '-', '"a"', '\\u0000'))
      .map((parts) => Buffer.from(`[${parts.join('')}]`)),
  );
  fc.assert(
    fc.property(hostile, (body) => {
      const reading = readBody(body);
      if ('fault' in reading) expect(typeof reading.fault).toBe('string');
      else {
        expect(reading.elements.length).toBeGreaterThan(0);
        expect(JSON.parse(JSON.stringify(reading.elements))).toEqual(JSON.parse(body.toString()));
      }
    }),
    { numRuns: 2000 },
  );
});

test('of several members that came before, the first is named', () => {
  const [first, second] = ['{"a":1,"a":2,"b":{"c":1,"c":2},"a":3}', '[ {"b": "}", "b":2} ]'];
  expect(read(`[${first} , ${second}]`)).toMatchObject({
    repeated: new Map([
      [0, { path: '/a', text: first }],
      [1, { path: '/0/b', text: second }],
    ]),
  });
});

test('members that repeat below a long name cost no more than members that do not', () => {
  const below = (name: string) => Array.from({ length: 20_000 }, (_, at) => `"${name}${at}":1`).join(',');
  const body = (repeated: string) => {
    const members = below('ab');
    const shown =
      repeated === '' ? members : members.replaceAll(/"ab\d+"/g, (all) => repeated.padEnd(all.length));
    return Buffer.from(`[{"${'k'.repeat(200_000)}":{${shown}}}]`);
  };
  const [hostile, harmless] = [body('"a"'), body('')];
  expect(hostile).toHaveLength(harmless.length);
  const times = { hostile: [] as number[], harmless: [] as number[] };
  for (let round = 0; round < 2; round += 1) {
    times.harmless.push(processorTimeOf(() => void repeatedMembers(harmless)));
    times.hostile.push(processorTimeOf(() => void repeatedMembers(hostile)));
  }
  expect(Math.min(...times.hostile)).toBeLessThan(10 * Math.min(...times.harmless));
});
