// Settings are the door for everything an operator can get wrong: each mistake is one clear line that names the
// variable and what is accepted, and no line ever repeats a value.
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import {
  type Environment,
  lendToTelemetry,
  loadSettings,
  readFilesAnew,
  telemetryWishes,
} from '../../../src/config';
import { rows } from '../../../src/config/describe';
import { isProblem, Problem } from '../../../src/model/problem';
import { makeAuthority } from '../../support/certificates';
import fastCheck from '../../support/properties';

const key = Buffer.alloc(32, 7).toString('base64');
const complete: Environment = {
  ENCRYPTION_KEYS: `k1:${key}`,
  PROVIDER_VENDOR: 'vendor',
  PROVIDER_URL: 'https://api.example/platform',
  PROVIDER_EQUIPMENT_URL: 'https://api.example/equipment',
  PROVIDER_CLIENT_KEY: 'client',
  PROVIDER_CLIENT_SECRET: 'canary-client-secret',
  WEBHOOK_AUTHORIZATION: 'Bearer canary-header',
};

function faultsOf(environment: Environment, purpose: 'serve' | 'command' = 'serve'): string[] {
  try {
    loadSettings(purpose, environment);
    return [];
  } catch (error) {
    if (!isProblem(error, 'settings.invalid')) throw error;
    return error.message.split('\n');
  }
}

const clientOf = () => makeAuthority().issue({});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-config-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

test('a complete environment serves, and everything else has its default', () => {
  const { settings, origins, missing, warnings } = loadSettings('serve', complete);
  expect(settings).toMatchObject({ role: 'all', port: 8080, operationsPort: 9464, leaseSeconds: 60 });
  expect(settings.equipmentEventTypes).toEqual(['equipment', 'machine', 'implement']);
  expect(settings.databaseUrl).toEqual({ kind: 'sqlite', path: './data/tramline.db' });
  expect(origins.PORT).toEqual({ from: 'default', path: null, shown: 8080 });
  expect(origins.PROVIDER_URL.from).toBe('environment');
  expect(origins.KAFKA_BROKERS).toEqual({ from: 'unset', path: null, shown: null });
  expect([missing, warnings]).toEqual([[], []]);
});

test.each([
  ['REQUIRED_ACTION_EVENT_TYPES', 'requiredCustomerAction,equipment', 'EQUIPMENT_EVENT_TYPES must not share'],
  ['REQUIRED_ACTION_EVENT_TYPES', 'fieldOperation', 'FIELD_OPERATION_EVENT_TYPES must not share'],
  ['EQUIPMENT_EVENT_TYPES', 'equipment,fieldOperation', 'FIELD_OPERATION_EVENT_TYPES must not share'],
  ['EQUIPMENT_EVENT_TYPES', 'equipment,heartbeat', 'EQUIPMENT_EVENT_TYPES must not name `heartbeat` or'],
  ['FIELD_OPERATION_EVENT_TYPES', 'subscriptionVerification', 'FIELD_OPERATION_EVENT_TYPES must not name'],
])('an event type that means two things is refused: %s=%s', (name, value, line) => {
  expect(faultsOf({ ...complete, [name]: value })).toEqual([expect.stringContaining(line)]);
});

test('what is missing is named in one line each, by role', () => {
  const names = (role: string) => faultsOf({ ROLE: role }).map((line) => line.split(' ')[0]);
  expect(names('receiver')).toEqual(['WEBHOOK_AUTHORIZATION']);
  expect(names('worker')).toEqual([
    'ENCRYPTION_KEYS',
    'PROVIDER_VENDOR',
    'PROVIDER_URL',
    'PROVIDER_EQUIPMENT_URL',
    'PROVIDER_CLIENT_KEY',
    'PROVIDER_CLIENT_SECRET',
  ]);
  expect(names('all')).toHaveLength(7);
});

test('a command needs none of them, and is told which serving would need', () => {
  const { missing } = loadSettings('command', {});
  expect(missing.map(({ name }) => name)).toContain('ENCRYPTION_KEYS');
});

