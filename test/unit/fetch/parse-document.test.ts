import { mediaTypeOf, parseDocument } from '../../../src/fetch/parse-document';

const parse = (body: string | Buffer, mediaType = 'application/json') =>
  parseDocument(Buffer.from(body as string), mediaType, 4);

test('JSON is read by any JSON media type', () => {
  expect(parse('{"a":1}')).toEqual({ document: { a: 1 } });
  expect(parse('{"a":1}', 'application/vnd.acme.axiom.v3+json')).toEqual({ document: { a: 1 } });
  expect(parse('{"a":1}', 'application/octet-stream')).toEqual({ code: 'unexpected-media-type' });
  expect(parse('{"a":1}', '')).toEqual({ code: 'unexpected-media-type' });
  expect(parse('<html/>', 'application/xhtml+xml')).toEqual({ code: 'html-answer' });
});

test('whole numbers too large for a double keep their digits', () => {
  expect(parse('{"id":9007199254740993,"n":9007199254740991,"x":-12345678901234567890}')).toEqual({
    document: { id: '9007199254740993', n: 9007199254740991, x: '-12345678901234567890' },
  });
  expect(parse('{"area":0.1234567890123456789,"big":1234567890123456e5}')).toEqual({
    document: { area: 0.12345678901234568, big: 1234567890123456e5 },
  });
});

test('depth is counted outside strings only', () => {
  expect(parse('[[[[1]]]]')).toHaveProperty('document');
  expect(parse('[[[[[1]]]]]')).toEqual({ code: 'too-deep' });
  expect(parse('{"a":"[[[[[{{{{{","b":"\\"[[[[["}')).toHaveProperty('document');
  expect(parse('[[1],[2],[3],[4],[5],[6]]')).toHaveProperty('document');
  expect(parse(`${'['.repeat(200_000)}`)).toEqual({ code: 'too-deep' });
  expect(parse('"\\')).toEqual({ code: 'invalid-json' });
});

test('a byte order mark is skipped, other bytes that are no text are refused', () => {
  expect(parse(Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]))).toEqual({ document: {} });
  expect(parse(Buffer.from([0x22, 0xff, 0x22]))).toEqual({ code: 'invalid-text' });
  expect(parse('')).toEqual({ code: 'empty-answer' });
  expect(parse('not json')).toEqual({ code: 'invalid-json' });
});

test('a key that names the prototype changes no prototype', () => {
  const parsed = parse('{"__proto__":{"polluted":true},"id":99999999999999999999}') as { document: object };
  expect(Object.hasOwn(parsed.document, '__proto__')).toBe(true);
  expect('polluted' in {}).toBe(false);
});

test('a media type is told without its parameters', () => {
  expect(mediaTypeOf('Application/JSON; charset=UTF-8')).toBe('application/json');
  expect(mediaTypeOf(undefined)).toBe('');
});
