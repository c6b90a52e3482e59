import { clientConfig, type TlsTexts, tlsOptions } from '../../../src/publish/client-config';
import { Secret } from '../../../src/tools/secret';

const times = { connectTimeoutMs: 1_000, requestTimeoutMs: 2_000 };
const plain = { brokers: ['b1:9092', 'b2:9092'], clientId: 'tramline', tls: null, sasl: null };

test('without more a connection is plain and nobody logs in', () => {
  const config = clientConfig(plain, times);
  expect(config).toMatchObject({
    clientId: 'tramline',
    brokers: ['b1:9092', 'b2:9092'],
    connectionTimeout: 1_000,
    requestTimeout: 2_000,
  });
  expect(Object.keys(config)).not.toEqual(expect.arrayContaining(['ssl']));
  expect(Object.keys(config)).not.toEqual(expect.arrayContaining(['sasl']));
});

const filesOf = (now: () => TlsTexts) => ({ now, unfit: () => null });

test('TLS without files trusts the authorities of the system', () => {
  const tls = filesOf(() => ({ ca: null, cert: null, key: null }));
  expect(clientConfig({ ...plain, tls }, times).ssl).toEqual({});
});

test('authority, certificate and key are handed over as they are now', () => {
  let cert = 'CERT';
  const settings = { ...plain, tls: filesOf(() => ({ ca: 'CA', cert, key: new Secret('KEY') })) };
  expect(clientConfig(settings, times).ssl).toEqual({ ca: 'CA', cert: 'CERT', key: 'KEY' });
  cert = 'RENEWED';
  expect(tlsOptions(settings)).toEqual({ ca: 'CA', cert: 'RENEWED', key: 'KEY' });
});

test.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)(
  '%s logs in with name and password',
  (mechanism) => {
    const sasl = { mechanism, username: 'relay', password: new Secret('word') };
    expect(clientConfig({ ...plain, sasl }, times).sasl).toEqual({
      mechanism,
      username: 'relay',
      password: 'word',
    });
  },
);

test('with many brokers every one of them is tried', () => {
  const brokers = Array.from({ length: 9 }, (_, number) => `b${number}:9092`);
  expect(clientConfig({ ...plain, brokers }, times).retry?.retries).toBe(9);
});