test('what is wrong and what is missing are said together', () => {
  const faults = faultsOf({ ...complete, PORT: 'x', PROVIDER_VENDOR: '', ENCRYPTION_KEYS: 'canary' });
  expect(faults.map((line) => line.split(' ')[0])).toEqual(['PORT', 'ENCRYPTION_KEYS', 'PROVIDER_VENDOR']);
});

test('an empty variable counts as unset', () => {
  expect(loadSettings('serve', { ...complete, PORT: '', KAFKA_BROKERS: '' }).settings).toMatchObject({
    port: 8080,
    kafkaBrokers: null,
  });
});

test('secrets are hidden wherever settings are printed', () => {
  const { settings, origins } = loadSettings('serve', complete);
  for (const text of [JSON.stringify(settings), inspect(settings, { depth: 9 }), JSON.stringify(origins)]) {
    expect(text).not.toContain('canary');
  }
  expect(origins.PROVIDER_CLIENT_SECRET.shown).toBe('set');
  expect(origins.OPERATIONS_TOKEN.shown).toBe('unset');
  expect(settings.providerClientSecret?.open()).toBe('canary-client-secret');
});

test('settings cannot be changed afterwards', () => {
  const { settings } = loadSettings('serve', complete);
  expect(() => Object.assign(settings, { port: 1 })).toThrow(TypeError);
  expect(() => settings.webhookAuth.push('none')).toThrow(TypeError);
});

