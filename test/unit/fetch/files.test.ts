// Files against recorded answers: found by their id, read range by range of one version, and cut where a range is not
// what was asked for. No other network is there.
import nock from 'nock';
import { Secret } from '../../../src/tools/secret';
import { connectionOf, origin, type Staged, stageClient } from '../../support/provider-client';

const axiom = { 'content-type': 'application/vnd.Acme.axiom.v3+json' };
const bytes = { 'content-type': 'application/octet-stream' };
const api = () => nock(origin);
const files = `${origin}/platform/files`;
const fileLink = (id: string) => ({ rel: 'self', uri: `${files}/${id}` });

let staged: Staged;

// Suites of one worker share the network that nock takes hold of.
afterAll(() => nock.restore());

beforeEach(() => {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
  // Ranges are as large as an answer may be.
  staged = stageClient({ bodyBytesMax: 1000 });
  const links = [
    { rel: 'organizations', uri: `${origin}/platform/organizations` },
    { rel: 'files', uri: files },
  ];
  api().get('/platform/').reply(200, { links }, axiom);
});

afterEach(() => {
  staged.client.close();
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
  nock.enableNetConnect();
});

function listed(...values: object[]): void {
  api().get('/platform/files?itemLimit=100').reply(200, { links: [], total: values.length, values }, axiom);
}

/** The listing and the record of a file, as `content` asks for them. */
function found(id = 'f1', more: object = {}): void {
  listed({ id: 'f0', links: [fileLink('f0')] });
  api()
    .get(`/platform/files/${id}`)
    .reply(200, { id, nativeSize: '2500', ...more }, axiom);
}

/** One range of 2,500 bytes. */
function range(from: number, to: number, headers: Record<string, string | undefined> = {}): void {
  api()
    .get('/platform/files/f1')
    .matchHeader('range', `bytes=${from}-${from + 999}`)
    .matchHeader('accept', 'application/octet-stream')
    .matchHeader('accept-encoding', 'identity')
    .reply(206, Buffer.alloc(to - from + 1, 7), {
      ...bytes,
      ...('etag' in headers ? {} : { etag: '"v1"' }),
      'content-range': `bytes ${from}-${to}/2500`,
      ...(Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as object),
    });
}

/** Nothing is asked of organizations then. */
const seesNothing = () => staged.sees.clear();

async function idsListed(): Promise<unknown[]> {
  const ids: unknown[] = [];
  for await (const line of staged.client.data.files(null)) {
    if ('fault' in line) throw new Error(line.fault.detail);
    ids.push((line.item.body as { id: unknown }).id);
  }
  return ids;
}

async function lengthsOf(chunks: AsyncIterable<Uint8Array>): Promise<number[]> {
  const lengths: number[] = [];
  for await (const chunk of chunks) lengths.push(chunk.byteLength);
  return lengths;
}

test('files of an organization are listed by its own relationship, and it may have none', async () => {
  const own = `${origin}/platform/organizations/4711/files`;
  for (const links of [[{ rel: 'files', uri: own }], []]) {
    const values = [{ id: '4711', links }];
    api().get('/platform/organizations?itemLimit=100').reply(200, { links: [], total: 1, values }, axiom);
  }
  api()
    .get('/platform/organizations/4711/files?itemLimit=100')
    .reply(200, { links: [], values: [{ id: 'f1' }] }, axiom);
  for (const expected of [{ item: { body: { id: 'f1' } } }, { fault: { answer: { kind: 'no-access' } } }]) {
    for await (const line of staged.client.data.files('4711')) expect(line).toMatchObject(expected);
  }
});

