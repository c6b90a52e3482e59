/**
 * What the system says of an address or a store becomes one line that begins with the setting to change.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Problem } from '../../../src/model/problem';
import { openDatabase } from '../../../src/store/sqlite/database';
import { type ListenPlace, listenFault, storeFault } from '../../../src/wire/opening-faults';

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
      return storeFault(error);
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

  test('folders that are missing are made', () => {
    expect(faultOf(join(folder, 'a', 'b', 'tramline.db'))).toBeNull();
  });

  test('a server that does not answer may answer later, and is named', () => {
    const silent = new Problem('store.unavailable', '', systemError('ECONNREFUSED'));
    expect(storeFault(silent)).toMatchObject({
      code: 'store.unavailable',
      message: 'the store of DATABASE_URL is not there: ECONNREFUSED',
    });
    const moved = new Problem('store.moved', 'it was moved');
    expect(storeFault(moved)).toBe(moved);
  });

  test('a store that another process serves names the setting, and where commands ask that process', () => {
    expect(storeFault(new Problem('store.locked', 't.db is in use by another process'))).toMatchObject({
      code: 'store.locked',
      message: expect.stringMatching(
        /^DATABASE_URL must .*: t\.db is in use by another process; TRAMLINE_URL is/,
      ),
    });
  });
});
