// A person is named nowhere, and what belongs together is still seen to.
import { createHash } from 'node:crypto';
import { withoutAddresses } from '../../../src/model/without-addresses';

const digest = (address: string) =>
  `address-${createHash('sha256').update(address).digest('hex').slice(0, 12)}`;

test('an e-mail address becomes a short digest, the same wherever it stands', () => {
  const ann = 'ann.smith+farm@mail.example.org';
  expect(withoutAddresses(ann)).toBe(digest(ann));
  expect(withoutAddresses(`{"connectionId":"${ann}","of":"<${ann}>, bob@example.org."}`)).toBe(
    `{"connectionId":"${digest(ann)}","of":"<${digest(ann)}>, ${digest('bob@example.org')}."}`,
  );
});

test.each(['connection-1', 'a@b', 'node_modules/@opentelemetry/api/build', '5 @ 3.5', 'name@1.2.3', ''])(
  'what is none stays: %j',
  (text) => {
    expect(withoutAddresses(text)).toBe(text);
  },
);

test('a long run of what could be one is gone through once', () => {
  const text = `${'a'.repeat(50_000)}@${'b.'.repeat(50_000)}`;
  expect(withoutAddresses(text)).toBe(text);
});
