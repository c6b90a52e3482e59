import { makeGate } from '../../../src/fetch/gate';
import { makeSigner, type RequestToSign } from '../../../src/fetch/sign';
import { Secret } from '../../../src/tools/secret';
import fc from '../../support/properties';
import { connectionOf, stillClock } from '../../support/provider-client';
import { baseStringOf, encode, headerPairs, signatureOf } from '../../support/rfc5849';

const clientSecret = 'kd94hf93k423kf44';
const user = connectionOf({
  auth: 'oauth1',
  token: new Secret('nnch734d00sl2jdk'),
  tokenSecret: new Secret('pfkkdhi9sl3r4s00'),
});

function signerAt(seconds: number, nonce?: string) {
  return makeSigner({
    clientKey: 'dpf43f3p2l4k3l03',
    clientSecret: new Secret(clientSecret),
    clock: stillClock(seconds * 1000),
    ...(nonce !== undefined && { nonce: () => nonce }),
  });
}

const parameter = (header: string | null, name: string) =>
  headerPairs(header ?? '').find(([found]) => found === name)?.[1];

describe('the independent implementation', () => {
  test('agrees with the signature published in RFC 5849 section 1.2', () => {
    const request = {
      method: 'GET',
      address: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
      authorization:
        'OAuth realm="Photos", oauth_consumer_key="dpf43f3p2l4k3l03", oauth_token="nnch734d00sl2jdk", ' +
        'oauth_signature_method="HMAC-SHA1", oauth_timestamp="137131202", oauth_nonce="chapoH", ' +
        'oauth_signature="MdpQcU8iPSUjWoN%2FUDMsK2sui9I%3D"',
    };
    expect(signatureOf(request, clientSecret, 'pfkkdhi9sl3r4s00')).toBe('MdpQcU8iPSUjWoN/UDMsK2sui9I=');
  });

  test('agrees with the signature of the access token call published in RFC 5849 section 1.2', () => {
    const authorization =
      'OAuth realm="Photos", oauth_consumer_key="dpf43f3p2l4k3l03", oauth_token="hh5s93j4hdidpola", ' +
      'oauth_signature_method="HMAC-SHA1", oauth_timestamp="137131201", oauth_nonce="walatlh", ' +
      'oauth_verifier="hfdp7dh39dks9884"';
    const request = { method: 'POST', address: 'https://photos.example.net/token', authorization };
    expect(signatureOf(request, clientSecret, 'hdhd0244k9j7ao03')).toBe('gKgrFCywp7rO0OXSjdot/IHF7IU=');
  });

  test('agrees with the base string published in RFC 5849 section 3.4.1.1', () => {
    const request = {
      method: 'POST',
      address: 'http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b',
      form: 'c2&a3=2+q',
      authorization:
        'OAuth realm="Example", oauth_consumer_key="9djdj82h48djs9d2", oauth_token="kkk9d7dh3k39sjv7", ' +
        'oauth_signature_method="HMAC-SHA1", oauth_timestamp="137131201", oauth_nonce="7d8f3e4a", ' +
        'oauth_signature="djosJKDKJSD8743243%2Fjdk33klY%3D"',
    };
    expect(baseStringOf(request)).toBe(
      'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540' +
        '%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method' +
        '%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
    );
  });
});

test('the published OAuth Core 1.0 example is signed as published', () => {
  const url = new URL('http://photos.example.net/photos?file=vacation.jpg&size=original');
  const header = signerAt(1191242096, 'kllo9940pd9333jh').authorize({ method: 'GET', url }, user);
  expect(parameter(header, 'oauth_signature')).toBe('tR3+Ty81lMeYAr/Fid0kMTYa/WM=');
});