test('of the organizations of a user each that is closed is a fault, one that shares none is not, and none twice', async () => {
  const connect = 'https://connections.provider.test/select';
  const organization = (id: string, ...links: object[]) => {
    const self = { rel: 'self', uri: `${origin}/platform/organizations/${id}` };
    return { id, links: [self, ...links] };
  };
  const own = { rel: 'files', uri: `${origin}/platform/organizations/4711/files` };
  const values = [
    organization('4711', own),
    organization('4712', { rel: 'connections', uri: connect }),
    organization('4713'),
  ];
  staged.sees.set('c1', new Set(['4711', '4712', '4713']));
  api().get('/platform/organizations?itemLimit=100').reply(200, { links: [], values }, axiom);
  for (const one of values.slice(1)) api().get(`/platform/organizations/${one.id}`).reply(200, one, axiom);
  listed({ id: 'f1' });
  api()
    .get('/platform/organizations/4711/files?itemLimit=100')
    .reply(200, { links: [], values: [{ id: 'f1' }, { id: 'f2' }] }, axiom);
  const told: unknown[] = [];
  for await (const line of staged.client.data.files(null))
    told.push('fault' in line ? [line.fault.organizationId, line.fault.answer] : (line.item.body as never));
  expect(told).toEqual([
    { id: 'f1' },
    { id: 'f2' },
    ['4712', { kind: 'not-connected', actionUrl: connect, connectionId: 'c1' }],
  ]);
});

test('of several organizations the lists are asked for together, and told in order', async () => {
  const ids = ['1', '2', '3', '4', '5'];
  const at = (id: string) => `${origin}/platform/organizations/${id}`;
  const values = ids.map((id) => ({
    id,
    links: [
      { rel: 'self', uri: at(id) },
      { rel: 'files', uri: `${at(id)}/files` },
    ],
  }));
  staged.sees.set('c1', new Set(ids));
  listed();
  api().get('/platform/organizations?itemLimit=100').reply(200, { links: [], values }, axiom);
  for (const one of values.slice(1)) api().get(`/platform/organizations/${one.id}`).reply(200, one, axiom);
  // The last three wait for each other.
  const asked = new Map<string, () => void>();
  for (const id of ids) {
    api()
      .get(`/platform/organizations/${id}/files?itemLimit=100`)
      .reply(async () => {
        if (Number(id) > 2)
          await new Promise<void>((resolve) => {
            asked.set(id, resolve);
            if (asked.size === 3) for (const go of [...asked.values()].reverse()) go();
          });
        return [200, { links: [], values: [{ id: `f${id}` }] }, axiom];
      });
  }
  expect(await idsListed()).toEqual(['f1', 'f2', 'f3', 'f4', 'f5']);
});

test('a relationship of the catalog that is no address is told as what it is, at the catalog', async () => {
  nock.cleanAll();
  const links = [
    { rel: 'organizations', uri: '//organizations' },
    { rel: 'files', uri: 'platform/files?key=canary' },
    { rel: 'other', uri: files },
  ];
  api().get('/platform/').times(3).reply(200, { links }, axiom);
  const told: unknown[] = [];
  for await (const line of staged.client.data.files(null))
    told.push('fault' in line && [line.fault.answer, line.fault.detail, line.fault.address]);
  const catalog = `${origin}/platform/`;
  expect(told[0]).toEqual([
    null,
    'expected an absolute address in the link `files`, got `platform/files` (malformed-entry)',
    catalog,
  ]);
  expect(String(told[1])).toContain(
    'the catalog: expected an absolute address in the link `organizations`, got `//organizations` (no-listing)',
  );
});

test('a file is found through the form of the listing’s addresses', async () => {
  found();
  expect(await staged.client.data.file('f1')).toMatchObject({
    value: { body: { id: 'f1' }, address: `${files}/f1` },
  });
});

test('the record of another file is not taken for the one that is asked for', async () => {
  listed({ id: 'f0', links: [fileLink('f0')] });
  api().get('/platform/files/f1').reply(200, { id: 'f2', status: 'READY' }, axiom);
  expect(await staged.client.data.file('f1')).toEqual({
    fault: {
      answer: null,
      detail: 'expected the record of file f1, got that of f2',
      address: `${files}/f1`,
      organizationId: null,
    },
  });
});

test('a file whose listing shows no form is found in the list, or not at all', async () => {
  const odd = (id: string) => ({ rel: 'self', uri: `${files}?is=${id}` });
  listed({ id: 'f0', links: [odd('f0')] }, { links: [] }, { id: 'f1', links: [odd('f1')] });
  api().get('/platform/files?is=f1').reply(200, { id: 'f1' }, axiom);
  seesNothing();
  expect(await staged.client.data.file('f1')).toMatchObject({ value: { body: { id: 'f1' } } });
  listed({ id: 'f0', links: [odd('f0')] });
  expect(await staged.client.data.file('f9')).toMatchObject({ fault: { detail: 'there is no file f9' } });
});

