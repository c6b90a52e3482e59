// Goal: a download that was cut goes on in a later run, and never with bytes of another file, version or writer.
// Method: a provider of our own that breaks off where it is told, real files, a clock that does not wait.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NobodyListens } from '../../../src/commands/client';
import { downloadFile } from '../../../src/commands/download-file';
import { makeOutput } from '../../../src/commands/output';
import { Problem } from '../../../src/model/problem';
import type { FileContent } from '../../../src/model/provider-data';
import type { Clock } from '../../../src/tools/clock';

const clock: Clock = { nowMs: () => 0, steadyMs: () => 0, wait: async () => {} };
const first = Buffer.from('0123456789'.repeat(10));
const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

let folder: string;
let target: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tramline-download-'));
  target = join(folder, 'setup.zip');
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Served {
  bytes: Buffer;
  version: string | null;
  sha256: string | null;
  /** Nothing comes from there on. */
  cutAt: number;
  /** Asked this many times more, nobody listens there. */
  away: number;
  /** From there on the line holds what was asked for, or the next piece of it. */
  heldAt: number;
  /** Hears of each piece, before it is written, and of what is held. */
  gives(at: number): void;
}

function stage(more: Partial<Served> = {}) {
  const served: Served = {
    bytes: first,
    version: '"one"',
    sha256: null,
    cutAt: 60,
    away: 0,
    heldAt: Number.POSITIVE_INFINITY,
    gives() {},
    ...more,
  };
  const held = async (at: number) => {
    if (at < served.heldAt) return;
    served.gives(at);
    await new Promise(() => {});
  };
  const asked: number[] = [];
  const notes: string[] = [];
  const output = makeOutput({ out() {}, error: (text) => notes.push(text), colors: false }, false);
  const provider = {
    async fileContent(_id: string, from: number): Promise<FileContent> {
      asked.push(from);
      if (served.away > 0) {
        served.away -= 1;
        throw new NobodyListens('http://127.0.0.1:1');
      }
      await held(from);
      const { bytes, version, sha256, cutAt } = served;
      if (from > bytes.length) throw new Problem('provider.refused', 'the range is behind the end');
      async function* chunks(): AsyncGenerator<Uint8Array> {
        for (let at = from; at < Math.min(cutAt, bytes.length); at += 20) {
          await held(at);
          served.gives(at);
          yield bytes.subarray(at, Math.min(at + 20, cutAt));
        }
        if (cutAt < bytes.length) throw new Problem('provider.unavailable', 'the file was cut');
      }
      const known = { bytesTotal: bytes.length, bytesRecorded: null, version, sha256 };
      return { address: 'the file', from, ...known, chunks: chunks() };
    },
  };
  const run = (id = '577', signal = new AbortController().signal) =>
    downloadFile({ id, path: target, bytesMax: 1000, signal }, provider, output, clock);
  return { served, asked, notes, run };
}

const parts = () => readdirSync(folder).filter((name) => name.endsWith('.part'));
/** As a process leaves it that is gone: its number is larger than any. */
function leave(): void {
  const [part = ''] = parts();
  const bytes = readFileSync(join(folder, part));
  rmSync(join(folder, part));
  writeFileSync(join(folder, part.replace(/\.\d+\.part$/, '.4194305.part')), bytes);
}

test.each([
  ['an ETag', {}],
  ['a digest', { version: null, sha256: sha256Of(first) }],
])(
  'a run that was cut leaves what came, and the next one goes on from there, known by %s',
  async (_what, more) => {
    const { served, asked, notes, run } = stage(more);
    await expect(run()).rejects.toMatchObject({ code: 'provider.unavailable' });
    expect(notes.join('')).toContain('60 bytes are kept beside it');
    leave();
    served.cutAt = 1000;
    asked.length = 0;
    expect(await run()).toMatchObject({ bytes: 100, sha256: sha256Of(first) });
    expect(asked).toEqual([60]);
    expect([readFileSync(target), readdirSync(folder)]).toEqual([first, ['setup.zip']]);
  },
);

test('what came is still there for the store where no service listens', async () => {
  const { served, asked, run } = stage();
  await expect(run()).rejects.toThrow('the file was cut');
  leave();
  Object.assign(served, { cutAt: 1000, away: 1 });
  asked.length = 0;
  await expect(run()).rejects.toBeInstanceOf(NobodyListens);
  expect((await run())?.sha256).toBe(sha256Of(first));
  expect(asked).toEqual([60, 60]);
});

