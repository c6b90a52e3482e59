/**
 * What the system says of an address or a store becomes one line that begins with the setting to change.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { loadSettings } from '../../../src/config';
import type { StoreAddress } from '../../../src/config/addresses';
import { startService } from '../../../src/main';
import { Problem } from '../../../src/model/problem';
import type { PostgresSettings } from '../../../src/store/postgres/context';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { openDatabase } from '../../../src/store/sqlite/database';
import { Secret } from '../../../src/tools/secret';
import { type ListenPlace, listenFault, storeFault } from '../../../src/wire/opening-faults';
import { storeOptions } from '../../../src/wire/options';

/** It opens, and answers nothing after that. */
jest.mock('../../../src/wire', () => ({
  ...jest.requireActual('../../../src/wire'),
  wireWorker: async () => {
    throw new Problem('store.unavailable', 'Query read timeout');
  },
}));
jest.mock('../../../src/wire/open-store', () => ({ openStore: async () => ({ close: async () => {} }) }));

const server: StoreAddress = {
  kind: 'postgres',
  url: new Secret('postgres://me:word@db.example:5433/tramline'),
};

const place: ListenPlace = {
  portName: 'OPERATIONS_PORT',
  port: 80,
  hostName: 'OPERATIONS_HOST',
  host: '::1',
};
const systemError = (code: string) => Object.assign(new Error(`listen ${code}`), { code });

describe('an address that cannot be had', () => {
  test.each([
    ['EADDRINUSE', 'OPERATIONS_PORT must be a free port: 80 of ::1 is in use'],
    ['EACCES', 'OPERATIONS_PORT must be a port that this process may listen at: 80 of ::1 is not (EACCES)'],
    [
      'EADDRNOTAVAIL',
      'OPERATIONS_HOST must be an address of this machine: ::1 cannot be listened at (EADDRNOTAVAIL)',
    ],
    [
      'ENOTFOUND',
      'OPERATIONS_HOST must be an address of this machine: ::1 cannot be listened at (ENOTFOUND)',
    ],
  ])('%s names the setting', (code, message) => {
    expect(listenFault(systemError(code), place)).toMatchObject({ code: 'settings.invalid', message });
  });

  test.each([systemError('EMFILE'), new Error('of ours')])('%s is no setting’s fault', (error) => {
    expect(listenFault(error, place)).toBe(error);
  });
});

describe('a store that cannot be had', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tramline-opening-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const faultOf = (file: string): unknown => {
    try {
      openDatabase(file).close();
      return null;
    } catch (error) {
      return storeFault(error, { kind: 'sqlite', path: file });
    }
  };

  test.each([
    ['a folder', '', 'unable to open database file'],
    ['a file of something else', 'junk', 'file is not a database'],
    ['a path through a file', 'junk/deeper/tramline.db', 'ENOTDIR'],
    ['a path where no folder can be made', '/proc/nothing/tramline.db', 'ENOENT'],
  ])('%s is a wrong DATABASE_URL', (_what, path, why) => {
    writeFileSync(join(folder, 'junk'), 'x'.repeat(8192));
    expect(faultOf(resolve(folder, path))).toMatchObject({
      code: 'settings.invalid',
      message: expect.stringMatching(
        new RegExp(`^DATABASE_URL must name a store that can be used: .*${why}`),
      ),
    });
  });

  test('a certificate that the address of a server names and nobody has is a wrong DATABASE_URL', async () => {
    const missing = join(folder, 'ca.pem');
    const url = `postgres://me:word@db.example/tramline?sslrootcert=${missing}`;
    const { settings } = loadSettings('command', { DATABASE_URL: url });
    const opening = openPostgres(storeOptions(settings) as PostgresSettings);
    const error = await opening.catch((thrown: unknown) => storeFault(thrown, settings.databaseUrl));
    expect(error).toMatchObject({
      code: 'settings.invalid',
      message: expect.stringMatching(/^DATABASE_URL must name files that can be read: ENOENT.*ca\.pem/),
    });
  });

  test('folders that are missing are made', () => {
    expect(faultOf(join(folder, 'a', 'b', 'tramline.db'))).toBeNull();
  });

  test('a server that does not answer may answer later, and is named', () => {
    const silent = new Problem('store.unavailable', '', systemError('ECONNREFUSED'));
    expect(storeFault(silent, server)).toMatchObject({
      code: 'store.unavailable',
      message: 'the store of DATABASE_URL at db.example:5433 is not there: ECONNREFUSED',
    });
    const moved = new Problem('store.moved', 'it was moved');
    expect(storeFault(moved, server)).toBe(moved);
  });

  test.each([
    ['53300', 'sorry, too many clients already', 'refuses connections now'],
    ['57P03', 'the database system is starting up', 'refuses connections now'],
    ['53100', 'could not extend file "base/5/1259"', 'has nothing left to work with now'],
    ['25006', 'the server is a standby', 'can only be read now'],
    ['55000', 'database "tramline" is not currently accepting connections', 'cannot be used now'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify', 'shows a certificate that is not trusted here'],
    ['CERT_HAS_EXPIRED', 'certificate has expired', 'shows a certificate that is not trusted here'],
    ['', 'The server does not support SSL connections', 'cannot be used now'],
  ])('a server that answers %s is there', (code, said, what) => {
    const refused = new Problem('store.unavailable', said, Object.assign(new Error(said), { code }));
    expect(storeFault(refused, server)).toMatchObject({
      code: 'store.unavailable',
      message: `the store of DATABASE_URL at db.example:5433 ${what}: ${said}`,
    });
  });

  test('a file whose disk is full is there, and cannot be used', () => {
    const full = new Problem('store.unavailable', 'database or disk is full');
    expect(storeFault(full, { kind: 'sqlite', path: 't.db' })).toMatchObject({
      code: 'store.unavailable',
      message: 'the store of DATABASE_URL cannot be used now: database or disk is full',
    });
  });

  test('one that stops answering while the process starts is named too', async () => {
    const loaded = loadSettings('serve', {
      ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
      PROVIDER_VENDOR: 'vendor',
      PROVIDER_URL: 'https://api.example/platform',
      PROVIDER_EQUIPMENT_URL: 'https://api.example/equipment',
      PROVIDER_CLIENT_KEY: 'client',
      PROVIDER_CLIENT_SECRET: 'word',
      WEBHOOK_AUTHORIZATION: 'Bearer word',
      LOG_LEVEL: 'silent',
      DATABASE_URL: 'postgres://me:word@db.example:5433/tramline',
    });
    const starting = startService(loaded);
    await expect(starting).rejects.toMatchObject({
      code: 'store.unavailable',
      message: 'the store of DATABASE_URL at db.example:5433 is not there: Query read timeout',
    });
  });

  test('a store that another process serves names the setting, and where commands ask that process', () => {
    expect(
      storeFault(new Problem('store.locked', 't.db is in use by another process'), server),
    ).toMatchObject({
      code: 'store.locked',
      message: expect.stringMatching(
        /^DATABASE_URL must .*: t\.db is in use by another process; TRAMLINE_URL is/,
      ),
    });
  });
});
