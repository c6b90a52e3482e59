// Goal: certificates and key are what their files say now, also where a folder is replaced by another under its name, as
// Kubernetes does with a Secret; nothing that is told of them holds what they say.
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings } from '../../../src/config';
import type { Trouble } from '../../../src/observe/lines';
import { kafkaSettings } from '../../../src/wire/kafka-settings';
import { type Certificate, makeAuthority } from '../../support/certificates';
import { makeHandClock } from '../../support/hand-clock';

const authority = makeAuthority();

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-secret-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

let mounted = 0;

/** As a mounted Secret is renewed: its names lead through `..data`, which is led to another folder at once. */
function mount({ cert, key }: Partial<Certificate>): void {
  mounted += 1;
  const data = `..${mounted}`;
  mkdirSync(join(folder, data));
  if (cert !== undefined) writeFileSync(join(folder, data, 'tls.crt'), cert);
  if (key !== undefined) writeFileSync(join(folder, data, 'tls.key'), key);
  symlinkSync(data, join(folder, 'next'));
  renameSync(join(folder, 'next'), join(folder, '..data'));
}

function begin(first: Certificate) {
  mount(first);
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  symlinkSync(join('..data', 'tls.crt'), cert);
  symlinkSync(join('..data', 'tls.key'), key);
  const { settings } = loadSettings('command', {
    KAFKA_BROKERS: 'b1:9093',
    KAFKA_TLS: 'true',
    KAFKA_CERT_FILE: cert,
    KAFKA_KEY_FILE: key,
  });
  const clock = makeHandClock(0);
  const told: Trouble[] = [];
  const { tls } = kafkaSettings(settings, (trouble) => told.push(trouble), clock)!;
  const used = () => {
    const { cert, key } = tls!.now();
    return { cert: `${cert}\n`, key: `${key?.open()}\n` };
  };
  return { tls: tls!, used, told, clock };
}

const [first, second] = [authority.issue({}), authority.issue({})];

test('a Secret that is renewed is used by the next connection', async () => {
  const { used, told, clock } = begin(first);
  expect(used()).toEqual(first);
  mount(second);
  await clock.advance(5_000);
  expect(used()).toEqual(second);
  expect(told).toEqual([]);
});

test.each<[string, Partial<Certificate>, RegExp]>([
  ['the key of another certificate', { ...second, key: first.key }, /KAFKA_KEY_FILE must hold the key of/],
  ['a file that is not there', { cert: second.cert }, /KAFKA_KEY_FILE must be .* readable file \(ENOENT\)$/],
  ['a file that is half written', { ...second, cert: second.cert.slice(0, 300) }, /KAFKA_CERT_FILE must be/],
  ['a file that is empty', { ...second, key: '' }, /KAFKA_KEY_FILE must be/],
  ['something else than PEM', { cert: 'canary', key: 'canary' }, /KAFKA_CERT_FILE .*; KAFKA_KEY_FILE /],
])('%s leaves what was used before, until it fits', async (_what, renewed, reason) => {
  const { tls, used, told, clock } = begin(first);
  mount(renewed);
  for (let connection = 0; connection < 3; connection += 1) {
    await clock.advance(5_000);
    expect(used()).toEqual(first);
  }
  expect(tls.unfit()).toMatch(reason);
  expect(told).toEqual([
    { place: 'kafka', code: 'publish.files-unfit', detail: expect.stringMatching(reason) },
  ]);
  const written = JSON.stringify(told);
  for (const value of [
    'canary',
    folder,
    ...[first, second].flatMap(({ cert, key }) => [cert, key]).flatMap(linesOf),
  ])
    expect(written).not.toContain(value);
  mount(second);
  await clock.advance(5_000);
  expect([used(), tls.unfit()]).toEqual([second, null]);
});

const linesOf = (pem: string) => pem.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));

test('where no file is named nothing is read, and nothing is wrong', () => {
  const { settings } = loadSettings('command', { KAFKA_BROKERS: 'b1:9093', KAFKA_TLS: 'true' });
  const { tls } = kafkaSettings(settings)!;
  expect([tls!.now(), tls!.unfit()]).toEqual([{ ca: null, cert: null, key: null }, null]);
  expect(kafkaSettings(loadSettings('command', { KAFKA_BROKERS: 'b1:9092' }).settings)?.tls).toBeNull();
  expect(kafkaSettings(loadSettings('command', {}).settings)).toBeNull();
});