test.each<[string, object]>([
  ['stands at a foreign origin', { id: 'f0', links: [{ rel: 'self', uri: 'https://evil.test/f0' }] }],
  ['has no link', { id: 'f0' }],
  ['has no id', { links: [fileLink('f0')] }],
])('a file is found behind one that %s', async (_what, first) => {
  listed(first, { id: 'f1', links: [fileLink('f1')] });
  api().get('/platform/files/f1').reply(200, { id: 'f1' }, axiom);
  expect(await staged.client.data.file('f1')).toMatchObject({ value: { address: `${files}/f1` } });
});

test('a file that is listed without a link, or perhaps, is not to be read, and is not said to be none', async () => {
  const missing = 'expected a link `self`, got none (malformed-entry)';
  listed({ id: 'f0' }, { id: 'f1', links: [] });
  expect(await staged.client.data.file('f1')).toMatchObject({ fault: { answer: null, detail: missing } });
  listed({ id: 'f0' }, { name: 'who knows' });
  expect(await staged.client.data.file('f1')).toMatchObject({
    fault: {
      answer: null,
      detail: 'expected an object with an id, got an object without it (malformed-entry)',
      address: `${files}?itemLimit=100`,
    },
  });
});

test('a file whose record is not where the list showed it is looked for once more, and is gone only where it is listed as before', async () => {
  listed({ id: 'f1', links: [fileLink('f1')] });
  api().get('/platform/files/f1').reply(404, '');
  api().get('/platform/files?itemLimit=100').reply(404, '');
  const links = [{ rel: 'files', uri: `${origin}/platform/moved` }];
  api().get('/platform/').reply(200, { links }, axiom);
  const values = [{ id: 'f1', links: [{ rel: 'self', uri: `${origin}/platform/moved/f1` }] }];
  const listedAnew = () =>
    api().get('/platform/moved?itemLimit=100').reply(200, { links: [], total: 1, values }, axiom);
  listedAnew();
  api().get('/platform/moved/f1').reply(200, { id: 'f1' }, axiom);
  const address = `${origin}/platform/moved/f1`;
  expect(await staged.client.data.file('f1')).toMatchObject({ value: { body: { id: 'f1' }, address } });
  listedAnew();
  api().get('/platform/moved/f1').reply(404, '');
  listedAnew();
  expect(await staged.client.data.file('f1')).toMatchObject({ fault: { answer: { kind: 'gone' }, address } });
});

test('an id that no address can hold is a fault of the id, and nobody is asked for it', async () => {
  listed({ id: 'f0', links: [fileLink('f0')] });
  expect(await staged.client.data.file('http://x/')).toMatchObject({
    fault: {
      answer: { kind: 'address-refused' },
      address: null,
      detail: 'no file has this id: traversal or an encoded separator in the path',
    },
  });
});

test('a listing that fails, a record that is refused and an address that leads away are told apart', async () => {
  api().get('/platform/files?itemLimit=100').reply(500);
  expect(await staged.client.data.file('f1')).toMatchObject({ fault: { answer: { kind: 'transient' } } });
  listed({ id: 'f0', links: [fileLink('f0')] });
  api().get('/platform/files/f1').reply(403, {}, axiom);
  expect(await staged.client.data.file('f1')).toMatchObject({
    fault: { answer: { kind: 'refused-unattributed' } },
  });
  listed({ id: 'f1', links: [{ rel: 'self', uri: 'https://evil.test/f1' }] });
  expect(await staged.client.data.fileContent('f1', 0, null)).toMatchObject({
    fault: { answer: { kind: 'address-refused' }, address: 'https://evil.test/f1' },
  });
});

test('a file comes range by range, with its length, version and digest', async () => {
  found();
  const digest = `sha-256=:${Buffer.alloc(32, 1).toString('base64')}:`;
  range(0, 999, { 'repr-digest': digest });
  range(1000, 1999);
  range(2000, 2499);
  const read = await staged.client.data.fileContent('f1', 0, null);
  if ('fault' in read) throw new Error(read.fault.detail);
  expect(read.value).toMatchObject({ from: 0, bytesTotal: 2500, version: '"v1"', sha256: '01'.repeat(32) });
  expect(await lengthsOf(read.value.chunks)).toEqual([1000, 1000, 500]);
});

