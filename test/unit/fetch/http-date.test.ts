// The provider's clock is read from a date of HTTP alone: what is read otherwise pages at night.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { httpDateMs } from '../../../src/fetch/http-date';

test.each(['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])(
  '%s is a time',
  (said) => {
    expect(httpDateMs(said)).toBe(Date.UTC(1994, 10, 6, 8, 49, 37));
  },
);

test.each([
  undefined,
  '',
  '0',
  'yesterday',
  'Mon, 23 Nov 2026',
  '2026-11-23T00:00:00Z',
  'Sun, 06 Nov 1994 08:49:37',
  'Sun, 06 Nov 1994 08:49:37 +0100',
  'Sun, 06 Nov 1994 25:49:37 GMT',
  'Tue, 31 Feb 2026 08:49:37 GMT',
  'Tuesday, 31-Feb-26 08:49:37 GMT',
  'Tue Feb 31 08:49:37 2026',
])('%j is none', (said) => {
  expect(httpDateMs(said)).toBeNull();
});

test('the form without a zone is read in none of the machine’s', () => {
  const file = join(__dirname, '../../../src/fetch/http-date.ts');
  const words = `require(${JSON.stringify(file)}).httpDateMs('Sun Nov  6 08:49:37 1994')`;
  const env = { ...process.env, TZ: 'Asia/Tokyo' };
  const said = execFileSync(process.execPath, ['-p', words], { encoding: 'utf8', env });
  expect(Number(said)).toBe(Date.UTC(1994, 10, 6, 8, 49, 37));
});