describe('values from files', () => {
  test('every secret can come from a file, without its last line break', () => {
    const { PROVIDER_CLIENT_SECRET: _given, ...rest } = complete;
    const path = file('secret', 'from-file\n');
    const { settings, origins } = loadSettings('serve', { ...rest, PROVIDER_CLIENT_SECRET_FILE: path });
    expect(settings.providerClientSecret?.open()).toBe('from-file');
    expect(origins.PROVIDER_CLIENT_SECRET).toEqual({ from: 'file', path, shown: 'set' });
  });

  test('what the OpenTelemetry SDK reads itself is lent to it from its file, and nothing else is', () => {
    const { PROVIDER_CLIENT_SECRET: _given, ...rest } = complete;
    const environment: Environment = {
      ...rest,
      PROVIDER_CLIENT_SECRET_FILE: file('secret', 'from-file'),
      OTEL_EXPORTER_OTLP_HEADERS_FILE: file('headers', 'authorization=canary\n'),
      OTEL_TRACES_SAMPLER: 'always_on',
    };
    const { settings, origins } = loadSettings('serve', environment);
    expect(settings.otelExporterOtlpHeaders?.open()).toBe('authorization=canary');
    expect(origins.OTEL_EXPORTER_OTLP_HEADERS).toMatchObject({ from: 'file', shown: 'set' });
    const before = { ...environment };
    lendToTelemetry(environment);
    expect(environment).toEqual({ ...before, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=canary' });
  });

  test('a variable and its file together are refused', () => {
    const faults = faultsOf({ ...complete, ENCRYPTION_KEYS_FILE: file('keys', 'x') });
    expect(faults).toEqual(['ENCRYPTION_KEYS and ENCRYPTION_KEYS_FILE are both set: one is accepted']);
  });

  test('a file that cannot be read, is too large or is empty is a fault that names the variable', () => {
    const { ENCRYPTION_KEYS: _given, ...rest } = complete;
    const paths = [join(folder, 'none'), folder, file('large', 'x'.repeat(1_048_577)), file('empty', '')];
    for (const path of paths) {
      const faults = faultsOf({ ...rest, ENCRYPTION_KEYS_FILE: path });
      expect(faults).toEqual([
        expect.stringMatching(/^ENCRYPTION_KEYS \(by ENCRYPTION_KEYS_FILE\) must be /),
      ]);
      expect(faults[0]).not.toContain(folder);
    }
  });

  test('certificates are read from their paths', () => {
    const pem = makeAuthority().cert.trimEnd();
    const path = file('ca.pem', `${pem}\n`);
    const given = { ...complete, KAFKA_TLS: 'true', KAFKA_CA_FILE: path };
    const { settings, origins } = loadSettings('serve', given);
    expect(settings.kafkaCa).toBe(pem);
    expect(origins.KAFKA_CA_FILE.shown).toBe(path);
    for (const none of [
      'canary',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
      clientOf().key,
      // Of a second one that is still being written OpenSSL says nothing, and trusts the first alone.
      `${pem}\n${pem.slice(0, 300)}`,
      `${pem}\n${pem.slice(0, -9)}`,
    ])
      expect(faultsOf({ ...given, KAFKA_CA_FILE: file('no.pem', none) })).toEqual([
        'KAFKA_CA_FILE must be the path of a PEM file that holds a certificate, and none that is cut short',
      ]);
    expect(faultsOf({ ...given, KAFKA_CA_FILE: file('two.pem', `${pem}\n${pem}\n`) })).toEqual([]);
  });

  test('what files say is read anew, and judged as at the start; all else stays as it was', () => {
    const [before, after] = [clientOf(), clientOf()];
    const { settings } = loadSettings('serve', {
      ...complete,
      KAFKA_TLS: 'true',
      KAFKA_CERT_FILE: file('renewed.pem', before.cert),
      KAFKA_KEY_FILE: file('renewed.key', before.key),
    });
    file('renewed.pem', after.cert);
    const other = 'KAFKA_KEY_FILE must hold the key of the first certificate in KAFKA_CERT_FILE';
    expect(() => readFilesAnew(settings)).toThrow(new Problem('settings.invalid', other));
    file('renewed.key', after.key);
    const anew = readFilesAnew(settings);
    expect([anew.kafkaCert, anew.kafkaKey?.open()]).toEqual([after.cert.trimEnd(), after.key.trimEnd()]);
    expect(settings.kafkaCert).toBe(before.cert.trimEnd());
    expect({ ...anew, kafkaCert: null, kafkaKey: null }).toEqual({
      ...settings,
      kafkaCert: null,
      kafkaKey: null,
    });
    rmSync(join(folder, 'renewed.key'));
    expect(() => readFilesAnew(settings)).toThrow(
      /^KAFKA_KEY_FILE must be the path of a readable file \(ENOENT\)$/,
    );
  });

  test('a certificate and the key of another one are refused, of whatever kinds their keys are', () => {
    const { cert, key: own } = clientOf();
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const others = [clientOf().key, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string];
    const faultsWith = (given: string) =>
      faultsOf({
        ...complete,
        KAFKA_TLS: 'true',
        KAFKA_CERT_FILE: file('client.pem', cert),
        KAFKA_KEY_FILE: file('client.key', given),
      });
    expect(faultsWith(own)).toEqual([]);
    for (const other of others)
      expect(faultsWith(other)).toEqual([
        'KAFKA_KEY_FILE must hold the key of the first certificate in KAFKA_CERT_FILE',
      ]);
    const locked = privateKey.export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-128-cbc',
      passphrase: 'x',
    });
    for (const none of [cert, locked as string])
      expect(faultsWith(none)).toEqual([
        'KAFKA_KEY_FILE must be the path of a PEM file that holds a private key without a passphrase',
      ]);
  });
});