test('a file is read on from where it was cut, while it is the same version', async () => {
  found();
  range(2000, 2499);
  const read = await staged.client.data.fileContent('f1', 2000, '"v1"');
  if ('fault' in read) throw new Error(read.fault.detail);
  expect(await lengthsOf(read.value.chunks)).toEqual([500]);
  found();
  range(2000, 2499, { etag: '"v2"' });
  expect(await staged.client.data.fileContent('f1', 2000, '"v1"')).toMatchObject({
    fault: { answer: null, detail: 'the file has changed since its first bytes were read' },
  });
});

test.each([
  [503, '', 'provider.unavailable', 'the file was cut: status-503'],
  [
    429,
    '',
    'provider.unavailable',
    'the file was cut: rate-limited: nothing is asked of it before 2026-03-01T12:00:30.000Z',
  ],
  [206, 'xx', 'provider.malformed', 'expected bytes from 1000, got 2 bytes as another range'],
])(
  'a range that is answered %i %j cuts the file with a coded reason',
  async (status, body, code, message) => {
    found();
    range(0, 999);
    api().get('/platform/files/f1').matchHeader('range', 'bytes=1000-1999').reply(status, body, bytes);
    const read = await staged.client.data.fileContent('f1', 0, null);
    if ('fault' in read) throw new Error(read.fault.detail);
    await expect(lengthsOf(read.value.chunks)).rejects.toMatchObject({
      code,
      message: `${message} (${origin}/platform/files/f1)`,
    });
  },
);

describe('a range that is not found', () => {
  const notFound = () => {
    found();
    range(0, 999);
    api().get('/platform/files/f1').matchHeader('range', 'bytes=1000-1999').reply(404, '', bytes);
  };
  const chunksOf = async () => {
    const read = await staged.client.data.fileContent('f1', 0, null);
    if ('fault' in read) throw new Error(read.fault.detail);
    return lengthsOf(read.value.chunks);
  };
  /** All addresses are others, and the catalog says so. */
  function moves(): void {
    const links = [{ rel: 'files', uri: `${origin}/platform/moved` }];
    const self = { rel: 'self', uri: `${origin}/platform/moved/f1` };
    api().get('/platform/files?itemLimit=100').reply(404, '');
    api().get('/platform/').reply(200, { links }, axiom);
    const values = [{ id: 'f1', links: [self] }];
    api().get('/platform/moved?itemLimit=100').reply(200, { links: [], total: 1, values }, axiom);
    api().get('/platform/moved/f1').reply(200, { id: 'f1', nativeSize: '2500' }, axiom);
  }
  const movedRange = (from: number, to: number, etag: string) =>
    api()
      .get('/platform/moved/f1')
      .matchHeader('range', `bytes=${from}-${from + 999}`)
      .reply(206, Buffer.alloc(to - from + 1, 7), {
        ...bytes,
        etag,
        'content-range': `bytes ${from}-${to}/2500`,
      });

  test('is read where the file stands by then, and so is the rest', async () => {
    notFound();
    moves();
    movedRange(1000, 1999, '"v1"');
    movedRange(2000, 2499, '"v1"');
    expect(await chunksOf()).toEqual([1000, 1000, 500]);
  });

  test('is the first one, and the file is found again all the same', async () => {
    found();
    api().get('/platform/files/f1').matchHeader('range', 'bytes=0-999').reply(404, '', bytes);
    moves();
    movedRange(0, 999, '"v1"');
    movedRange(1000, 1999, '"v1"');
    movedRange(2000, 2499, '"v1"');
    expect(await chunksOf()).toEqual([1000, 1000, 500]);
  });

  test('is the first one, and the record still stands there: it has no bytes', async () => {
    const pending = { status: 'UPLOAD_PENDING' };
    found('f1', pending);
    api().get('/platform/files/f1').matchHeader('range', 'bytes=0-999').reply(404, '', bytes);
    found('f1', pending);
    const detail = 'its status is UPLOAD_PENDING, and the provider has no bytes of it';
    expect(await staged.client.data.fileContent('f1', 0, null)).toMatchObject({ fault: { detail } });
    found();
    api().get('/platform/files/f1').matchHeader('range', 'bytes=0-999').reply(404, '', bytes);
    found();
    const fault = { answer: { kind: 'gone' }, address: `${files}/f1` };
    expect(await staged.client.data.fileContent('f1', 0, null)).toMatchObject({ fault });
  });

  test('is not read of another version that stands there', async () => {
    notFound();
    moves();
    movedRange(1000, 1999, '"v2"');
    await expect(chunksOf()).rejects.toMatchObject({
      code: 'provider.malformed',
      message: expect.stringContaining('the file has changed'),
    });
  });

  test('cuts the file where its record still stands there, or is no more', async () => {
    notFound();
    found();
    const refused = { code: 'provider.refused', message: `the file was cut: gone (${files}/f1)` };
    await expect(chunksOf()).rejects.toMatchObject(refused);
    notFound();
    listed({ id: 'f0', links: [fileLink('f0')] });
    api().get('/platform/files/f1').reply(404, '');
    listed({ id: 'f0', links: [fileLink('f0')] });
    await expect(chunksOf()).rejects.toMatchObject(refused);
  });
});

