/**
 * Goal: what the embedded store is opened with is a file on disk, kept with a write-ahead log, or it is not opened; and
 * a busy store's log keeps its length.
 * Method: names that SQLite would read otherwise, an SQLite that keeps another journal mode than it is told, and large commits.
 */
import fs, { fstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
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

test('the name of each folder that is made for it is flushed into the one above', () => {
  const flushed: number[] = [];
  const flush = jest.spyOn(fs, 'fsyncSync').mockImplementation((descriptor) => {
    flushed.push(fstatSync(descriptor).ino);
  });
  openDatabase(join(folder, 'farm', 'data', 'store.db')).close();
  flush.mockRestore();
  expect(flushed).toEqual([folder, join(folder, 'farm')].map((path) => statSync(path).ino));
});

test('a folder whose system flushes none is made all the same', () => {
  const flush = jest.spyOn(fs, 'fsyncSync').mockImplementation(() => {
    throw Object.assign(new Error('invalid argument'), { code: 'EINVAL' });
  });
  openDatabase(join(folder, 'farm', 'store.db')).close();
  flush.mockRestore();
  expect(readdirSync(join(folder, 'farm'))).toContain('store.db');
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

test('ninety commits of one megabyte leave a log that need not be cut', () => {
  const file = join(folder, 'store.db');
  const database = openDatabase(file);
  const insert = 'INSERT INTO alerts (fingerprint, alert) VALUES (?, ?)';
  const megabyte = 'x'.repeat(1_000_000);
  for (let commit = 0; commit < 90; commit += 1) {
    database.begin();
    database.run(insert, String(commit), megabyte);
    database.commit();
    database.checkpoint(false);
  }
  expect(statSync(`${file}-wal`).size).toBeLessThan(67_108_864);
  database.close();
});