describe('any single bad value', () => {
  const bad: [name: string, value: string][] = [
    ['ROLE', 'boss'],
    ['HOST', 'a b'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '1e3'],
    ['DATABASE_URL', 'mysql://canary@host/db'],
    ['DATABASE_URL', 'postgres://db.example/canary?sslmode=requires'],
    ['DATABASE_URL', 'postgres://one.example,two.example/canary'],
    ['DATABASE_URL', 'postgres://one.example%2Ctwo.example/canary'],
    ['DATABASE_URL', 'postgres://one.example/canary?host=one.example,two.example'],
    ['DATABASE_URL', 'postgres://%2Ftmp/canary?host=one.example%2Ctwo.example'],
    ['DATABASE_URL', 'postgres://one.example/canary?host=one.example&host=two.example'],
    ['DATABASE_URL', 'postgres://db.example/canary?target_session_attrs=read-write'],
    ['DATABASE_URL', 'sqlite::memory:'],
    ['DATABASE_URL', 'sqlite:'],
    ['DATABASE_URL', 'sqlite:file:canary?mode=memory'],
    ['DATABASE_URL', 'sqlite:FILE:///var/canary?nolock=1'],
    ['ENCRYPTION_KEYS', 'k1:canary'],
    ['ENCRYPTION_KEYS', `k1:${key},k1:${key}`],
    ['ENCRYPTION_KEYS', ','],
    ['KAFKA_BROKERS', 'host'],
    ['KAFKA_BROKERS', 'host:99999'],
    ['KAFKA_TLS', 'maybe'],
    ['KAFKA_TOPIC_PREFIX', 'a/b'],
    ['OPERATIONS_TOKEN', 'canary horse'],
    ['OPERATIONS_TOKEN', 'canary\n'],
    ['OPERATIONS_TOKEN', 'canary\u2603'],
    ['PUBLIC_URL', 'https://canary.example/?page=1'],
    ['PROVIDER_URL', 'http://api.example'],
    ['PROVIDER_URL', 'http://localhost:1'],
    ['PROVIDER_URL', 'https://canary:canary@api.example'],
    ['PROVIDER_EQUIPMENT_URL', 'http://127.0.0.1.example'],
    ['PROVIDER_ORIGINS', 'https://a.example/path'],
    ['PROVIDER_ORIGINS', 'https://a.example,http://b.example'],
    ['PROVIDER_ISSUER', 'ftp://a.example'],
    ['PROVIDER_TOKENS', '{'],
    ['PROVIDER_TOKENS', '[{"connection":"c","user":"u","auth":"oauth2","token":"canary","extra":1}]'],
    ['PROVIDER_TOKENS', '[{"connection":"c","user":"u","auth":"oauth1","token":"canary"}]'],
    ['PROVIDER_SANDBOX_SINCE', '2024-02-30'],
    ['PROVIDER_TIMEOUT_MS', '0'],
    ['GONE_SHARE_MAX', '1.5'],
    ['GONE_SHARE_MAX', '5%'],
    ['WEBHOOK_AUTH', 'authorization,basic'],
    ['WEBHOOK_AUTHORIZATION', 'Bearer caf\u00e9'],
    ['WEBHOOK_TOKENS', 'a b c'],
    ['WEBHOOK_HMAC_SECRETS', 'whsec_!!'],
    ['ALERTMANAGER_URLS', 'http://u:canary@alertmanager'],
    ['SLACK_WEBHOOK_URL', 'canary'],
    ['LOG_LEVEL', 'loud'],
    ['TRAMLINE_URL', 'unix:/canary'],
    ['OTEL_TRACES_SAMPLER', 'dice'],
    ['DATABASE_URL', 'postgres://tramline:7/canary@db.example/tramline'],
    // Who sends it would say: Header name must be a valid HTTP token ["Authorization: Basic …"].
    ['OTEL_EXPORTER_OTLP_HEADERS', 'Authorization: Basic canary=='],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'Authorization: Bearer canary'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x-tenant=7,canary/=='],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer canary%0A'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=canary%zz'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization= '],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'Authorization: Basic canary=='],
    ['OTEL_EXPORTER_OTLP_METRICS_HEADERS', 'Authorization: Basic canary=='],
  ];
  test.each(bad)('%s=%j is one line with the name and what is accepted', (name, value) => {
    const faults = faultsOf({ ...complete, [name]: value });
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^${name} must be .+`))]);
    expect(faults.join()).not.toContain('canary');
  });

  test('whatever stands in any variable, it is taken or named, and never repeated', () => {
    const names = rows.map(([name]) => name);
    const value = fastCheck.string({ minLength: 1 }).map((text) => `canary${text}\u00e9`);
    fastCheck.assert(
      fastCheck.property(fastCheck.constantFrom(...names), value, (name, text) => {
        const faults = faultsOf({ ...complete, [name]: text });
        for (const fault of faults) expect(fault).not.toContain('canary');
        if (faults.length > 0) expect(faults.join('\n')).toContain(name);
      }),
    );
  });
});

describe('settings that contradict each other', () => {
  const contradictions: [Environment, string][] = [
    [{ LEASE_SECONDS: '20' }, 'LEASE_SECONDS'],
    [{ DRAIN_SECONDS: '25' }, 'DRAIN_SECONDS'],
    [{ SHUTDOWN_SECONDS: '5', DRAIN_SECONDS: '5' }, 'DRAIN_SECONDS'],
    [{ PROBE_SECONDS: '1000' }, 'PROBE_SECONDS_MAX'],
    [{ JOURNAL_DAYS: '1', RETRY_AGE_SECONDS: '86401' }, 'JOURNAL_DAYS'],
    [{ STORE_BYTES_MAX: '2000000' }, 'STORE_BYTES_MAX'],
    [{ PORT: '9464' }, 'OPERATIONS_PORT'],
    [{ WEBHOOK_AUTH: 'none,token', WEBHOOK_TOKENS: 'a' }, 'WEBHOOK_AUTH'],
    [{ KAFKA_SASL_MECHANISM: 'plain' }, 'KAFKA_SASL_USERNAME'],
    [{ KAFKA_SASL_USERNAME: 'u' }, 'KAFKA_SASL_MECHANISM'],
    [{ PROVIDER_PLAN: 'sandbox' }, 'PROVIDER_SANDBOX_SINCE'],
    [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, 'NODE_TLS_REJECT_UNAUTHORIZED'],
    [{ WEBHOOK_AUTH: 'token,hmac' }, 'WEBHOOK_TOKENS'],
  ];
  test.each(contradictions)('%j names %s', (environment, name) => {
    expect(faultsOf({ ...complete, ...environment })[0]).toMatch(new RegExp(`^${name} `));
  });

  test('certificates demand TLS and each other', () => {
    const pem = file('c.pem', clientOf().cert);
    expect(faultsOf({ ...complete, KAFKA_CERT_FILE: pem })).toEqual([
      'KAFKA_CERT_FILE and KAFKA_KEY_FILE go together',
      'KAFKA_TLS must be `true` when KAFKA_CA_FILE or KAFKA_CERT_FILE is set',
    ]);
  });

  test('two listeners on free ports, or on other hosts, may share a number', () => {
    expect(faultsOf({ ...complete, PORT: '0', OPERATIONS_PORT: '0' })).toEqual([]);
    expect(faultsOf({ ...complete, HOST: '10.0.0.1', PORT: '9464' })).toEqual([]);
  });
});

describe('values with a form of their own', () => {
  const load = (environment: Environment) => loadSettings('serve', { ...complete, ...environment }).settings;

  test('the provider may be reached by http at a loopback literal only', () => {
    expect(load({ PROVIDER_URL: 'http://127.0.0.1:9100/x' }).providerUrl).toBe('http://127.0.0.1:9100/x');
    expect(load({ PROVIDER_ORIGINS: 'http://[::1]:9, https://b.example/' }).providerOrigins).toEqual([
      'http://[::1]:9',
      'https://b.example',
    ]);
  });

  test('tokens to import keep their secrets closed', () => {
    const given = { connection: 'c', user: 'u', auth: 'oauth1', token: 't/+=', secret: 's' };
    const [token] = load({ PROVIDER_TOKENS: JSON.stringify([given]) }).providerTokens ?? [];
    expect(token).toMatchObject({ connection: 'c', refresh: null, expiresAt: null });
    expect([token?.token.open(), token?.secret?.open()]).toEqual(['t/+=', 's']);
    const twice = JSON.stringify([given, given]);
    expect(faultsOf({ ...complete, PROVIDER_TOKENS: twice })[0]).toMatch(/; look at \[1\]$/);
  });

  test('secrets of deliveries are one a line, and a token may name its user', () => {
    const settings = load({
      WEBHOOK_AUTH: 'authorization,token',
      WEBHOOK_AUTHORIZATION: 'Bearer one\r\nBasic two\n\n',
      WEBHOOK_TOKENS: 'abc=\ndef anna',
    });
    expect(settings.webhookAuthorization?.map((value) => value.open())).toEqual(['Bearer one', 'Basic two']);
    expect(settings.webhookTokens?.map(({ token, user }) => [token.open(), user])).toEqual([
      ['abc=', null],
      ['def', 'anna'],
    ]);
  });

  test('a secret of signatures that is shorter than 24 bytes is warned of, without a word of it', () => {
    const warningsWith = (...bytes: number[]) => {
      const secrets = bytes.map((length) => `whsec_${Buffer.alloc(length, 7).toString('base64')}`);
      const given = { ...complete, WEBHOOK_AUTH: 'hmac', WEBHOOK_HMAC_SECRETS: secrets.join('\n') };
      return loadSettings('serve', given).warnings;
    };
    expect(warningsWith(24, 32)).toEqual([]);
    expect(warningsWith(32, 23)).toEqual([
      'WEBHOOK_HMAC_SECRETS holds a secret of less than 24 bytes: it can be guessed',
    ]);
  });

  test('the first of several keys is the one that encrypts', () => {
    const keys = load({ ENCRYPTION_KEYS: `new:${Buffer.alloc(32, 1).toString('base64')}, old:${key}` });
    expect(keys.encryptionKeys?.map(({ id, key: bytes }) => [id, bytes.length])).toEqual([
      ['new', 32],
      ['old', 32],
    ]);
  });

  test('a store is a path or a server, whose address is shown without credentials', () => {
    expect(load({ DATABASE_URL: 'sqlite:///var/t.db' }).databaseUrl).toEqual({
      kind: 'sqlite',
      path: '/var/t.db',
    });
    const loaded = loadSettings('serve', {
      ...complete,
      DATABASE_URL: 'postgres://u:canary@db:5432/t?x=canary',
    });
    expect(loaded.origins.DATABASE_URL.shown).toBe('postgres://db:5432/t');
    expect(inspect(loaded.settings)).not.toContain('canary');
  });

  test('booleans are `true` and `false` in any case, and no other word', () => {
    expect(load({ KAFKA_TLS: 'false' }).kafkaTls).toBe(false);
    expect(load({ INCLUDE_OPERATOR_NAMES: 'True' }).includeOperatorNames).toBe(true);
    for (const word of ['yes', 'no', 'on', 'off', '1', '0', 'y', 'n', 'enabled', 'disabled'])
      expect(faultsOf({ ...complete, INCLUDE_OPERATOR_NAMES: word })).toEqual([
        'INCLUDE_OPERATOR_NAMES must be `true` or `false`',
      ]);
  });
});

test('traces are exported only where the environment says where to', () => {
  const wishes = (environment: Environment) => telemetryWishes(loadSettings('command', environment).settings);
  expect(wishes({}).exportTraces).toBe(false);
  expect(wishes({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }).exportTraces).toBe(true);
  expect(
    wishes({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:1' }).exportTraces,
  ).toBe(false);
  expect(wishes({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'true' }).exportTraces).toBe(false);
  expect(wishes({ OTEL_TRACES_EXPORTER: 'console', OTEL_TRACES_SAMPLER: 'always_on' })).toMatchObject({
    exportTraces: true,
    samplerGiven: true,
  });
});

test('metrics are exported only where the environment says where to', () => {
  const wishes = (environment: Environment) =>
    telemetryWishes(loadSettings('command', environment).settings).exportMetrics;
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' };
  const plain = { protocol: 'http/protobuf', intervalMs: 60_000 };
  expect(wishes({})).toBeNull();
  expect(wishes(endpoint)).toEqual(plain);
  expect(wishes({ OTEL_METRICS_EXPORTER: 'otlp' })).toEqual(plain);
  expect(wishes({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318' })).toBeNull();
  expect(wishes({ ...endpoint, OTEL_METRICS_EXPORTER: 'none' })).toBeNull();
  // `/metrics` is always there, so nothing more is wanted then.
  expect(wishes({ ...endpoint, OTEL_METRICS_EXPORTER: 'prometheus' })).toBeNull();
  expect(wishes({ ...endpoint, OTEL_METRICS_EXPORTER: 'prometheus,otlp' })).toEqual(plain);
  expect(wishes({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBeNull();
  const chosen = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_METRIC_EXPORT_INTERVAL: '500' };
  expect(wishes({ ...endpoint, ...chosen })).toEqual({ protocol: 'grpc', intervalMs: 500 });
  const apart = { ...chosen, OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json' };
  expect(wishes({ ...endpoint, ...apart })?.protocol).toBe('http/json');
});

test.each([
  'authorization=Basic dXNlcjpjYW5hcnk=',
  'authorization=Basic%20dXNlcjpjYW5hcnk%3D, x-tenant = 7',
  'X_Scope.OrgID=farm',
])('headers for the collector may be %j', (given) => {
  expect(faultsOf({ ...complete, OTEL_EXPORTER_OTLP_HEADERS: given })).toEqual([]);
});

test('metrics are totals: differences, which the histograms never were, are refused', () => {
  const name = 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE';
  expect(faultsOf({ ...complete, [name]: 'delta' })).toEqual([`${name} must be \`cumulative\``]);
  expect(faultsOf({ ...complete, [name]: 'cumulative' })).toEqual([]);
});

