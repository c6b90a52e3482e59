/**
 * SQLite writes on to files that somebody removed, moved or replaced: whatever would be answered 204 by then is refused, and
 * kept again once they are where they were.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../../src/model/store';
import { openStoreHere } from '../../../src/store/open-store';
import { mustBeCurrent, mustBeMakeable } from '../../../src/store/sqlite/database';
import { openEngine } from '../../../src/store/sqlite/engine';
import { settingsFor } from '../../contract/open-sqlite';
import { deliveryOf, hintOf } from '../../contract/store-hand';
import { repositoryRoot } from '../../support/repository';

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

test('what is asked for beside a delivery that is refused is answered from it as well', () => {
  const engine = openEngine(settingsFor(join(folder, 'other.db')), Date.now);
  rmSync(join(folder, 'other.db'));
  const [put, counts] = engine.execute([
    { verb: 'put', args: [deliveryOf(1, [hintOf('1')])] },
    { verb: 'counts', args: [] },
  ]);
  expect(put).toMatchObject({ problem: { code: 'store.unavailable' } });
  expect(counts).toMatchObject({ value: { due: 0 } });
  engine.close();
});

test('where the file is named by a link, its log is looked for beside the file', async () => {
  const real = join(folder, 'elsewhere');
  mkdirSync(real);
  const link = join(folder, 'link.db');
  symlinkSync(join(real, 'linked.db'), link);
  const linked = openStoreHere(settingsFor(link), Date.now);
  await linked.put(deliveryOf(1, [hintOf('1')]));
  rmSync(join(real, 'linked.db-wal'));
  await expect(linked.put(deliveryOf(1, [hintOf('2')]))).rejects.toMatchObject({
    code: 'store.unavailable',
    message: expect.stringContaining('linked.db-wal is not the file'),
  });
  await linked.close();
});

test('a path that cannot be asked for is a store that is away, and no fault of the delivery', async () => {
  const [inner, aside] = [join(folder, 'inner'), join(folder, 'aside')];
  mkdirSync(inner);
  const other = openStoreHere(settingsFor(join(inner, 'store.db')), Date.now);
  renameSync(inner, aside);
  symlinkSync(inner, inner);
  await expect(other.put(deliveryOf(1, [hintOf('1')]))).rejects.toMatchObject({
    code: 'store.unavailable',
    message: expect.stringContaining('ELOOP'),
  });
  rmSync(inner);
  renameSync(aside, inner);
  expect(await other.put(deliveryOf(1, [hintOf('1')]))).toMatchObject({ due: 1 });
  await other.close();
});

describe('a log whose file is away', () => {
  let killed: string;
  let aside: string;
  /** As a killed process leaves them. */
  beforeEach(async () => {
    await put('1');
    mkdirSync(join(folder, 'killed'));
    [killed, aside] = [join(folder, 'killed', 'store.db'), join(folder, 'aside')];
    for (const suffix of ['', '-wal']) copyFileSync(file + suffix, killed + suffix);
  });

  const away: [how: string, name: string, take: () => void][] = [
    ['was moved', 'killed/store.db', () => renameSync(killed, aside)],
    [
      'is named by a link',
      'link.db',
      () => {
        renameSync(killed, aside);
        symlinkSync(killed, join(folder, 'link.db'));
      },
    ],
    [
      'is named by a link that leads on from the folder that it lies in',
      'named/link.db',
      () => {
        renameSync(killed, aside);
        mkdirSync(join(folder, 'deep', 'links'), { recursive: true });
        symlinkSync(join(folder, 'deep', 'links'), join(folder, 'named'));
        symlinkSync(join('..', '..', 'killed', 'store.db'), join(folder, 'named', 'link.db'));
      },
    ],
    [
      'was emptied',
      'killed/store.db',
      () => {
        copyFileSync(killed, aside);
        truncateSync(killed);
      },
    ],
  ];
  test.each(away)(
    'since it %s is left alone by whoever opens or asks, and is there for the file',
    async (_, name, take) => {
      take();
      const named = join(folder, name);
      const refused = expect.objectContaining({
        code: 'settings.invalid',
        message: expect.stringContaining(`${killed}-wal is there and ${named} is `),
      });
      for (const open of [
        () => openStoreHere(settingsFor(named), Date.now),
        () => mustBeCurrent(named),
        () => mustBeMakeable(named),
      ])
        expect(open).toThrow(refused);
      renameSync(aside, killed);
      const back = openStoreHere(settingsFor(named), Date.now);
      expect(await back.ledger()).toMatchObject({ accepted: 1 });
      await back.close();
    },
  );
});

test('a place that cannot be asked for is told by whoever opens it there', () => {
  symlinkSync(join(folder, 'round'), join(folder, 'round'));
  for (const place of [
    join(file, 'inner', 'store.db'),
    join(folder, 'round'),
    join(folder, 'round', 'store.db'),
  ])
    expect(() => openStoreHere(settingsFor(place), Date.now)).toThrow(
      expect.objectContaining({
        code: 'settings.invalid',
        message: expect.stringContaining('cannot be opened'),
      }),
    );
});

test('what a log held that was removed under the store is kept by an orderly end', async () => {
  await put('1');
  rmSync(`${file}-wal`);
  await expect(put('2')).rejects.toMatchObject({
    message: expect.stringContaining('end this process by SIGTERM'),
  });
  await store.close();
  store = openStoreHere(settingsFor(file), Date.now);
  expect(await store.ledger()).toMatchObject({ accepted: 1 });
});

test.each(['tramline.db', 'farm data.sqlite'])(
  'what was removed is had from the process that has it open, as the runbook says: %s',
  async (name) => {
    const removed = openStoreHere(settingsFor(join(folder, name)), Date.now);
    await removed.put(deliveryOf(1, [hintOf('1')]));
    for (const suffix of ['', '-wal']) rmSync(join(folder, name) + suffix);
    const runbook = readFileSync(
      join(repositoryRoot(), 'deploy/runbooks/TramlineStoreUnavailable.md'),
      'utf8',
    );
    const script = /^mkdir rescued\n[^`]*/m
      .exec(runbook)![0]
      .replaceAll('PID', String(process.pid))
      .replaceAll('NAME', name);
    execFileSync('sh', ['-c', script], { cwd: folder });
    const again = openStoreHere(settingsFor(join(folder, 'rescued', name)), Date.now);
    expect(await again.ledger()).toMatchObject({ accepted: 1 });
    await again.close();
    await removed.close();
  },
);
