import { checkMediaType } from '../../../src/webhook/media-type';

test.each([
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json;charset="UTF-8"',
  'application/json; charset=utf8; profile=x',
  'application/vnd.acme.axiom.v3+json',
  'application/json ;profile="a;b"',
])('%j is read', (type) => {
  expect(checkMediaType({ 'content-type': type })).toBeNull();
});

test.each([
  undefined,
  '',
  'text/plain',
  'text/json',
  'application/xml',
  'application/jsonp',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=application/json',
  'application/json; charset=latin-1',
  'application/json; charset=utf-16',
  'application/json, text/plain',
])('%j is not read', (type) => {
  expect(checkMediaType(type === undefined ? {} : { 'content-type': type })).toBe('media-type');
});

test.each(['gzip', 'br', 'deflate', 'identity, gzip', 'x'])(
  'the content encoding %j is not read',
  (encoding) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    expect(checkMediaType(headers)).toBe('content-encoding');
  },
);

test('the content encoding `identity` is none', () => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'Identity' };
  expect(checkMediaType(headers)).toBeNull();
});