describe('the published example of a consent', () => {
  const signer = (seconds: number, nonce: string) =>
    makeSigner({
      clientKey: 'GDdmIQH6jhtmLUypg82g',
      clientSecret: new Secret('MCD8BKwGdgPHvAuvgvz4EQpqDAtx89grbuNMRd7Eh98'),
      clock: stillClock(seconds * 1000),
      nonce: () => nonce,
    });

  test('is signed as published when it asks for a request token, the callback in the header', () => {
    const callback = 'http://localhost:3005/the_dance/process_callback?service_provider_id=11';
    const url = new URL('https://api.twitter.com/oauth/request_token');
    const header = signer(1272323042, 'QP70eNmVz8jvdPevU3oJD2AfF7R7odC2XJcn4XlZJqk').authorize(
      { method: 'POST', url, oauth: { callback } },
      null,
    );
    expect(parameter(header, 'oauth_signature')).toBe('8wUi7m5HFQy76nowoCThusfgB+Q=');
    expect(parameter(header, 'oauth_callback')).toBe(callback);
    expect(parameter(header, 'realm')).toBe('');
  });

  test('is signed as published when it trades the verifier, which stands in the header', () => {
    const url = new URL('https://api.twitter.com/oauth/access_token');
    const requestToken = {
      auth: 'oauth1' as const,
      token: new Secret('8ldIZyxQeVrFZXFOZH5tAwj6vzJYuLQpl0WUEYtWc'),
      tokenSecret: new Secret('x6qpRnlEmW9JbQn4PQVVeVG8ZLPEx6A0TOebgwcuA'),
    };
    const verifier = 'pDNg57prOHapMbhv25RNf75lVRd6JDsni1AJJIDYoTY';
    const header = signer(1272323047, '9zWH6qe0qG7Lc1telCn7FhUbLyVdjEaL3MO5uHxn8').authorize(
      { method: 'POST', url, oauth: { verifier } },
      requestToken,
    );
    expect(parameter(header, 'oauth_signature')).toBe('PUw/dHA4fnlJYM6RhXk5IU/0fCc=');
    expect(parameter(header, 'oauth_verifier')).toBe(verifier);
  });
});

test('the header carries exactly the parameters of the contract, an empty realm first', () => {
  const url = new URL('https://api.example.test/platform/?a=b');
  const header = signerAt(1191242096, 'n1').authorize({ method: 'GET', url }, user) ?? '';
  expect(header).toMatch(/^OAuth realm="", /);
  const pairs = headerPairs(header);
  expect(pairs.map(([name]) => name).sort()).toEqual([
    'oauth_consumer_key',
    'oauth_nonce',
    'oauth_signature',
    'oauth_signature_method',
    'oauth_timestamp',
    'oauth_token',
    'oauth_version',
    'realm',
  ]);
  expect(Object.fromEntries(pairs)).toMatchObject({
    realm: '',
    oauth_consumer_key: 'dpf43f3p2l4k3l03',
    oauth_nonce: 'n1',
    oauth_signature_method: 'HMAC-SHA1',
    oauth_timestamp: '1191242096',
    oauth_token: 'nnch734d00sl2jdk',
    oauth_version: '1.0',
  });
});

test('without a user the request is signed for the application alone', () => {
  const url = new URL('https://api.example.test/platform/');
  const header = signerAt(1191242096).authorize({ method: 'GET', url }, null) ?? '';
  expect(parameter(header, 'oauth_token')).toBeUndefined();
  const sent = { method: 'GET', address: url.href, authorization: header };
  expect(parameter(header, 'oauth_signature')).toBe(signatureOf(sent, clientSecret, ''));
});

test('each signature has a nonce of its own with at least 64 random bits', () => {
  const url = new URL('https://api.example.test/platform/');
  const signer = signerAt(1191242096);
  const nonces = Array.from({ length: 1000 }, () =>
    parameter(signer.authorize({ method: 'GET', url }, user), 'oauth_nonce'),
  );
  expect(new Set(nonces).size).toBe(1000);
  expect(nonces.every((nonce) => (nonce ?? '').length >= 16)).toBe(true);
});

test('an OAuth 2 connection sends its token as a bearer', () => {
  const url = new URL('https://api.example.test/platform/');
  const signer = makeSigner({
    clientKey: 'k',
    clientSecret: new Secret('s'),
    clock: stillClock(),
  });
  expect(signer.authorize({ method: 'GET', url }, connectionOf())).toBe('Bearer canary-token');
});

