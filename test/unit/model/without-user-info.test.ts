import { withoutUserInfo } from '../../../src/model/without-user-info';
import { processorTimeOf } from '../../support/processor-time';

test.each([
  ['https://ann:pw@host/a', 'https://[secret]@host/a'],
  ['https://ann@host', 'https://[secret]@host'],
  ['HTTPS://ann:p@w@host?x=1', 'HTTPS://[secret]@host?x=1'],
  ['https:ann:pw@host/a', 'https:[secret]@host/a'],
  ['https:\\\\ann:pw@host/a', 'https:\\\\[secret]@host/a'],
  ['//ann:pw@host/a', '//[secret]@host/a'],
  ['ftp://ann:pw@host', 'ftp://[secret]@host'],
  ['http: see http://ann:p w@host', 'http: see http://[secret]@host'],
  ['https://host/ann:pw@x', 'https://host/ann:pw@x'],
  ['https://host?mail=a@b#c@d', 'https://host?mail=a@b#c@d'],
  ['ann@example.com', 'ann@example.com'],
  ['https://[secret]@host/a', 'https://[secret]@host/a'],
])('%s becomes %s', (text, clean) => {
  expect(withoutUserInfo(text)).toBe(clean);
});

test('a text of nothing but beginnings costs no more than its length', () => {
  const timeOf = (text: string) => processorTimeOf(() => withoutUserInfo(text.repeat(200_000)));
  const harmless = Math.max(timeOf('a@/b/'), 10_000);
  for (const text of ['http:', 'a//b@', '/////', '@@@@@']) expect(timeOf(text)).toBeLessThan(50 * harmless);
});
