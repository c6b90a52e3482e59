import { type Classification, classify } from '../../../src/fetch/classify';
import type { Exchange } from '../../../src/fetch/client';
import { startMs } from '../../support/provider-client';

const about: Classification = {
  connectionId: 'c1',
  sealedToken: 'sealed',
  origin: 'https://api.example.test',
  address: 'https://api.example.test/x',
  vendor: 'acme',
  changesOnly: false,
  auth: 'oauth1',
  byClient: false,
  depthMax: 8,
  nowMs: startMs,
};

function answered(
  status: number,
  body: unknown = '',
  headers: Record<string, string> = {},
  more: Partial<Classification> = {},
) {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const exchange: Exchange = {
    status,
    headers: { 'content-type': 'application/vnd.acme.axiom.v3+json;charset=UTF-8', ...headers },
    body: Buffer.from(text),
    wireBytes: text.length,
  };
  return classify(exchange, { ...about, ...more });
}

const said = (message: string) => ({
  '@type': 'Errors',
  errors: [{ '@type': 'Error', guid: 'x', message }],
  otherAttributes: {},
});

test('a document is told with its address, media type and connection', () => {
  expect(answered(200, { id: '1' })).toEqual({
    kind: 'ok',
    document: {
      body: { id: '1' },
      address: about.address,
      mediaType: 'application/vnd.acme.axiom.v3+json',
      connectionId: 'c1',
    },
  });
});