describe('generated requests', () => {
  const seed = 5849;
  // What the provider's secrets look like (base64), and what makes signing go wrong.
  const awkward = fc.constantFrom(
    '+',
    '=',
    '/',
    '&',
    '%',
    ' ',
    '!',
    '*',
    "'",
    '(',
    ')',
    '~',
    ';',
    ':',
    '@',
    '$',
    ',',
    'é',
    '漢',
    '🚜',
    '',
  );
  const text = fc
    .array(fc.oneof(awkward, fc.string({ maxLength: 4 })), { maxLength: 5 })
    .map((parts) => parts.join(''));
  const wellFormed = text.filter((value) => value.isWellFormed());
  const name = wellFormed.filter((value) => value !== '__proto__' && !/^oauth_/i.test(value));
  const pairs = fc.array(fc.tuple(name, wellFormed), { maxLength: 5 });
  const repeated = fc
    .tuple(name, fc.array(wellFormed, { minLength: 2, maxLength: 4 }))
    .map(([key, values]) => values.map((value): [string, string] => [key, value]));
  const host = fc.constantFrom(
    'api.example.test',
    'API.example.test',
    'api.example.test:443',
    'api.example.test:8443',
    'bücher.example.test',
  );
  const segment = fc.oneof(
    fc.constantFrom(
      'organizations',
      '4711',
      'machines;start=10;count=10',
      'a:b',
      "it's",
      '(x)',
      '~',
      '%C3%A9',
      '%20',
    ),
    fc.string({ unit: fc.constantFrom('a', 'b', '0', '9'), minLength: 1, maxLength: 4 }),
  );
  const path = fc
    .array(segment, { maxLength: 4 })
    .map((segments) => (segments.length === 0 ? '' : `/${segments.join('/')}`));
  // Both encodings that clients use for a space, and upper- or lower-case digits.
  const encoders = [
    encode,
    encodeURIComponent,
    (value: string) => encode(value).replaceAll('%20', '+'),
    (value: string) => encode(value).replace(/%../g, (code) => code.toLowerCase()),
  ];
  const encoder = fc.constantFrom(...encoders);
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'get');
  const secret = fc.base64String({ maxLength: 24 });
  const generated = fc.record({
    method,
    host,
    path,
    query: fc.tuple(pairs, fc.option(repeated)),
    form: fc.option(fc.tuple(pairs, fc.option(repeated))),
    encoder,
    clientSecret: secret,
    tokenSecret: fc.option(secret),
    token: secret,
    flow: fc.constantFrom('none', 'callback', 'verifier'),
    said: wellFormed,
  });
  const gate = makeGate([
    'https://api.example.test/',
    'https://api.example.test:8443/',
    'https://bücher.example.test/',
  ]);

  function joined(parts: [string, string][], encoded: (value: string) => string): string {
    return parts.map(([key, value]) => `${encoded(key)}=${encoded(value)}`).join('&');
  }

  test('6,000 requests are signed as an independent implementation of RFC 5849 signs them', () => {
    let signed = 0;
    fc.assert(
      fc.property(generated, (sample) => {
        const query = [...sample.query[0], ...(sample.query[1] ?? [])];
        const form = sample.form === null ? undefined : [...sample.form[0], ...(sample.form[1] ?? [])];
        const raw = `https://${sample.host}${sample.path}${query.length === 0 ? '' : `?${joined(query, sample.encoder)}`}`;
        const url = new URL(raw);
        const connection = connectionOf({
          auth: 'oauth1',
          token: new Secret(sample.token),
          tokenSecret: sample.tokenSecret === null ? null : new Secret(sample.tokenSecret),
        });
        const signer = makeSigner({
          clientKey: 'key+/=',
          clientSecret: new Secret(sample.clientSecret),
          clock: stillClock(),
        });
        const request: RequestToSign = {
          method: sample.method,
          url,
          ...(form && { form }),
          ...(sample.flow !== 'none' && { oauth: { [sample.flow]: sample.said } }),
        };
        const authorization = signer.authorize(request, connection) ?? '';
        const sent = {
          method: sample.method,
          address: url.href,
          ...(form && { form: joined(form, sample.encoder) }),
          authorization,
        };
        signed += 1;
        const expected = sample.flow === 'none' ? undefined : sample.said;
        if (parameter(authorization, `oauth_${sample.flow}`) !== expected)
          throw new Error('not as it was given');
        expect(parameter(authorization, 'oauth_signature')).toBe(
          signatureOf(sent, sample.clientSecret, sample.tokenSecret ?? ''),
        );
      }),
      { numRuns: 6000, seed },
    );
    expect(signed).toBeGreaterThanOrEqual(6000);
  }, 60_000);

  test('what the gate admits of raw text is signed as it is sent', () => {
    const raw = fc.string({
      unit: fc.constantFrom(
        ...'abz09/?&=+%;:@!$\'()*,~-._ []{}#\\"<>|^`é漢'.split(''),
        '%20',
        '%2B',
        '%C3%A9',
        '%',
      ),
      maxLength: 30,
    });
    let admitted = 0;
    fc.assert(
      fc.property(raw, (rest) => {
        const admission = gate.admit(`https://api.example.test/${rest}`);
        if (!admission.admitted) return;
        admitted += 1;
        const { url } = admission;
        const authorization = signerAt(1).authorize({ method: 'GET', url }, user) ?? '';
        const sent = { method: 'GET', address: url.href, authorization };
        expect(parameter(authorization, 'oauth_signature')).toBe(
          signatureOf(sent, clientSecret, 'pfkkdhi9sl3r4s00'),
        );
      }),
      { numRuns: 6000, seed },
    );
    expect(admitted).toBeGreaterThan(300);
  }, 60_000);
});
