/**
 * The doors of commands in a real process: a command that only asks opens a store that is there, and leaves everything
 * else on this machine as it is.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { processDoors } from '../../../src/commands/doors';
import { loadSettings } from '../../../src/config';
import { openDatabase } from '../../../src/store/sqlite/database';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-doors-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const key = `k1:${Buffer.alloc(32, 7).toString('base64')}`;
const loadedWith = (file: string) =>
  loadSettings('command', { DATABASE_URL: `sqlite:${file}`, ENCRYPTION_KEYS: key });
const refused = (file: string) => ({
  code: 'settings.invalid',
  message: expect.stringMatching(new RegExp(`^DATABASE_URL must name a store .+: ${file} is not `)),
});

test('no store is made by a command that only asks, nor by one that turns keys', async () => {
  const file = join(folder, 'elsewhere', 'tramline.db');
  await expect(processDoors.openStore(loadedWith(file), 'kept')).rejects.toMatchObject(refused(file));
  await expect(processDoors.reencrypt(loadedWith(file))).rejects.toMatchObject(refused(file));
  expect(existsSync(join(folder, 'elsewhere'))).toBe(false);
});

test('no table of ours is put into the database of another program', async () => {
  const file = join(folder, 'other.db');
  const other = new DatabaseSync(file);
  other.exec('CREATE TABLE theirs (id INTEGER)');
  await expect(processDoors.openStore(loadedWith(file), 'kept')).rejects.toMatchObject(refused(file));
  expect(other.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'theirs' }]);
  other.close();
});

/** A store as the version before this one left it. */
function olderStore(file: string): void {
  openDatabase(file).close();
  const older = new DatabaseSync(file);
  older.exec(`DROP TABLE lanes; DELETE FROM migrations WHERE name = '0017-half-open'`);
  older.close();
}

test('a store of an older version is left as it is by what only asks', async () => {
  const file = join(folder, 'tramline.db');
  olderStore(file);
  const before = readFileSync(file);
  const refusal = {
    code: 'store.older',
    message: expect.stringMatching(/^the store of DATABASE_URL is not of this version: .*`tramline migrate`/),
  };
  await expect(processDoors.openStore(loadedWith(file), 'kept')).rejects.toMatchObject(refusal);
  expect(readFileSync(file)).toEqual(before);
});

test('a store that somebody has open is said to be in use', async () => {
  const file = join(folder, 'tramline.db');
  const served = openDatabase(file);
  await expect(processDoors.openStore(loadedWith(file), 'kept')).rejects.toMatchObject({
    code: 'store.locked',
    message: expect.stringMatching(/^DATABASE_URL must name a store that no other process serves/),
  });
  served.close();
});
