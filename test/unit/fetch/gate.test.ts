import { makeGate } from '../../../src/fetch/gate';

const gate = makeGate([
  'https://api.example.com/platform/',
  'https://equipment.example.com:8443/isg',
  'http://127.0.0.1:9100/platform/',
]);
const codeOf = (address: unknown) => {
  const admission = gate.admit(address);
  return admission.admitted ? 'admitted' : admission.code;
};

test.each([
  'https://api.example.com/platform/organizations/4711',
  'https://api.example.com',
  'HTTPS://API.example.com/platform',
  'https://api.example.com:443/platform',
  'https://api.example.com/a?x=1&x=2&y=%20%C3%A9',
  'https://api.example.com/organizations;start=10;count=10',
  'https://equipment.example.com:8443/isg/equipment/217001',
  'http://127.0.0.1:9100/platform/',
])('an address of a configured origin is admitted: %s', (address) => {
  expect(codeOf(address)).toBe('admitted');
});

test('what is admitted is the parsed address, not the text', () => {
  const admission = gate.admit('HTTPS://API.example.com:443/a b'.replace(' ', '%20'));
  expect(admission).toMatchObject({ admitted: true, url: { href: 'https://api.example.com/a%20b' } });
});

test.each([
  ['another host', 'https://evil.test/platform'],
  ['a subdomain suffix', 'https://api.example.com.evil.test/'],
  ['a host in the user info', 'https://api.example.com@evil.test/'],
  ['user info at the right host', 'https://user:secret@api.example.com/'],
  ['a backslash for a slash', 'https://evil.test\\@api.example.com/'],
  ['a backslash in the path', 'https://api.example.com/a\\..\\b'],
  ['a host behind a fragment', 'https://evil.test#@api.example.com/'],
  ['a fragment', 'https://api.example.com/a#b'],
  ['an encoded dot in the host', 'https://api%2eexample.com/'],
  ['full-width dots', 'https://api。example．com/'],
  ['a homograph', 'https://аpi.example.com/'],
  ['a dot at the end of the host', 'https://api.example.com./'],
  ['http for https', 'http://api.example.com/'],
  ['another port', 'https://api.example.com:8443/'],
  ['port 0', 'https://api.example.com:0/'],
  ['a file', 'file:///etc/passwd'],
  ['data', 'data:text/plain,x'],
  ['gopher', 'gopher://api.example.com/'],
  ['javascript', 'javascript:alert(1)'],
  ['a scheme-relative address', '//api.example.com/a'],
  ['a relative address', '/platform/organizations'],
  ['a scheme without slashes', 'https:api.example.com'],
  ['three slashes', 'https:///api.example.com/'],
  ['a line break in the scheme', 'ht\ntps://api.example.com/'],
  ['a space in front', ' https://api.example.com/'],
  ['another loopback port', 'http://127.0.0.1:9101/'],
  ['loopback in decimal', 'http://2130706433:9100/platform/'],
  ['loopback in hexadecimal', 'http://0x7f.1:9100/platform/'],
  ['loopback in octal', 'http://017700000001:9100/platform/'],
  ['loopback in short', 'http://127.1:9100/platform/'],
  ['loopback in circled digits', 'http://①②⑦.0.0.1:9100/platform/'],
  ['loopback as IPv6', 'http://[::1]:9100/'],
  ['loopback mapped into IPv6', 'http://[::ffff:127.0.0.1]:9100/'],
  ['localhost by name', 'http://localhost.:9100/'],
  ['the unspecified address', 'http://0:9100/'],
  ['the metadata address', 'http://169.254.169.254/latest/meta-data'],
  ['nothing', ''],
  ['no text', undefined],
  ['a number', 4711],
])('%s is refused', (_what, address) => {
  expect(codeOf(address)).toBe('address-refused');
});

test.each([
  'https://api.example.com/a/../oauth/request_token',
  'https://api.example.com/a/./b',
  'https://api.example.com/a/%2e%2e/b',
  'https://api.example.com/a/.%2E/b',
  'https://api.example.com/a/..;x=1/b',
  'https://api.example.com/a/..%3bx=1/b',
  'https://api.example.com/a/..',
  'https://api.example.com//evil.test/a',
  'https://api.example.com/a//b',
  'https://api.example.com/a/%2f../b',
  'https://api.example.com/a%2Fb',
  'https://api.example.com/a%5cb',
  'https://api.example.com/a%252fb',
  'https://api.example.com/a/%252e%252e/b',
  'https://api.example.com/a%25252fb',
  'https://api.example.com/a%00b',
  'https://api.example.com/a%0d%0ab',
  'https://api.example.com/a%7fb',
])('traversal and disguised separators are refused: %s', (address) => {
  expect(codeOf(address)).toBe('address-refused');
});

test.each([
  'https://api.example.com/a b',
  'https://api.example.com/a\tb',
  'https://api.example.com/a\nb',
  'https://api.example.com/a\u0000b',
  'https://api.example.com/a?x=%zz',
  'https://api.example.com/a%',
  'https://api.example.com/a%ff',
  'https://api.example.com/a?x[0]=1',
  'https://api.example.com/a]',
  'https://api.example.com/a?__proto__=1',
  'https://api.example.com/a?%5F_proto__=1',
  'https://api.example.com/a?oauth_nonce=x',
  'https://api.example.com/a?OAuth_token=x',
  'https://api.example.com/a?a=1&oauth%5fconsumer_key=x',
])('what cannot be signed as it is sent is refused: %s', (address) => {
  expect(codeOf(address)).toBe('address-refused');
});

