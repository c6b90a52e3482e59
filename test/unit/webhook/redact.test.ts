import { Secret } from '../../../src/tools/secret';
import { redactBody, redactElement } from '../../../src/webhook/redact';

const redact = (text: string, ...secrets: string[]) =>
  redactBody(
    Buffer.from(text),
    secrets.map((secret) => new Secret(secret)),
  ).toString();

test('what is called a token is hidden, though the body is no JSON', () => {
  expect(redact('[{"token" : "abc\\"def", "a":1}, {"Token":"x"')).toBe(
    '[{"token" : "[secret]", "a":1}, {"Token":"[secret]"',
  );
});

test('user info of an address is hidden, in what is JSON and in what is not', () => {
  expect(redact('[{"a":"https:\\/\\/ann:pw@host\\/x","b":"c@d"} ftp://ann@host')).toBe(
    '[{"a":"https:\\/\\/[secret]@host\\/x","b":"c@d"} ftp://[secret]@host',
  );
  expect(redactElement({ a: [{ b: 'https://ann:p"w@host/c@d' }] }, [])).toBe(
    '{"a":[{"b":"https://[secret]@host/c@d"}]}',
  );
});

test('a secret that reads like user info is hidden whole', () => {
  const secret = new Secret('ab//cd@efgh');
  expect(redactElement({ a: 'Basic ab//cd@efgh' }, [secret])).toBe('{"a":"Basic [secret]"}');
});

test('a token that is cut off at the end is hidden as well', () => {
  expect(redact('[{"token":"abc')).toBe('[{"token":"[secret]"');
  expect(redact('[{"token":"abc\\')).toBe('[{"token":"[secret]"');
});

test.each(['\\\n', '\\\r', '\n', '\\\\', '\\\u2028', '\\"'])(
  'a token that holds %j is hidden as well',
  (odd) => {
    expect(redact(`[{"token":"abc-${odd}def","x":1}]`)).toBe('[{"token":"[secret]","x":1}]');
  },
);

test('current secrets are hidden wherever they stand', () => {
  expect(redact('Bearer canary-1 and canary-2', 'canary-1', 'canary-2')).toBe('Bearer [secret] and [secret]');
});

test('a secret is hidden also where JSON escapes it', () => {
  const secret = 'Digest username="ann"';
  expect(redact(JSON.stringify([secret]), secret)).toBe('["[secret]"]');
});

test('a secret of two characters is not searched for', () => {
  expect(redact('[1,2]', '1', ',2')).toBe('[1,2]');
});

test('every other byte stays as it was, valid or not', () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
  expect(redactBody(bytes, []).equals(bytes)).toBe(true);
});

test('it is cut at 8 KiB, also when hiding shortened it, and hides what the cut would split', () => {
  expect(redactBody(Buffer.alloc(5_000_000, 0x5b), [])).toHaveLength(8192);
  const tokens = `[${`{"token":"${'s'.repeat(250)}"},`.repeat(2000)}`;
  const kept = redact(tokens);
  expect(kept.length).toBeLessThanOrEqual(8192);
  expect(kept).not.toContain('sss');
});
