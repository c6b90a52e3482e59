/**
 * The place where a customer acts comes from the provider, goes into alerts, events and logs, and must be found again by
 * whoever opens it: no person's address stays in it, and everything else does.
 */
import { pageAddress } from '../../../src/model/page-address';
import fc from '../../support/properties';

const page = 'https://provider.example/terms';

test('a place for a person is http or https, without user info, and of a bounded length', () => {
  expect(pageAddress('http://127.0.0.1:9100/terms')).toBe('http://127.0.0.1:9100/terms');
  expect(pageAddress(`${page}?org=1&lang=de#accept`)).toBe(`${page}?org=1&lang=de#accept`);
  for (const refused of [
    undefined,
    null,
    ['https://x.test/'],
    '/terms',
    'javascript:alert(1)',
    'mailto:jo@example.org',
    'https://jo:secret@provider.example/',
    'https://jo@provider.example/terms',
    `${page}/${'x'.repeat(2048)}`,
  ]) {
    expect([refused, pageAddress(refused)]).toEqual([refused, null]);
  }
});

test.each([
  ['?login_hint=jo@example.org', ''],
  ['?login_hint=jo%40example.org&org=1', '?org=1'],
  ['?org=1&jo@example.org&signature=a%2Fb+c', '?org=1&signature=a%2Fb+c'],
  ['?org=1&next=https%3A%2F%2Fp.example%2F%3Fuser%3Djo%2540example.org', '?org=1'],
  ['?org=1#/users/jo%40example.org', '?org=1'],
  ['#jo@example.org', ''],
  ['/@v2/accept?handle=@v2', '/@v2/accept?handle=@v2'],
])('what holds an e-mail address is left out of %s', (given, kept) => {
  expect(pageAddress(page + given)).toBe(page + kept);
});

test('a path that holds one leads nowhere without it, and is not told', () => {
  expect(pageAddress('https://provider.example/users/jo%40example.org/terms')).toBeNull();
  expect(pageAddress('https://provider.example/users/jo@example.org/terms')).toBeNull();
  expect(pageAddress('https://provider.example/users/jo%2540example.org')).toBeNull();
});

test('wherever an e-mail address stands, and however often it was encoded, nothing of it is left', () => {
  const word = fc.stringMatching(/^[a-z]{1,6}$/);
  const cases = fc.record({
    org: word,
    name: word,
    encodings: fc.nat(3),
    place: fc.constantFrom('value', 'bare', 'fragment', 'path'),
  });
  fc.assert(
    fc.property(cases, ({ org, name, encodings, place }) => {
      let mail = 'Jo.Doe@farm.example';
      for (let times = 0; times < encodings; times += 1) mail = encodeURIComponent(mail);
      const given = {
        value: `${page}?org=${org}&${name}=${mail}`,
        bare: `${page}?org=${org}&${mail}`,
        fragment: `${page}?org=${org}#${name}=${mail}`,
        path: `${page}/${mail}/?org=${org}`,
      }[place];
      expect(pageAddress(given)).toBe(place === 'path' ? null : `${page}?org=${org}`);
    }),
  );
});
