// The signature against the examples that RFC 5849 itself prints.
import { parseForm, percentDecode, percentEncode } from '../../../../src/simulator/auth/percent-encoding';
import {
  hmacSha1,
  normalizeParameters,
  sameSignature,
  signatureBaseString,
} from '../../../../src/simulator/auth/signature';

test('the base string of RFC 5849 section 3.4.1.1 comes out as printed there', () => {
  const query = parseForm('b5=%3D%253D&a3=a&c%40=&a2=r%20b')!;
  const form = parseForm('c2&a3=2+q')!;
  const protocol: [string, string][] = [
    ['oauth_consumer_key', '9djdj82h48djs9d2'],
    ['oauth_token', 'kkk9d7dh3k39sjv7'],
    ['oauth_signature_method', 'HMAC-SHA1'],
    ['oauth_timestamp', '137131201'],
    ['oauth_nonce', '7d8f3e4a'],
  ];
  const base = signatureBaseString({
    method: 'post',
    scheme: 'http',
    host: 'EXAMPLE.COM:80',
    path: '/request',
    parameters: [...query, ...protocol, ...form],
  });
  expect(base).toBe(
    'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q' +
      '%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_' +
      'key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_m' +
      'ethod%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk' +
      '9d7dh3k39sjv7',
  );
});

test('the signature of RFC 5849 section 1.2 comes out as printed there', () => {
  const base = signatureBaseString({
    method: 'GET',
    scheme: 'http',
    host: 'photos.example.net',
    path: '/photos',
    parameters: [
      ['file', 'vacation.jpg'],
      ['size', 'original'],
      ['oauth_consumer_key', 'dpf43f3p2l4k3l03'],
      ['oauth_token', 'nnch734d00sl2jdk'],
      ['oauth_signature_method', 'HMAC-SHA1'],
      ['oauth_timestamp', '137131202'],
      ['oauth_nonce', 'chapoH'],
    ],
  });
  const signature = hmacSha1(base, 'kd94hf93k423kf44', 'pfkkdhi9sl3r4s00');
  expect(percentEncode(signature)).toBe('MdpQcU8iPSUjWoN%2FUDMsK2sui9I%3D');
});

test('a port that is not the scheme’s own stays, and an empty path is a slash', () => {
  const base = signatureBaseString({
    method: 'GET',
    scheme: 'https',
    host: 'a.example:80',
    path: '',
    parameters: [],
  });
  expect(base).toBe('GET&https%3A%2F%2Fa.example%3A80%2F&');
});

test('parameters are encoded before they are sorted', () => {
  expect(
    normalizeParameters([
      ['b', '~'],
      ['a', 'ü'],
      ['a', '!'],
      ['A', '1'],
    ]),
  ).toBe('A=1&a=%21&a=%C3%BC&b=~');
});

test('malformed encoding is refused instead of guessed', () => {
  expect(percentDecode('%zz')).toBeUndefined();
  expect(parseForm('a=%E0%A4%A')).toBeUndefined();
});

test('signatures of another length or content differ', () => {
  expect(sameSignature('abc', 'abc')).toBe(true);
  expect(sameSignature('abc', 'abd')).toBe(false);
  expect(sameSignature('abc', 'abcd')).toBe(false);
});
