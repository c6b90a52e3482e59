/**
 * A move of a store that cannot begin says which of both stores it is, and where that was looked for, without its password.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../src/store/sqlite/database';
import { moveBetween } from '../../../src/wire/move';
import { freePort } from '../../support/free-port';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-move-'));
  openDatabase(join(folder, 'whole.db')).close();
  writeFileSync(join(folder, 'junk.db'), 'x'.repeat(8192));
});
afterEach(() => rmSync(folder, { recursive: true }));

const move = (file: string, to: string) =>
  moveBetween(`sqlite:${join(folder, file)}`, to, {
    paged() {},
    interrupted: () => new AbortController().signal,
  });

test.each([
  ['none.db', /none\.db is not there: no store was found$/],
  ['junk.db', /junk\.db cannot be opened: file is not a database$/],
])('one whose source %s cannot be opened names --from, and the file', async (file, why) => {
  const failed = move(file, 'postgres://me:canary@127.0.0.1:1/tramline');
  const message = expect.stringMatching(
    new RegExp(`^--from must name a store that can be used: ${folder}/${why.source}`),
  );
  await expect(failed).rejects.toMatchObject({ code: 'settings.invalid', message });
});

test('one whose source is served names --from, and no address where commands ask', async () => {
  const serving = openDatabase(join(folder, 'whole.db'));
  const failed = move('whole.db', 'postgres://me:canary@127.0.0.1:1/tramline');
  const message = expect.stringMatching(/^--from must name a store that no other process serves: [^;]*$/);
  await expect(failed).rejects.toMatchObject({ code: 'store.locked', message });
  serving.close();
});

test('one whose target is not reached names --to, and its host and port', async () => {
  const port = await freePort();
  const failed = move('whole.db', `postgres://me:canary@127.0.0.1:${port}/tramline`);
  const message = expect.stringMatching(
    new RegExp(`^the store of --to at 127.0.0.1:${port} is not there: .*ECONNREFUSED`),
  );
  await expect(failed).rejects.toMatchObject({ code: 'store.unavailable', message });
});

test('one whose target names a certificate that nobody has names --to, and the file', async () => {
  const missing = join(folder, 'ca.pem');
  await expect(
    move('whole.db', `postgres://me:canary@127.0.0.1:1/tramline?sslrootcert=${missing}`),
  ).rejects.toMatchObject({
    code: 'settings.invalid',
    message: expect.stringMatching(/^--to must name files that can be read: ENOENT.*ca\.pem/),
  });
});
