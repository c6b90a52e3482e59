// What people paste: a whole address, its end, the two values, or one.
import { carriedAnswer } from '../../../src/commands/carried-answer';
import { declined } from '../../../src/model/consent-error';

test.each([
  ['farm-app:done?oauth_token=t&oauth_verifier=v', { code: 'v', token: 't' }],
  ['https://tramline.test/connect/callback?code=c%2B1&state=s#top', { code: 'c+1', token: 's' }],
  ['code=c&state=s', { code: 'c', token: 's' }],
  ['  token  verifier \n', { code: 'verifier', token: 'token' }],
  ['token, verifier', { code: 'verifier', token: 'token' }],
  ['Code abc', { code: 'abc', token: null }],
  ['Token: t\tVerifier: v', { code: 'v', token: 't' }],
  ['verifier v, oauth_token t', { code: 'v', token: 't' }],
  ['t Verifier v', { code: 'v', token: 't' }],
  ['Verification code: 123', { code: '123', token: null }],
  ['your OAuth token t your verifier v', { code: 'v', token: 't' }],
  ['only-the-code', { code: 'only-the-code', token: null }],
  ['farm-app:done?error=access_denied&state=s', { error: declined }],
  [
    'error=invalid_scope&state=s',
    { error: { code: 'consent-refused', detail: expect.stringContaining('invalid_scope') } },
  ],
  ['farm-app:done?oauth_token=t&oauth_problem=permission_denied', { error: declined }],
  ['farm-app:done?denied=t', { error: declined }],
  ['Answer error=access_denied', { error: declined }],
])('%p is understood', (line, carried) => {
  expect(carriedAnswer(line)).toEqual(carried);
});

test.each([
  '',
  '   ',
  'three words here',
  'Code a b c',
  'PIN: 123',
  'https://tramline.test/?x=1',
  'x'.repeat(4097),
])('%p is not', (line) => {
  expect(carriedAnswer(line)).toBeNull();
});
