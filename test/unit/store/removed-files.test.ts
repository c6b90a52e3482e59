/**
 * SQLite writes on to files that somebody removed, moved or replaced: whatever would be answered 204 by then is refused, and
 * kept again once they are where they were.
 */
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../../src/model/store';
import { openStoreHere } from '../../../src/store/open-store';
import { settingsFor } from '../../contract/open-sqlite';
import { deliveryOf, hintOf } from '../../contract/store-hand';

let folder: string;
let store: Store;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-removed-'));
  file = join(folder, 'store.db');
  store = openStoreHere(settingsFor(file), Date.now);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const put = (id: string) => store.put(deliveryOf(1, [hintOf(id)]));

test.each(['', '-wal'])(
  'while store.db%s is away nothing is taken, and it is told which file that is',
  async (suffix) => {
    await put('1');
    const [path, aside] = [file + suffix, join(folder, 'aside')];
    renameSync(path, aside);
    const refused = {
      code: 'store.unavailable',
      message: expect.stringContaining(`${path} is not the file`),
    };
    await expect(put('2')).rejects.toMatchObject(refused);
    await expect(store.ready()).rejects.toMatchObject(refused);
    renameSync(aside, path);
    await store.ready();
    expect(await put('2')).toMatchObject({ due: 1 });
    expect(await store.ledger()).toMatchObject({ accepted: 2, waiting: 2 });
  },
);

test('another file in its place is not taken for it', async () => {
  await put('1');
  copyFileSync(file, join(folder, 'copy'));
  renameSync(join(folder, 'copy'), file);
  await expect(put('2')).rejects.toMatchObject({ code: 'store.unavailable' });
});

test('what is asked for is answered from it all the same', async () => {
  await put('1');
  rmSync(file);
  expect(await store.counts()).toMatchObject({ due: 1 });
});