describe.each([
  ['no ETag', undefined],
  ['a weak ETag', 'W/"v1"'],
])('a file with %s and no digest', (_what, etag) => {
  const monday = 'Mon, 02 Mar 2026 10:00:00 GMT';
  const modifiedTime = '2026-03-02T10:00:00.100Z';
  const opened = async (from = 0, version: string | null = null) => {
    const read = await staged.client.data.fileContent('f1', from, version);
    if ('fault' in read) throw new Error(read.fault.detail);
    return read.value;
  };
  const allRanges = (last = monday) => {
    for (const from of [0, 1000]) range(from, from + 999, { etag, 'last-modified': monday });
    range(2000, 2499, { etag, 'last-modified': last });
  };
  /** What is given until it fails, and how. */
  const givenOf = async (chunks: AsyncIterable<Uint8Array>) => {
    const lengths: number[] = [];
    try {
      for await (const chunk of chunks) lengths.push(chunk.byteLength);
      return { lengths, code: null };
    } catch (error) {
      return { lengths, code: (error as { code: string }).code };
    }
  };

  test('is whole when its time stayed and its record says the same at the end; a cut one is read on', async () => {
    found('f1', { modifiedTime });
    allRanges();
    found('f1', { modifiedTime });
    const { version, chunks } = await opened();
    expect(await givenOf(chunks)).toEqual({ lengths: [1000, 1000, 500], code: null });
    expect(version).toMatch(/^W\/"[0-9a-f]{32}"$/);
    found('f1', { modifiedTime });
    range(2000, 2499, { etag, 'last-modified': monday });
    found('f1', { modifiedTime });
    expect(await givenOf((await opened(2000, version)).chunks)).toEqual({ lengths: [500], code: null });
    found('f1', { modifiedTime: '2026-03-02T10:00:00.200Z' });
    range(2000, 2499, { etag, 'last-modified': monday });
    await expect(opened(2000, version)).rejects.toThrow('the file has changed');
  });

  test('is cut where the time of its bytes changes', async () => {
    found('f1', { modifiedTime });
    allRanges('Mon, 02 Mar 2026 10:00:01 GMT');
    const { chunks } = await opened();
    expect(await givenOf(chunks)).toEqual({ lengths: [1000, 1000], code: 'provider.malformed' });
  });

  test.each([{ modifiedTime: '2026-03-02T10:00:00.200Z' }, { modifiedTime, nativeSize: '2501' }])(
    'is never given whole when its record says %j at the end',
    async (later) => {
      found('f1', { modifiedTime });
      allRanges();
      found('f1', later);
      const { chunks } = await opened();
      expect(await givenOf(chunks)).toEqual({ lengths: [1000, 1000], code: 'provider.malformed' });
    },
  );

  test('is cut where its record cannot be read at the end, to be read on', async () => {
    found('f1', { modifiedTime });
    allRanges();
    api().get('/platform/files?itemLimit=100').reply(500);
    const { chunks } = await opened();
    expect(await givenOf(chunks)).toEqual({ lengths: [1000, 1000], code: 'provider.unavailable' });
  });

  test('and no time is given only where it comes in one piece', async () => {
    found();
    range(0, 999, { etag });
    await expect(opened()).rejects.toThrow('neither an ETag, a digest nor a time');
    found('f1', { nativeSize: '1000' });
    range(0, 999, { etag, 'content-range': 'bytes 0-999/1000' });
    expect(await givenOf((await opened()).chunks)).toEqual({ lengths: [1000], code: null });
  });
});

