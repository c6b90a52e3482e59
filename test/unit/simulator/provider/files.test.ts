// Files: lists, the record, and the bytes by ranges; a version that changes in between; a connection that is cut.
import { createHash } from 'node:crypto';
import { askedRange } from '../../../../src/simulator/provider/byte-range';
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, type Body, control, get, rawControl } from '../caller';

let simulator: Simulator;
beforeEach(async () => {
  simulator = await startSimulator({ organizations: 2 });
});
afterEach(() => simulator.close());

const rel = (links: Body[], name: string): string => links.find((link) => link.rel === name)!.uri;
const files = async (query = ''): Promise<Body[]> =>
  (await get(simulator, `${simulator.catalog}files${query}`)).body.values;
const bytes = (url: string, headers: Record<string, string> = {}): Promise<Answered> =>
  get(simulator, url, { Accept: 'application/octet-stream', ...headers });
const address = (id: number): string => `${simulator.catalog}files/${id}`;
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

test('the catalog and the organizations lead to files, whose flags and sizes are text', async () => {
  const catalog = (await get(simulator, simulator.catalog)).body;
  const all = (await get(simulator, rel(catalog.link, 'files'))).body;
  expect([all.total, all.values.length]).toEqual([14, 10]);
  expect(all.values[0]).toMatchObject({
    id: '577001',
    nativeSize: '2048',
    archived: 'false',
    status: 'READY',
  });
  const organization = (await get(simulator, rel(all.values[0].links, 'owningOrganization'))).body;
  const own = (await get(simulator, rel(organization.links, 'files'))).body;
  expect(own.values.map(({ id }: Body) => id)).toEqual(all.values.slice(0, 7).map(({ id }: Body) => id));
  expect((await get(simulator, rel(all.values[0].links, 'self'))).body).toEqual(all.values[0]);
});

test('the lists are filtered, and hold nothing of an organization that is closed', async () => {
  expect((await files('?fileType=SETUP&itemLimit=50')).map(({ type }) => type)).toEqual(
    Array(6).fill('SETUP'),
  );
  expect((await files('?status=UPLOAD_PENDING')).map(({ id }) => id)).toEqual(['577007', '577014']);
  await control(simulator, 'PATCH', 'organizations/4711', { termsAccepted: false });
  expect((await files('?itemLimit=50')).map(({ id }) => Number(id) > 577_007)).toEqual(Array(7).fill(true));
});

test('ranges put together are the file that the digest and the ETag speak of', async () => {
  const parts: Buffer[] = [];
  const etags = new Set<unknown>();
  for (let at = 0; at < 300_001; at += 131_072) {
    const {
      status,
      headers,
      bytes: part,
    } = await bytes(address(577_003), {
      Range: `bytes=${at}-${at + 131_071}`,
    });
    const last = Math.min(at + 131_071, 300_000);
    expect([status, headers['content-range']]).toEqual([206, `bytes ${at}-${last}/300001`]);
    etags.add(headers.etag);
    parts.push(part);
  }
  const whole = await bytes(address(577_003));
  expect([whole.status, whole.headers['content-length']]).toEqual([200, '300001']);
  expect(Buffer.concat(parts).equals(whole.bytes)).toBe(true);
  const digest = createHash('sha256').update(whole.bytes).digest('base64');
  expect(whole.headers['repr-digest']).toBe(`sha-256=:${digest}:`);
  expect([...etags]).toEqual([whole.headers.etag]);
  expect((await control(simulator, 'GET', 'files/577003')).sha256).toBe(sha256(whole.bytes));
});

test('a range behind the end is 416, an unchanged file 304, one still uploading 404', async () => {
  const behind = await bytes(address(577_001), { Range: 'bytes=2048-' });
  expect([behind.status, behind.headers['content-range']]).toEqual([416, 'bytes */2048']);
  const { etag } = (await bytes(address(577_001))).headers;
  expect((await bytes(address(577_001), { 'If-None-Match': etag! })).status).toBe(304);
  expect((await bytes(address(577_007))).status).toBe(404);
});

test('more than 50 MB are sent in ranges only, by header or by offset and size', async () => {
  expect((await bytes(address(577_006))).status).toBe(400);
  const part = await bytes(address(577_006), { Range: 'bytes=59999990-' });
  expect([part.status, part.bytes.length]).toEqual([206, 10]);
  const same = await bytes(`${address(577_006)}?offset=59999990&size=10`);
  expect([same.status, same.bytes.equals(part.bytes)]).toEqual([206, true]);
});

test('new content has another ETag, and If-Range then brings the whole file', async () => {
  const before = await bytes(address(577_001), { Range: 'bytes=0-9' });
  await control(simulator, 'PATCH', 'files/577001', { newContent: true });
  const after = await bytes(address(577_001), { Range: 'bytes=10-19', 'If-Range': before.headers.etag! });
  expect([after.status, after.bytes.length, after.headers.etag === before.headers.etag]).toEqual([
    200,
    2_048,
    false,
  ]);
});

test('a connection cut after some bytes breaks the answer, and the next call is whole', async () => {
  const match = { path: '/files/577003' };
  await control(simulator, 'PUT', 'faults', [{ match, times: 1, truncateAt: 1_000 }]);
  await expect(bytes(address(577_003))).rejects.toThrow();
  expect((await bytes(address(577_003))).bytes).toHaveLength(300_001);
});

test('changed and removed files come with a change token', async () => {
  const url = `${simulator.catalog}organizations/4711/files`;
  const first = await get(simulator, url, { 'x-harrow-signature': '' });
  await control(simulator, 'PATCH', 'files/577001', { archived: true });
  await control(simulator, 'PATCH', 'files/577002', { removed: true });
  const changed = await get(simulator, url, {
    'x-harrow-signature': String(first.headers['x-harrow-signature']),
  });
  expect(changed.body.values.map(({ id, archived, links }: Body) => [id, archived, links[0].rel])).toEqual([
    ['577001', 'true', 'self'],
    ['577002', undefined, 'delete'],
  ]);
  expect((await get(simulator, address(577_002))).status).toBe(404);
  expect((await rawControl(simulator, 'PATCH', 'files/577001', { bytes: -1 })).status).toBe(400);
  expect((await rawControl(simulator, 'PATCH', 'files/577001', { colour: 'x' })).status).toBe(400);
});

test.each<[string | undefined, string, object]>([
  [undefined, '', { whole: true }],
  ['bytes=0-0', '', { range: { from: 0, to: 1 } }],
  ['bytes=90-200', '', { range: { from: 90, to: 100 } }],
  ['bytes=-10', '', { range: { from: 90, to: 100 } }],
  ['bytes=-0', '', { unsatisfiable: true }],
  ['bytes=5-1', '', { whole: true }],
  ['bytes=0-1,5-6', '', { whole: true }],
  ['bytes=100-', '', { unsatisfiable: true }],
  [undefined, 'offset=10&size=5', { range: { from: 10, to: 15 } }],
  [undefined, 'size=0', { unsatisfiable: true }],
  [undefined, 'offset=x', { unsatisfiable: true }],
])('of 100 bytes the range %s with the query %j is %j', (range, query, asked) => {
  expect(askedRange(range, new URLSearchParams(query), 100)).toEqual(asked);
});
