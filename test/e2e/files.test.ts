/**
 * Goal: a person lists the provider's files and fetches one: in ranges, on from where it was cut, checked against the
 * provider's digest, in its place only when it is whole.
 * Method: the simulator and the service as processes, each command as a process of its own; answers are cut on the way.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { runCommand, startCommand } from '../support/command';
import { generateRequests } from '../support/generated-requests';
import { faultOfAnswer } from '../support/openapi';
import { temporaryFolder } from '../support/service';
import { beginStory, type Story } from '../support/story';
import { until } from '../support/until';

let story: Story;
let folder: string;

interface File {
  id: string;
  name: string;
  bytes: number;
  status: string;
}

beforeAll(async () => {
  story = await beginStory({ settings: { PUBLIC_URL: 'https://tramline.example' } });
  folder = temporaryFolder();
});
afterAll(() => story.end());

const run = (...words: string[]) => runCommand(words, { TRAMLINE_URL: story.service.operationsUrl });
async function files(...words: string[]): Promise<File[]> {
  const { code, out, error } = await run('files', 'list', ...words, '--json');
  expect([code, error]).toEqual([0, '']);
  return JSON.parse(out) as File[];
}
const sized = async (bytes: number) => (await files()).find((file) => file.bytes === bytes) as File;
const pathOf = async ({ id }: File) => `^.*/files/${id}$`;
const sha256Of = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

test('files are listed of all organizations or of one, and one is shown', async () => {
  const { organizations } = await story.simulator.state();
  const all = await files();
  const ofOne = await files('--organization', organizations[0]!.id);
  expect(ofOne.length).toBeGreaterThan(0);
  expect(all.length).toBe(ofOne.length * organizations.length);
  const { code, out } = await run('files', 'get', ofOne[0]!.id);
  expect([code, out]).toEqual([0, expect.stringContaining(`name          ${ofOne[0]!.name}`)]);
  expect((await run('files', 'get', '999')).code).toBe(3);
  expect((await run('files')).out.split('\n')[0]).toMatch(/^ID +TYPE +BYTES +MODIFIED +NAME$/);
});

test('a file of several ranges arrives whole and agrees with the provider’s digest', async () => {
  const file = await sized(5_000_003);
  const output = join(folder, 'setup.zip');
  const { code, out } = await run('files', 'get', file.id, '--output', output, '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    id: file.id,
    output,
    bytes: 5_000_003,
    checkedBy: 'digest',
    sha256: sha256Of(output),
  });
  const ranges = (await story.requests()).filter(
    ({ path, status }) => path.endsWith(file.id) && status === 206,
  );
  expect(ranges.length).toBe(2);
});

test('a file whose bytes are cut is read on, and is the same file', async () => {
  const file = await sized(1_048_576);
  const output = join(folder, 'harvest.zip');
  // The record passes, being shorter; the bytes do not.
  await story.simulator.setFaults([{ match: { path: await pathOf(file) }, times: 2, truncateAt: 5000 }]);
  const { code } = await run('files', 'get', file.id, '--output', output);
  await story.simulator.setFaults([]);
  expect([code, statSync(output).size]).toEqual([0, 1_048_576]);
});

test('a download that was killed goes on in the next run, from what is already here', async () => {
  const file = await sized(60_000_000);
  const output = join(folder, 'boundaries.zip');
  const download = () =>
    startCommand(['files', 'get', file.id, '--output', output], {
      TRAMLINE_URL: story.service.operationsUrl,
    });
  const left = () => readdirSync(folder).filter((name) => name.endsWith('.part'));
  // Its record and seven of its ranges are answered; the next one is not before it is killed.
  const match = { path: await pathOf(file) };
  await story.simulator.setFaults([
    { match, times: 8, delayMs: 0 },
    { match, held: true },
  ]);
  const killed = download();
  const enough = 24 * 1024 * 1024;
  await until(() => left().some((name) => statSync(join(folder, name)).size > enough), {
    withinMs: 20_000,
    what: 'much of the file',
  });
  killed.kill();
  await killed.ended;
  await story.simulator.setFaults([]);
  expect(left()).toHaveLength(1);

  const { code, out } = await download().ended;
  expect([code, out]).toEqual([0, expect.stringContaining('agrees with the provider’s digest')]);
  expect([statSync(output).size, left()]).toEqual([60_000_000, []]);
  const ranges = (await story.requests()).filter(
    ({ path, status }) => path.endsWith(file.id) && status === 206,
  );
  // 15 hold the file; from its start again would be six more at least.
  expect(ranges.length).toBeLessThan(20);
});

test('an interrupt ends a download whose line holds, long before its deadline, and the next run goes on', async () => {
  const file = await sized(60_000_000);
  const output = join(folder, 'interrupted.zip');
  const words = ['files', 'get', file.id, '--output', output];
  const left = () => readdirSync(folder).filter((name) => name.startsWith('interrupted.zip.'));
  const match = { path: await pathOf(file) };
  await story.simulator.setFaults([
    { match, times: 3, delayMs: 0 },
    { match, held: true },
  ]);
  const interrupted = startCommand(words, { TRAMLINE_URL: story.service.operationsUrl });
  const enough = 4 * 1024 * 1024;
  await until(() => left().some((name) => statSync(join(folder, name)).size >= enough), {
    withinMs: 20_000,
    what: 'a range of the file',
  });
  const atMs = Date.now();
  interrupted.interrupt();
  const { code, error } = await interrupted.ended;
  await story.simulator.setFaults([]);
  expect([code, error]).toEqual([130, expect.stringContaining('the same command goes on from there')]);
  expect(Date.now() - atMs).toBeLessThan(10_000);
  expect((await run(...words)).code).toBe(0);
  expect([statSync(output).size, left()]).toEqual([60_000_000, []]);
});

test('a file that is too large, or not yet there, leaves nothing behind', async () => {
  const large = await sized(60_000_000);
  const output = join(folder, 'large.zip');
  const refused = await run('files', 'get', large.id, '--output', output, '--bytes-max', '1000000');
  expect([refused.code, refused.error]).toEqual([1, expect.stringContaining('60000000 bytes')]);
  const pending = (await files()).find(({ status }) => status === 'UPLOAD_PENDING') as File;
  const early = await run('files', 'get', pending.id, '--output', output);
  expect([early.code, early.error]).toEqual([4, expect.stringContaining('its status is UPLOAD_PENDING')]);
  const at = await run('files', 'get', large.id, '--output', `${folder}/`);
  expect([at.code, at.error]).toEqual([2, expect.stringContaining('is a folder')]);
  expect(existsSync(output)).toBe(false);
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('what is no file is never replaced by one, a link is followed, and a file stays closed to others', async () => {
  const file = await sized(5_000_003);
  const [pipe, link, linked, closed, nowhere] = ['pipe', 'link', 'linked.zip', 'closed.zip', 'nowhere'].map(
    (name) => join(folder, name),
  ) as [string, string, string, string, string];
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  symlinkSync(join(folder, 'missing', 'file.zip'), nowhere);
  const round = join(folder, 'round');
  symlinkSync('round', round);
  const asked = async () => (await story.requests()).filter(({ url }) => url.includes('/files')).length;
  const before = await asked();
  for (const [output, what] of [
    [pipe, 'a pipe'],
    [nowhere, 'a link to nothing'],
    [round, 'a link that leads back to itself'],
    ['', 'empty'],
    ['-', 'standard output, which cannot be checked before it is given'],
    [join(folder, 'missing', 'file.zip'), 'in a folder that there is not'],
    [join(pipe, 'file.zip'), 'below what is no folder'],
  ] as const) {
    const refused = await run('files', 'get', file.id, '--output', output);
    const said = `--output ${output || "''"} is ${what}: the name of a file is needed`;
    expect([refused.code, refused.error]).toEqual([2, expect.stringContaining(said)]);
  }
  expect(await asked()).toBe(before);
  expect([lstatSync(pipe).isFIFO(), lstatSync(nowhere).isSymbolicLink()]).toEqual([true, true]);
  writeFileSync(linked, 'before');
  symlinkSync('linked.zip', link);
  writeFileSync(closed, 'before', { mode: 0o600 });
  for (const output of [link, closed])
    expect((await run('files', 'get', file.id, '--output', output)).code).toBe(0);
  expect([lstatSync(link).isSymbolicLink(), statSync(linked).size]).toEqual([true, file.bytes]);
  expect([statSync(closed).mode & 0o777, statSync(closed).size]).toEqual([0o600, file.bytes]);
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('a disk that takes only a part of a file leaves nothing behind and says so', async () => {
  const file = await sized(5_000_003);
  const output = join(folder, 'no-room.zip');
  const command = `ulimit -f 4600; exec node_modules/.bin/node dist/src/cli.js files get ${file.id} --output ${output}`;
  const environment = { ...process.env, TRAMLINE_URL: story.service.operationsUrl };
  const { status, stderr } = spawnSync('bash', ['-c', command], { env: environment, encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/EFBIG|are on disk/)]);
  expect(stderr).toContain(output);
  expect(existsSync(output)).toBe(false);
});

test('a file whose address moves between its record and its first bytes is found again by its id', async () => {
  const file = await sized(5_000_003);
  const output = join(folder, 'moved.zip');
  await story.simulator.setFaults([{ match: { path: await pathOf(file) }, times: 1, held: true }]);
  const asked = async () => (await story.requests()).filter(({ path }) => path.endsWith(file.id)).length;
  const before = await asked();
  const download = startCommand(['files', 'get', file.id, '--output', output], {
    TRAMLINE_URL: story.service.operationsUrl,
  });
  await until(async () => (await asked()) > before, { withinMs: 20_000, what: 'the record being asked for' });
  await story.simulator.moveLinks();
  await story.simulator.setFaults([]);
  const { code, out, error } = await download.ended;
  expect([code, error, out]).toEqual([0, '', expect.stringContaining('agrees with the provider’s digest')]);
  expect(statSync(output).size).toBe(5_000_003);
});

// Last: some of it changes the world.
test('whatever any described route is asked, its answer is described, and no fault of ours', async () => {
  const requests = generateRequests(4, 20_260);
  expect(requests.length).toBeGreaterThan(200);
  const faults: string[] = [];
  for (const { method, path, address, body, isPublic } of requests) {
    const base = isPublic ? story.service.publicUrl : story.service.operationsUrl;
    const answer = await fetch(`${base}${address}`, {
      method,
      redirect: 'manual',
      ...(body === null ? {} : { body, headers: { 'content-type': 'application/json' } }),
    });
    const mediaType = answer.headers.get('content-type') ?? '';
    const text = await answer.text();
    const read: unknown = /[/+]json/.test(mediaType) ? JSON.parse(text) : text;
    const fault = faultOfAnswer({ method, path, status: answer.status, mediaType, body: read });
    if (fault !== null) faults.push(`${fault} (${address} ${body})`);
  }
  expect(faults).toEqual([]);
  expect(story.log('fault')).toEqual([]);
});