describe('what is probably not meant is a warning', () => {
  const warningsOf = (environment: Environment) =>
    loadSettings('serve', { ...complete, ...environment }).warnings;

  test('a mistyped name is answered with the nearest setting', () => {
    expect(warningsOf({ WEBHOOK_TOKEN: 'x', KAFKA_BROKER: 'y', PROVIDER_ZZZZZZZZZZZZ: 'z' })).toEqual([
      'WEBHOOK_TOKEN is not a setting; did you mean WEBHOOK_TOKENS?',
      'KAFKA_BROKER is not a setting; did you mean KAFKA_BROKERS?',
      'PROVIDER_ZZZZZZZZZZZZ is not a setting',
    ]);
  });

  test('a mistyped name is told beside what is missing or wrong without it', () => {
    const { WEBHOOK_AUTHORIZATION: value, ...rest } = complete;
    expect(faultsOf({ ...rest, WEBHOOK_AUTHORISATION: value, PORT: 'x' })).toEqual([
      expect.stringMatching(/^PORT must be /),
      expect.stringMatching(/^WEBHOOK_AUTHORIZATION is missing/),
      'WEBHOOK_AUTHORISATION is not a setting; did you mean WEBHOOK_AUTHORIZATION?',
    ]);
  });

  test.each([
    ['ALERTMANAGER_URL', 'ALERTMANAGER_URLS'],
    ['ALERMANAGER_URLS', 'ALERTMANAGER_URLS'],
    ['SYNC_INTERVALL_SECONDS', 'SYNC_INTERVAL_SECONDS'],
    ['SYNC_INTERVAL_MS', 'SYNC_INTERVAL_SECONDS'],
    ['LEASE_SECOND', 'LEASE_SECONDS'],
    ['READ_GAP', 'READ_GAP_MS'],
    ['READ_GAP_SECONDS', 'READ_GAP_MS'],
    ['JOURNAL_DAY', 'JOURNAL_DAYS'],
    ['ENCRYPTION_KEY', 'ENCRYPTION_KEYS'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['SLACK_WEBHOOK', 'SLACK_WEBHOOK_URL'],
    ['LOG_LEVL', 'LOG_LEVEL'],
    ['KAFAK_BROKERS', 'KAFKA_BROKERS'],
  ])('%s is answered with %s', (given, meant) => {
    expect(warningsOf({ [given]: 'x' })).toEqual([`${given} is not a setting; did you mean ${meant}?`]);
  });

  test('a name one edit from each setting is answered, whatever its first word', () => {
    const long = rows.map(([name]) => name).filter((name) => name.length >= 8 && name.includes('_'));
    for (const name of long)
      expect(warningsOf({ [`${name}X`]: 'x' })).toEqual([expect.stringContaining('did you mean')]);
  });

  test('what other programs read is no mistake of ours', () => {
    const foreign = (
      'HOME HOSTNAME HOST_IP SHELL PATH PWD USER LOGNAME LANG TERM TZ POD_IP PODS PORTS POST TITLE RULE ' +
      'KUBERNETES_PORT KUBERNETES_PORT_443_TCP_ADDR KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT_HTTPS ' +
      'TRAMLINE_PORT TRAMLINE_SERVICE_PORT_OPERATIONS POSTGRES_PASSWORD POSTGRES_USER PGHOST REDIS_URL ' +
      'NODE_ENV NODE_OPTIONS NODE_VERSION NODE_PATH NODE_EXTRA_CA_CERTS npm_config_cache npm_package_name ' +
      'npm_lifecycle_event INIT_CWD YARN_VERSION HTTP_PROXY HTTPS_PROXY NO_PROXY CI GITHUB_EVENT_NAME RUNNER_OS ' +
      'DATABASE_HOST DATABASE_NAME DATABASE_USER DATABASE_PORT DATABASE_PASSWORD PUBLIC_IP PUBLIC_KEY LOG_FILE ' +
      'LOG_FORMAT LOG_DIR EVENT_NAME EVENT_DATA SLACK_TOKEN STORE_PATH ENCRYPTION_SALT READ_ONLY RETRY_COUNT ' +
      'OTEL_PROPAGATORS OTEL_LOGS_EXPORTER OTEL_BSP_SCHEDULE_DELAY OTEL_EXPORTER_OTLP_TIMEOUT OTEL_LOG_LEVEL ' +
      'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_PROTOCOL OTEL_METRIC_EXPORT_TIMEOUT ' +
      'OTEL_EXPORTER_OTLP_LOGS_HEADERS OTEL_ATTRIBUTE_COUNT_LIMIT'
    ).split(' ');
    expect(warningsOf(Object.fromEntries(foreign.map((name) => [name, 'x'])))).toEqual([]);
  });

  test('names that Kubernetes adds for services are no mistake', () => {
    expect(
      warningsOf({ KAFKA_SERVICE_HOST: 'x', KAFKA_PORT_9092_TCP_ADDR: 'y', KAFKA_PORT: 'tcp://z' }),
    ).toEqual([]);
  });

  test.each([
    [{ WEBHOOK_AUTH: 'none' }, 'WEBHOOK_AUTH=none'],
    [{ SHUTDOWN_SECONDS: '60' }, 'SHUTDOWN_SECONDS'],
    [{ ROLE: 'worker' }, 'ROLE=worker'],
    [
      { ROLE: 'receiver', ENCRYPTION_KEYS: undefined, DATABASE_URL: 'postgres://db/tramline' },
      'ENCRYPTION_KEYS is missing',
    ],
    [
      { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' },
      'KAFKA_SASL_MECHANISM=plain',
    ],
    [{ PROVIDER_EQUIPMENT_API: 'old' }, 'PROVIDER_EQUIPMENT_API=old'],
    [{ LOG_LEVEL: 'silent' }, 'LOG_LEVEL=silent without a sink'],
    [{ ALERT_RESEND_SECONDS: '3', ALERTMANAGER_URLS: 'http://127.0.0.1:9093' }, 'ALERT_RESEND_SECONDS'],
  ])('%j warns of %s', (environment, beginning) => {
    expect(warningsOf(environment)).toEqual([expect.stringMatching(new RegExp(`^${beginning}`))]);
  });

  test('nothing is warned of where nothing is logged and a sink is told', () => {
    expect(warningsOf({ LOG_LEVEL: 'silent', PAGERDUTY_ROUTING_KEY: 'k' })).toEqual([]);
    expect(warningsOf({ LOG_LEVEL: 'error' })).toEqual([]);
  });

  test('a sandbox that is to begin later is warned of, not one that begins today anywhere', () => {
    const warnedAt = (nowMs: number) =>
      loadSettings('command', { PROVIDER_PLAN: 'sandbox', PROVIDER_SANDBOX_SINCE: '2026-03-02' }, nowMs)
        .warnings;
    expect(warnedAt(Date.UTC(2026, 2, 1) - 1)).toEqual([
      expect.stringMatching(/^PROVIDER_SANDBOX_SINCE lies ahead/),
    ]);
    expect(warnedAt(Date.UTC(2026, 2, 1))).toEqual([]);
  });

  test('the older equipment endpoints are warned of from the first of January 2025 on', () => {
    const warnedAt = (nowMs: number) =>
      loadSettings('command', { PROVIDER_EQUIPMENT_API: 'old' }, nowMs).warnings;
    expect(warnedAt(Date.UTC(2025, 0, 1) - 1)).toEqual([]);
    expect(warnedAt(Date.UTC(2025, 0, 1))).toHaveLength(1);
    expect(loadSettings('command', {}, Date.UTC(2025, 0, 1)).warnings).toEqual([]);
  });
});