test.each([
  ['length', { 'content-range': 'bytes 1000-1999/2501' }],
  ['digest', { 'repr-digest': `sha-256=:${Buffer.alloc(32, 2).toString('base64')}:` }],
])('a range of a file of another %s cuts it', async (_what, other) => {
  found();
  range(0, 999, { 'repr-digest': `sha-256=:${Buffer.alloc(32, 1).toString('base64')}:` });
  range(1000, 1999, other);
  const read = await staged.client.data.fileContent('f1', 0, null);
  if ('fault' in read) throw new Error(read.fault.detail);
  await expect(lengthsOf(read.value.chunks)).rejects.toMatchObject({
    code: 'provider.malformed',
    message: expect.stringContaining('the file has changed'),
  });
});

test('a file of another length than its record says is refused, where no digest tells that it is the file', async () => {
  const whole = { 'content-range': 'bytes 0-999/1000' };
  found();
  range(0, 999, whole);
  expect(await staged.client.data.fileContent('f1', 0, null)).toMatchObject({
    fault: {
      answer: null,
      detail: 'expected 2500 bytes as its record says, got a file of 1000',
      address: `${files}/f1`,
    },
  });
  found();
  range(0, 999, { ...whole, 'repr-digest': `sha-256=:${Buffer.alloc(32, 1).toString('base64')}:` });
  expect(await staged.client.data.fileContent('f1', 0, null)).toMatchObject({
    value: { bytesTotal: 1000, bytesRecorded: 2500 },
  });
  for (const nativeSize of ['', '2,500', -1, null, {}]) {
    found('f1', { nativeSize });
    range(0, 999, whole);
    expect(await staged.client.data.fileContent('f1', 0, null)).toMatchObject({
      value: { bytesTotal: 1000, bytesRecorded: null },
    });
  }
});

test('a first range that is refused is a fault, not a cut', async () => {
  found();
  api()
    .get('/platform/files/f1')
    .reply(403, { errors: [{ message: 'Access Denied' }] }, axiom);
  expect(await staged.client.data.fileContent('f1', 0, null)).toMatchObject({
    fault: { answer: { kind: 'refused-unattributed', message: 'Access Denied' }, address: `${files}/f1` },
  });
});

test('a listing that has moved is found by a fresh catalog', async () => {
  seesNothing();
  listed({ id: 'f1' });
  for await (const line of staged.client.data.files(null)) expect(line).toMatchObject({ item: {} });
  api().get('/platform/files?itemLimit=100').reply(404, '');
  const links = [{ rel: 'files', uri: `${origin}/platform/moved` }];
  api().get('/platform/').reply(200, { links }, axiom);
  const values = [{ id: 'f1' }, { id: 'f2' }];
  api().get('/platform/moved?itemLimit=100').reply(200, { links: [], total: 2, values }, axiom);
  expect(await idsListed()).toEqual(['f1', 'f2']);
});

test('a listing that moves between two pages is read from the beginning, each file once', async () => {
  seesNothing();
  const next = [{ rel: 'nextPage', uri: `${files}?pageOffset=1` }];
  api()
    .get('/platform/files?itemLimit=100')
    .reply(200, { links: next, total: 2, values: [{ id: 'f1' }] }, axiom);
  api().get('/platform/files?pageOffset=1').reply(404, '');
  const links = [{ rel: 'files', uri: `${origin}/platform/moved` }];
  api().get('/platform/').reply(200, { links }, axiom);
  const values = [{ id: 'f1' }, { id: 'f2' }];
  api().get('/platform/moved?itemLimit=100').reply(200, { links: [], total: 2, values }, axiom);
  expect(await idsListed()).toEqual(['f1', 'f2']);
});

test('a file that several users are shown is told once', async () => {
  staged.connections.push(connectionOf({ connectionId: 'c2', user: 'ben', token: new Secret('another') }));
  const links = [{ rel: 'files', uri: files }];
  api().get('/platform/').reply(200, { links }, axiom);
  seesNothing();
  listed({ id: 'f1' }, { id: 'f2' });
  listed({ id: 'f2' }, { id: 'f3' });
  expect(await idsListed()).toEqual(['f1', 'f2', 'f3']);
});
