import { Webhook } from 'standardwebhooks';
import { Secret } from '../../../src/tools/secret';
import { makeAuthenticator } from '../../../src/webhook/authenticate';
import { findBySecret } from '../../../src/webhook/known-secrets';
import { settingsWith } from './receiver';

const secrets = (...values: string[]) => values.map((value) => new Secret(value));

describe('authorization', () => {
  const authenticator = makeAuthenticator(
    settingsWith({ authorizationValues: () => secrets('Bearer old', 'Bearer new') }),
  );

  test.each(['Bearer old', 'Bearer new'])('the current value %j holds', (authorization) => {
    expect(authenticator.checkHeaders({ authorization })).toBeNull();
  });

  test.each(['Bearer ol', 'Bearer oldd', 'bearer old', 'Bearer  old', 'Bearer old,Bearer new', 'old'])(
    '%j does not hold',
    (authorization) => {
      expect(authenticator.checkHeaders({ authorization })).toBe('authorization-wrong');
    },
  );

  test('nothing, and an empty value, is missing', () => {
    expect(authenticator.checkHeaders({})).toBe('authorization-missing');
    expect(authenticator.checkHeaders({ authorization: '' })).toBe('authorization-missing');
  });

  test('without a current value nothing holds', () => {
    const bare = makeAuthenticator(settingsWith({ authorizationValues: () => [] }));
    expect(bare.checkHeaders({ authorization: 'Bearer old' })).toBe('authorization-wrong');
  });

  test('a value that is taken away stops holding at once', () => {
    let values = secrets('Bearer old', 'Bearer new');
    const rotating = makeAuthenticator(settingsWith({ authorizationValues: () => values }));
    expect(rotating.checkHeaders({ authorization: 'Bearer old' })).toBeNull();
    values = secrets('Bearer new');
    expect(rotating.checkHeaders({ authorization: 'Bearer old' })).toBe('authorization-wrong');
    expect(rotating.checkHeaders({ authorization: 'Bearer new' })).toBeNull();
  });
});

test('an empty secret equals nothing, not even an empty value', () => {
  expect(findBySecret('', secrets(''), (secret) => secret)).toBeNull();
});

describe('tokens', () => {
  const tokens = () => [
    { token: new Secret('T25l'), user: 'ann' },
    { token: new Secret('VHdv'), user: null },
  ];

  test('each element is judged by its own token, and tells its user', () => {
    const { checkTokens } = makeAuthenticator(settingsWith({ auth: ['token'], tokens }));
    const elements = [
      { token: 'T25l' },
      { token: 'VHdv' },
      { token: 'T25l' },
      { token: 'wrong' },
      {},
      5,
      null,
    ];
    expect(checkTokens(elements)).toEqual({
      refusal: null,
      verdicts: [
        { holds: true, user: 'ann' },
        { holds: true, user: null },
        { holds: true, user: 'ann' },
        { holds: false, user: null },
        { holds: false, user: null },
        { holds: false, user: null },
        { holds: false, user: null },
      ],
    });
  });

  test('when none holds, the delivery is refused, and it is said whether any token was there', () => {
    const { checkTokens } = makeAuthenticator(settingsWith({ auth: ['token'], tokens }));
    expect(checkTokens([{ token: 'wrong' }, {}]).refusal).toBe('token-wrong');
    expect(checkTokens([{}, { token: ['T25l'] }, { token: '' }]).refusal).toBe('token-wrong');
    expect(checkTokens([{}, { token: 5 }]).refusal).toBe('token-missing');
  });

  test('a token that is inherited counts for nothing', () => {
    const { checkTokens } = makeAuthenticator(settingsWith({ auth: ['token'], tokens }));
    expect(checkTokens([JSON.parse('{"__proto__":{"token":"T25l"}}')]).refusal).toBe('token-missing');
    expect(checkTokens([Object.create({ token: 'T25l' })]).refusal).toBe('token-missing');
  });

  test('where tokens are not required, they still tell the user, and nothing is refused for them', () => {
    const { checkTokens } = makeAuthenticator(settingsWith({ auth: ['authorization'], tokens }));
    expect(checkTokens([{ token: 'T25l' }, { token: 'wrong' }, {}])).toEqual({
      refusal: null,
      verdicts: [
        { holds: true, user: 'ann' },
        { holds: true, user: null },
        { holds: true, user: null },
      ],
    });
  });
});

test('every kind that is named must hold', () => {
  const key = Buffer.alloc(32, 1).toString('base64');
  const authenticator = makeAuthenticator(
    settingsWith({
      auth: ['authorization', 'hmac', 'token'],
      authorizationValues: () => secrets('Basic x'),
      hmacSecrets: () => secrets(key),
      tokens: () => [{ token: new Secret('T25l'), user: null }],
    }),
  );
  const body = Buffer.from('[]');
  const nowMs = 1_790_000_000_000;
  const headers = {
    authorization: 'Basic x',
    'webhook-id': 'a',
    'webhook-timestamp': '1790000000',
    'webhook-signature': new Webhook(key).sign('a', new Date(nowMs), '[]'),
  };
  expect(authenticator.checkHeaders({})).toBe('authorization-missing');
  expect(authenticator.checkHeaders(headers)).toBeNull();
  expect(authenticator.checkBody({}, body, nowMs)).toBe('signature-missing');
  expect(authenticator.checkBody(headers, body, nowMs)).toBeNull();
  expect(authenticator.checkTokens([{}]).refusal).toBe('token-missing');
});

test('`none` refuses nobody, and signs no message id', () => {
  const authenticator = makeAuthenticator(settingsWith({ auth: 'none' }));
  expect(authenticator.checkHeaders({})).toBeNull();
  expect(authenticator.checkBody({}, Buffer.alloc(0), 0)).toBeNull();
  expect(authenticator.checkTokens([{}]).refusal).toBeNull();
  expect(authenticator.signsMessageId).toBe(false);
  expect(authenticator.authenticatesBody).toBe(true);
});

test('where only tokens authenticate, a body proves nothing before its elements are seen', () => {
  expect(makeAuthenticator(settingsWith({ auth: ['token'] })).authenticatesBody).toBe(false);
  expect(makeAuthenticator(settingsWith({ auth: ['token', 'authorization'] })).authenticatesBody).toBe(true);
});

test('a malformed HMAC secret is refused before anything listens, without being shown', () => {
  const settings = settingsWith({ auth: ['hmac'], hmacSecrets: () => secrets('planted-canary!') });
  expect(() => makeAuthenticator(settings)).toThrow(expect.objectContaining({ code: 'settings.invalid' }));
  expect(() => makeAuthenticator(settings)).not.toThrow(/planted-canary/);
});