test.each([
  'https://api.example.com/organizations/{orgId}',
  'https://api.example.com/organizations{?page}',
  'https://api.example.com/organizations/%7BorgId%7D',
  'https://api.example.com/organizations?x=%7bpage%7d',
])('a template that is left over has a reason of its own: %s', (address) => {
  expect(codeOf(address)).toBe('address-template');
});

test('the origin is judged before the template', () => {
  expect(codeOf('https://evil.test/{orgId}')).toBe('address-refused');
});

test('2048 characters are admitted and one more is refused, also after encoding', () => {
  const stem = 'https://api.example.com/';
  expect(codeOf(stem + 'a'.repeat(2048 - stem.length))).toBe('admitted');
  expect(codeOf(stem + 'a'.repeat(2049 - stem.length))).toBe('address-refused');
  expect(codeOf(stem + 'é'.repeat(400))).toBe('address-refused');
});

test('a detail never repeats user info, path or query', () => {
  const admission = gate.admit('https://user:canary@evil.test/canary?canary=canary');
  expect(admission).toMatchObject({ admitted: false, detail: expect.stringContaining('https://evil.test') });
  expect(JSON.stringify(admission)).not.toContain('canary');
});

test.each([
  ['https://ann:canary@api.example.com/a', 'user info before the host of https://api.example.com'],
  ['http://ann@127.0.0.1:9100/a', 'user info before the host of http://127.0.0.1:9100'],
  ['https://api%2eexample.com/', 'another spelling of the origin https://api.example.com'],
  ['http://127.1:9100/', 'another spelling of the origin http://127.0.0.1:9100'],
  ['https://ann@evil.test/', "the origin https://evil.test is not one of the provider's"],
])('%s is refused for what is wrong with it', (address, detail) => {
  expect(gate.admit(address)).toEqual({ admitted: false, code: 'address-refused', detail });
});

describe('addresses that the catalog names for authorization', () => {
  const named = makeGate(['https://api.example.com/platform/']);
  named.refuseAuthorization('', [
    'https://api.example.com/platform/oauth/request_token',
    'https://consent.example.org/authorize?oauth_token={token}',
    'not an address',
    'https://api.example.com/%ff',
  ]);
  const isAdmitted = (address: string) => named.admit(address).admitted;

  test.each([
    'https://api.example.com/platform/oauth/request_token',
    'https://api.example.com/platform/oauth/request_token/',
    'https://api.example.com/platform/oauth/request_token?x=1',
    'https://api.example.com/platform/oauth/request_token;x=1',
    'https://api.example.com/platform/oauth/%72equest_token',
    'https://api.example.com/platform/OAuth/Request_Token',
  ])('are refused as resources in every spelling: %s', (address) => {
    expect(isAdmitted(address)).toBe(false);
  });

  test('are taken at once, however long the catalog makes them', () => {
    const long = `https://api.example.com${'/'.repeat(1_000_000)}x;y`;
    named.refuseAuthorization('long', [long]);
    named.refuseAuthorization('long', []);
    expect(isAdmitted('https://api.example.com/x')).toBe(true);
  });

  test('are replaced when the catalog of their context names others', () => {
    named.refuseAuthorization('c1', ['https://api.example.com/platform/tokens/1']);
    expect(isAdmitted('https://api.example.com/platform/tokens/1')).toBe(false);
    named.refuseAuthorization('c1', []);
    expect(isAdmitted('https://api.example.com/platform/tokens/1')).toBe(true);
    expect(isAdmitted('https://api.example.com/platform/oauth/request_token')).toBe(false);
  });
});

describe('the OAuth 2 issuer', () => {
  const api = 'https://api.example.com/platform/';
  const admits = (issuer: string, address: string) => makeGate([api], issuer).admit(address).admitted;
  const token = 'https://api.example.com/signin/v1/token';

  test('with a path has no resource there or below, in any spelling', () => {
    const issuer = 'https://api.example.com/signin/';
    expect(admits(issuer, token)).toBe(false);
    expect(admits(issuer, 'https://api.example.com/SignIn')).toBe(false);
    expect(admits(issuer, 'https://api.example.com/sign%69n;x=1/v1/token?a=b')).toBe(false);
    expect(admits(issuer, 'https://api.example.com/signing')).toBe(true);
    expect(admits('https://other.example.com/signin', token)).toBe(true);
  });

  test('without a path, or with the catalog below its own, closes nothing', () => {
    expect(admits('https://api.example.com', token)).toBe(true);
    expect(admits('https://api.example.com/platform', `${api}organizations`)).toBe(true);
  });
});

test.each([
  ['http on a host', 'http://api.example.com/'],
  ['http on localhost by name', 'http://localhost:9100/'],
  ['another scheme', 'ftp://api.example.com/'],
  ['user info', 'https://user@api.example.com/'],
  ['no address', 'api.example.com'],
])('a setting with %s is refused', (_what, address) => {
  expect(() => makeGate([address])).toThrow(expect.objectContaining({ code: 'settings.invalid' }));
});

test('http on an IPv6 loopback literal is accepted', () => {
  expect(makeGate(['http://[::1]:9100/']).admit('http://[::1]:9100/a').admitted).toBe(true);
  expect(makeGate(['http://127.0.0.1/']).admit('http://127.0.0.1:80/a').admitted).toBe(true);
});