test.each([
  ['an HTML page', '<html>', { 'content-type': 'text/html' }, 'html-answer', ''],
  ['an empty body', '', {}, 'empty-answer', ''],
  ['plain text', 'hello', { 'content-type': 'text/plain' }, 'unexpected-media-type', ''],
  ['JSON cut short', '{"id":"1', {}, 'invalid-json', ' that are no JSON'],
  ['other text than UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, 'invalid-text', ' that are no UTF-8'],
  ['a body too deep', '['.repeat(9) + ']'.repeat(9), {}, 'too-deep', ' nested deeper than 8'],
])('200 with %s is worth another attempt', (_what, body, headers, code, got) => {
  expect(answered(200, body, headers)).toMatchObject({
    kind: 'transient',
    code,
    origin: about.origin,
    connectionId: 'c1',
    retryAfterMs: null,
    detail: expect.stringMatching(
      RegExp(`^expected a JSON document, got \\S.*, \\d+ bytes${got} at https://`),
    ),
  });
});

test.each([201, 202, 204, 206])('status %i carries no document', (status) => {
  expect(answered(status)).toMatchObject({ kind: 'transient', code: 'empty-answer' });
});

test.each([301, 302, 303, 307, 308])('status %i is not followed', (status) => {
  expect(answered(status, '', { location: 'https://evil.test/' })).toMatchObject({
    kind: 'transient',
    code: 'redirected',
  });
});

test('F-14: 304 is not modified where changes were asked for, and no answer where nothing is known', () => {
  expect(answered(304, '', {}, { changesOnly: true })).toEqual({ kind: 'not-modified', connectionId: 'c1' });
  expect(answered(304)).toMatchObject({ kind: 'transient', code: 'not-modified-unasked' });
});

test('404 is gone, and 410 for certain', () => {
  expect(answered(404)).toMatchObject({ kind: 'gone', certain: false });
  expect(answered(410)).toMatchObject({ kind: 'gone', certain: true });
});

test.each([400, 405, 406, 402, 411, 412, 451])(
  'F-14: status %i stays as it is, however often it is asked',
  (status) => {
    expect(answered(status, said('no'))).toMatchObject({
      kind: 'refused',
      code: `status-${status}`,
      detail: `status ${status}: no`,
    });
  },
);

test.each([408, 409, 421, 423, 425])('F-14: status %i passes', (status) => {
  expect(answered(status)).toMatchObject({ kind: 'transient', code: `status-${status}` });
});

test.each([500, 501, 502, 503, 504, 599])('status %i is worth another attempt', (status) => {
  expect(answered(status, said('sorry'))).toMatchObject({
    kind: 'transient',
    code: `status-${status}`,
    detail: `status ${status}: sorry`,
    retryAfterMs: null,
  });
});

describe('how long to wait', () => {
  const wait = (status: number, headers: Record<string, string>) =>
    (answered(status, '', headers) as { retryAfterMs: number | null }).retryAfterMs;

  test.each([
    ['seconds', '7', 7000],
    ['none', '0', 1000],
    ['an absurd number of seconds', '31536000', 3_600_000],
    ['more digits than a number holds', '9'.repeat(400), 3_600_000],
    ['a date', new Date(startMs + 90_000).toUTCString(), 90_000],
    ['a date long past', new Date(0).toUTCString(), 1000],
    ['a date next year', new Date(startMs + 365 * 86_400_000).toUTCString(), 3_600_000],
    ['what nobody can read', 'soon', 30_000],
  ])('429 with %s', (_what, value, expected) => {
    expect(wait(429, { 'retry-after': value })).toBe(expected);
  });

  test('429 without a header waits half a minute', () => {
    expect(answered(429)).toEqual({
      kind: 'rate-limited',
      retryAfterMs: 30_000,
      untilMs: startMs + 30_000,
    });
  });

  test('a date is measured on the provider’s clock', () => {
    const headers = {
      date: new Date(startMs - 600_000).toUTCString(),
      'retry-after': new Date(startMs - 590_000).toUTCString(),
    };
    expect(wait(429, headers)).toBe(10_000);
  });

  test('a date is measured on our own where the provider shows none that is one', () => {
    const headers = { date: 'Mon, 23 Nov 2026', 'retry-after': new Date(startMs + 90_000).toUTCString() };
    expect(wait(429, headers)).toBe(90_000);
  });

  test('503 keeps the wait it names', () => {
    expect(wait(503, { 'retry-after': '120' })).toBe(120_000);
    expect(wait(503, { 'retry-after': 'soon' })).toBeNull();
  });
});

describe('401', () => {
  test('is a refused token', () => {
    expect(answered(401, said('Unauthorized'))).toEqual({
      kind: 'reauthorize',
      connectionId: 'c1',
      message: 'Unauthorized',
      sealedToken: 'sealed',
    });
    expect(answered(401)).toMatchObject({ kind: 'reauthorize', message: null });
  });

  test.each(['oauth_problem=nonce_used', 'Unauthorized: timestamp-off'])(
    'about %s says nothing about the token',
    (message) => {
      expect(answered(401, said(message))).toMatchObject({ kind: 'transient', code: 'signature-refused' });
      expect(answered(401, '', { 'www-authenticate': `OAuth ${message}` })).toMatchObject({
        kind: 'transient',
        code: 'signature-refused',
      });
    },
  );

  test.each(['no license for this endpoint', 'oauth_problem=consumer_key_unknown', 'client-unknown'])(
    'about %s is the client’s matter',
    (message) => {
      expect(answered(401, said(message))).toMatchObject({ kind: 'client-refused', message });
    },
  );
});

test.each([
  [true, 'client-refused'],
  [false, 'reauthorize'],
])('a refused signature is the client’s where no token signed: %s', (byClient, kind) => {
  const words = { 'www-authenticate': 'OAuth oauth_problem="signature_invalid"' };
  expect(answered(401, said('signature-mismatch'), {}, { byClient })).toMatchObject({ kind });
  expect(answered(401, '', words, { byClient })).toMatchObject({ kind });
  expect(answered(401, said('oauth1-ended'), {}, { byClient })).toMatchObject({ kind: 'reauthorize' });
});

describe('what something on the way wrote', () => {
  const page = '<html>gateway: sign in</html>';
  const html = { 'content-type': 'text/html' };
  const maintenance = { status: 'maintenance' };

  test.each([
    [401, page, html],
    [401, page, {}],
    [401, maintenance, {}],
    [403, page, html],
    [400, page, html],
    [405, maintenance, {}],
  ] as [number, unknown, Record<string, string>][])('as a %i passes', (status, body, headers) => {
    expect(answered(status, body, headers)).toMatchObject({
      kind: 'transient',
      code: `status-${status}`,
      origin: about.origin,
      connectionId: 'c1',
    });
  });

  test.each(['Bearer error="invalid_token"', 'OAuth oauth_problem=token_rejected'])(
    'is heeded where the header names the token: %s',
    (challenge) => {
      const headers = { ...html, 'www-authenticate': challenge };
      expect(answered(401, page, headers)).toMatchObject({ kind: 'reauthorize', message: null });
      expect(answered(401, page, { ...html, 'www-authenticate': 'Basic realm="proxy"' }).kind).toBe(
        'transient',
      );
    },
  );

  test('is no JSON that speaks of the caller’s rights, whatever its shape, nor an empty one', () => {
    const fault = { fault: { faultstring: 'Invalid Access Token', detail: { errorcode: 'oauth.v2' } } };
    expect(answered(401, fault)).toMatchObject({ kind: 'reauthorize', message: null });
    expect(answered(401, {})).toMatchObject({ kind: 'reauthorize' });
    expect(answered(403, maintenance)).toMatchObject({ kind: 'forbidden' });
  });
});

describe('a required customer action', () => {
  const terms = 'https://teammanager.example.test/organizations/4711/terms';
  const warning = 'partner.example.test "Requested Org is in a restricted state."';

  test('is told by the terms header', () => {
    const headers = { 'x-acme-terms-location': terms, 'x-acme-warning': warning };
    expect(answered(403, said('Requested Org is in a restricted state.'), headers)).toEqual({
      kind: 'action-required',
      cause: 'terms',
      actionUrl: terms,
      message: 'Requested Org is in a restricted state.',
      connectionId: 'c1',
    });
  });

  test('without terms is told by the warning, in the provider’s words', () => {
    expect(answered(403, '', { 'x-acme-warning': warning })).toMatchObject({
      cause: 'required-action',
      actionUrl: null,
      message: 'Requested Org is in a restricted state.',
    });
    expect(answered(403, '', { 'x-acme-warning': 'verify your account' })).toMatchObject({
      message: 'verify your account',
    });
    expect(answered(403, said('Verify account information.'), { 'x-acme-warning': warning })).toMatchObject({
      message: 'Verify account information.',
    });
  });

  test('with a place is one for terms where the place, the words or their absence say so', () => {
    const account = 'https://teammanager.example.test/organizations/4711/account?from=terms';
    const told = (message: string, headers: Record<string, string>) =>
      answered(403, message === '' ? '' : said(message), { 'x-acme-terms-location': account, ...headers });
    const verify = 'Verify account information.';
    const verifying = { 'x-acme-warning': `partner.example.test "${verify}"` };
    for (const other of [told(verify, {}), told(verify, verifying), told('', verifying)])
      expect(other).toMatchObject({ cause: 'required-action', actionUrl: account, message: verify });
    for (const ofTerms of [
      told(verify, { 'x-acme-terms-location': terms }),
      told('Accept the new Terms first.', verifying),
      told('Access Denied', { 'x-acme-warning': warning }),
      told('', {}),
    ])
      expect(ofTerms).toMatchObject({ cause: 'terms' });
    expect(told('Determine the account.', {})).toMatchObject({ cause: 'required-action' });
  });

  test.each([
    ['/legal/termsAndConditions', 'terms'],
    ['/TermsOfUse?org=1', 'terms'],
    ['/organizations/1/acceptTerms', 'terms'],
    ['/ACCEPT_TERMS', 'terms'],
    ['/#/organizations/1/terms', 'terms'],
    ['/legal/termsandconditions', 'terms'],
    ['/termsofuse', 'terms'],
    ['/#/TERMSOFSERVICE', 'terms'],
    ['/determine#midterms', 'required-action'],
    ['/midtermsofyear', 'required-action'],
    ['/TERMSHEET', 'required-action'],
    ['/Termsheet', 'required-action'],
  ])('at %s is one for %s, whatever words come with it', (place, cause) => {
    const headers = { 'x-acme-terms-location': `https://portal.example.test${place}` };
    expect(answered(403, said('Customer action required'), headers)).toMatchObject({ cause });
  });

  test('is told by the terms header under any other refusal too', () => {
    expect(answered(400, '', { 'x-acme-terms-location': terms })).toMatchObject({
      cause: 'terms',
      message: null,
    });
    expect(answered(400, '', { 'x-acme-warning': warning })).toMatchObject({ kind: 'refused' });
  });

  test('of another vendor is none', () => {
    expect(answered(403, '', { 'x-other-terms-location': terms })).toMatchObject({ kind: 'forbidden' });
  });

  test.each([
    'javascript:alert(1)',
    'https://user@evil.test/',
    'not an address',
    `https://x.test/${'a'.repeat(2048)}`,
  ])('never sends a person to %s', (address) => {
    expect(answered(403, '', { 'x-acme-terms-location': address })).toMatchObject({
      cause: 'terms',
      actionUrl: null,
    });
  });
});

test('any other 403 is handed back, with whether it names the client', () => {
  expect(answered(403, said('Access Denied'))).toEqual({
    kind: 'forbidden',
    connectionId: 'c1',
    message: 'Access Denied',
    client: false,
  });
  expect(answered(403)).toMatchObject({ kind: 'forbidden', message: null, client: false });
  for (const message of [
    'The client does not have a proper access for this API',
    'requires scope ag2',
    'missing licence',
    'needs licenses A and B',
  ]) {
    expect(answered(403, said(message))).toMatchObject({ kind: 'forbidden', client: true });
  }
});

test.each([
  ['connection-reset', 'no answer: connection-reset', 0],
  ['deadline', 'no answer: deadline', 0],
  ['deadline', 'only a part of the answer came: deadline', 7],
  ['body-cut', 'the answer was cut, or is no whole gzip stream: body-cut', 7],
  ['body-too-large', 'the answer is larger than PROVIDER_BODY_BYTES_MAX: body-too-large', 0],
  ['encoding-refused', 'the answer is packed otherwise than by gzip: encoding-refused', 7],
])('what came, if anything did, is told of %s as %s', (code, detail, wireBytes) => {
  expect(classify({ status: null, code, wireBytes }, about)).toMatchObject({ code, detail });
});

test('no answer at all is worth another attempt, unless the process stops', () => {
  expect(classify({ status: null, code: 'connection-reset', wireBytes: 0 }, about)).toMatchObject({
    kind: 'transient',
    code: 'connection-reset',
  });
  expect(classify({ status: null, code: 'aborted', wireBytes: 0 }, about)).toEqual({ kind: 'aborted' });
});

test('what a bearer token is refused for is never its signature, whatever the words are', () => {
  const body = said('JWT exp timestamp is in the past');
  expect(answered(401, body)).toMatchObject({ kind: 'transient', code: 'signature-refused' });
  expect(answered(401, body, {}, { auth: 'oauth2' })).toMatchObject({
    kind: 'reauthorize',
    connectionId: 'c1',
  });
});
