import { failureCode } from '../../../src/fetch/failure-code';

test.each([
  ['ECONNREFUSED', 'connection-refused'],
  ['ECONNRESET', 'connection-reset'],
  ['EPIPE', 'connection-reset'],
  ['ENOTFOUND', 'name-not-resolved'],
  ['EAI_AGAIN', 'name-not-resolved'],
  ['ETIMEDOUT', 'connection-timeout'],
  ['EADDRESSPRIVATE', 'address-private'],
  ['HPE_INVALID_CONSTANT', 'answer-malformed'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls-refused'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls-refused'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls-refused'],
  ['EPROTO', 'tls-refused'],
  ['EWHATEVER', 'network'],
])('%s is %s', (code, expected) => {
  expect(failureCode(Object.assign(new Error('x'), { code }))).toBe(expected);
});

test('an error without a code is one of the network', () => {
  expect(failureCode(new Error('x'))).toBe('network');
});