test.each([
  ['comes back is gone on with', 2],
  ['stays away is given up, and what came is kept', 9],
])('a service that goes away within a file and %s', async (_what, away) => {
  const { served, asked, notes, run } = stage({
    gives: (at) => at === 40 && Object.assign(served, { away, cutAt: 1000 }),
  });
  const ended = run().then(
    (downloaded) => downloaded?.sha256,
    ({ code }) => code,
  );
  expect(await ended).toBe(away === 2 ? sha256Of(first) : 'store.unavailable');
  expect(asked.slice(0, 4)).toEqual([0, 60, 60, 60]);
  expect(notes.join('').includes('60 bytes are kept beside it')).toBe(away === 9);
});

test('a run that was interrupted leaves what came', async () => {
  const controller = new AbortController();
  const { asked, run } = stage({ cutAt: 1000, gives: (at) => at === 40 && controller.abort() });
  expect(await run('577', controller.signal)).toBeNull();
  leave();
  expect((await run())?.sha256).toBe(sha256Of(first));
  expect(asked).toEqual([0, 40]);
});

test('a run that is interrupted while the line holds what comes ends at once, and leaves what came', async () => {
  const pieces = new AbortController();
  const { served, asked, notes, run } = stage({
    cutAt: 1000,
    heldAt: 40,
    gives: (at) => at === 40 && pieces.abort(),
  });
  expect(await run('577', pieces.signal)).toBeNull();
  expect(notes.join('')).toContain('40 bytes are kept beside it');
  leave();
  const answer = new AbortController();
  served.gives = () => answer.abort();
  expect(await run('577', answer.signal)).toBeNull();
  expect(parts()).toHaveLength(1);
  served.heldAt = Number.POSITIVE_INFINITY;
  expect((await run())?.sha256).toBe(sha256Of(first));
  expect(asked).toEqual([0, 40, 40]);
});

test.each<[string, (served: Served) => void]>([
  ['another version of it', (served) => Object.assign(served, { version: '"two"' })],
  ['a shorter version of it', (served) => Object.assign(served, { bytes: first.subarray(0, 40) })],
  ['a file without an ETag', (served) => Object.assign(served, { version: null })],
  ['a file with a weak ETag', (served) => Object.assign(served, { version: 'W/"one"' })],
])('what came of one version is not the beginning of %s', async (_what, change) => {
  const { served, asked, run } = stage();
  await expect(run()).rejects.toThrow('the file was cut');
  leave();
  change(served);
  served.cutAt = 1000;
  asked.length = 0;
  expect((await run())?.sha256).toBe(sha256Of(served.bytes));
  expect(asked).toEqual([60, 0]);
  expect(readdirSync(folder)).toEqual(['setup.zip']);
});

test('what came of one file is not the beginning of another that goes to the same place', async () => {
  const { served, run } = stage();
  await expect(run('577')).rejects.toThrow();
  leave();
  Object.assign(served, { cutAt: 1000, bytes: Buffer.alloc(100, 7) });
  expect((await run('578'))?.sha256).toBe(sha256Of(served.bytes));
});

test('what another process still writes is left alone', async () => {
  const { served, asked, run } = stage();
  await expect(run()).rejects.toThrow();
  const [part = ''] = parts();
  const others = part.replace(/\.\d+\.part$/, `.${process.ppid}.part`);
  writeFileSync(join(folder, others), 'somebody else writes');
  rmSync(join(folder, part));
  served.cutAt = 1000;
  asked.length = 0;
  await run();
  expect(asked).toEqual([0]);
  expect(readdirSync(folder).sort()).toEqual(['setup.zip', others].sort());
});

test('what has come is never open to more readers than the file that it will replace', async () => {
  writeFileSync(target, 'before', { mode: 0o600 });
  const { served, run } = stage();
  await expect(run()).rejects.toThrow('the file was cut');
  expect(statSync(join(folder, parts()[0] ?? '')).mode & 0o777).toBe(0o600);
  leave();
  served.cutAt = 1000;
  await run();
  expect(statSync(target).mode & 0o777).toBe(0o600);
});

test('what cannot be known again, and what does not agree with its digest, is not kept', async () => {
  const unknown = stage({ version: null });
  await expect(unknown.run()).rejects.toThrow('the file was cut');
  expect(parts()).toEqual([]);
  const wrong = stage({ sha256: 'f'.repeat(64), cutAt: 1000 });
  await expect(wrong.run()).rejects.toThrow('expected the SHA-256');
  expect(readdirSync(folder)).toEqual([]);
});
