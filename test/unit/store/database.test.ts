/**
 * Goal: what the embedded store is opened with is a file on disk, kept with a write-ahead log, or it is not opened.
 * Method: names that SQLite would read otherwise, and an SQLite that keeps another journal mode than it is told.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openDatabase } from '../../../src/store/sqlite/database';

const before = process.cwd();
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-database-'));
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

test('a name is a path, also where SQLite would take it for the URI of a store that is nowhere or unlocked', () => {
  const name = 'file:store.db?mode=memory&nolock=1';
  const first = openDatabase(name);
  expect(readdirSync(folder)).toContain(name);
  expect(() => openDatabase(name)).toThrow(expect.objectContaining({ code: 'store.locked' }));
  first.close();
});

test('a file that gets no write-ahead log is refused, and freed', () => {
  const file = join(folder, 'store.db');
  const keeps = { get: () => ({ journal_mode: 'delete' }) };
  const prepare = jest.spyOn(DatabaseSync.prototype, 'prepare').mockReturnValueOnce(keeps as never);
  expect(() => openDatabase(file)).toThrow(
    expect.objectContaining({ code: 'settings.invalid', message: expect.stringContaining(`${file} has no`) }),
  );
  prepare.mockRestore();
  openDatabase(file).close();
});
