import { errorMessageOf, shown } from '../../../src/fetch/error-message';

const messageOf = (body: unknown, mediaType = 'application/json') =>
  errorMessageOf(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), mediaType);

test.each([
  [
    'the platform’s object',
    { '@type': 'Errors', errors: [{ guid: 'g', message: 'Access Denied' }] },
    'Access Denied',
  ],
  ['a bare array', [{ guid: 'g', message: 'one', code: 400 }, { message: 'two' }], 'one; two'],
  ['the array with the misspelt id', [{ gud: 'g', message: 'not found', field: 'id' }], 'not found'],
  ['OAuth 2', { error: 'invalid_token', error_description: 'The token expired' }, 'The token expired'],
  ['a problem document', { title: 'Bad gateway', status: 502 }, 'Bad gateway'],
  ['a JSON string', '"broken"', 'broken'],
])('the message of %s is found', (_what, body, expected) => {
  expect(messageOf(body)).toBe(expected);
});

test('plain text is its own message, whatever it calls itself', () => {
  expect(messageOf('Flood protection', 'text/plain')).toBe('Flood protection');
  expect(messageOf('Flood protection')).toBe('Flood protection');
});

test.each([
  ['nothing', ''],
  ['JSON cut short', '{"errors":[{"message":"x'],
  ['JSON without a message', { a: 1 }],
  ['an array of nothing', '[null, 3, {}]'],
  ['markup', '<error/>'],
])('%s is no message', (_what, body) => {
  expect(messageOf(body)).toBeNull();
});

test('an HTML page is no message', () => {
  expect(messageOf('Service down', 'text/html')).toBeNull();
});

test('S14: a message is one line of at most 500 characters', () => {
  expect(shown('a\r\nb\u0000\u202ec\t d')).toBe('a b c d');
  expect(shown(' \n ')).toBeNull();
  expect(messageOf({ message: 'x'.repeat(2000) })).toHaveLength(500);
  expect(messageOf(`${'y'.repeat(40_000)}`, 'text/plain')).toHaveLength(500);
});

test('a message names nobody: the e-mail addresses in it are taken out, also where it is cut', () => {
  const asked = 'Ask ann.smith@farm.example, <jo@farm.example> or ann%40farm.example to act';
  expect(messageOf({ errors: [{ message: asked }] })).toBe('Ask [address], <[address]> or [address] to act');
  expect(messageOf(asked, 'text/plain')).not.toContain('farm');
  expect(shown(`${'x '.repeat(245)}ann.smith@farm.example`)).toMatch(/x \[address\]$/);
  expect(shown('50 % of 3@ and @ here')).toBe('50 % of 3@ and @ here');
});

test('of many errors the first three are told', () => {
  expect(messageOf(Array.from({ length: 9 }, (_, at) => ({ message: `m${at}` })))).toBe('m0; m1; m2');
});
