// The provider's data through the operations listener: every answer is as schemas/openapi.yaml describes it, parameters
// reach the provider, and each kind of refusal has its status.
import request from 'supertest';
import type { Api } from '../../../src/model/api';
import type { RawFault } from '../../../src/model/provider-data';
import { makeOperationsServer } from '../../../src/operations/server';
import { faultOfAnswer } from '../../support/openapi';
import {
  faultOf,
  itemOf,
  makeScriptedProvider,
  type ScriptedProvider,
} from '../../support/scripted-provider';

let provider: ScriptedProvider;
let faults: unknown[];

beforeEach(() => {
  provider = makeScriptedProvider();
  faults = [];
});

function serve() {
  return makeOperationsServer({
    api: { provider: provider.api } as Api,
    health: { live: () => ({ status: 'live' }), ready: async () => ({ status: 'ready' }) },
    metricsText: async () => '',
    token: null,
    fault: (error) => faults.push(error),
  });
}

async function ask(method: 'get' | 'post' | 'head', address: string) {
  const answer = await request(serve().app)[method](address).buffer(true);
  const mediaType = String(answer.headers['content-type'] ?? '');
  const body: unknown =
    mediaType.includes('/json') || mediaType.includes('+json')
      ? JSON.parse(answer.text)
      : (answer.text ?? '');
  const path = address.replace(/\?.*$/s, '');
  if (method !== 'head')
    expect(faultOfAnswer({ method, path, status: answer.status, mediaType, body })).toBeNull();
  return {
    status: answer.status,
    body: body as Record<string, unknown>,
    text: answer.text,
    headers: answer.headers,
  };
}

const document = { id: '7', name: 'Combine' };

test('lists are lines, each an item or a fault', async () => {
  provider.lines = [{ item: itemOf(document) }, { fault: faultOf(null) }];
  for (const path of ['/api/equipment', '/api/field-operations']) {
    const { status, text, headers } = await ask('get', path);
    expect([status, headers['content-type']]).toEqual([200, 'application/x-ndjson']);
    const [item, fault] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(item).toMatchObject({ item: { id: '7', name: 'Combine' } });
    expect(fault).toEqual({
      fault: {
        code: 'provider.malformed',
        detail: 'the detail',
        address: 'https://provider.test/page',
        organizationId: '4711',
        actionUrl: null,
      },
    });
  }
});

test('parameters reach the provider, and what is not accepted is refused by name', async () => {
  await ask('get', '/api/equipment?organization=1,2&id=3&serialNumber=S&category=machine&archived=false');
  await ask('get', '/api/field-operations?organization=1&field=2');
  await ask('get', '/api/files?organization=1');
  expect(provider.asked).toEqual([
    [
      'equipment',
      { organizationIds: ['1', '2'], ids: ['3'], serialNumbers: ['S'], category: 'machine', archived: false },
    ],
    ['fieldOperations', { organizationId: '1', fieldId: '2' }],
    ['files', '1'],
  ]);
  for (const address of [
    '/api/equipment?category=boat',
    '/api/equipment?archived=maybe',
    '/api/equipment?id=1,,2',
    '/api/equipment-makes?name=x',
    '/api/files/f1?name=x',
    '/api/files/f1/content?from=-1',
  ]) {
    expect(await ask('get', address)).toMatchObject({ status: 400, body: { code: 'operations.parameter' } });
  }
  const incomplete = await ask('post', '/api/organizations/1/equipment?category=machine');
  expect(incomplete).toMatchObject({ status: 400, body: { detail: 'category and name are needed' } });
});

test('documents, reference data, measurements and files are answered as described', async () => {
  provider.read = { value: itemOf({ ...document, measurements: [{ name: 'A' }] }) as never };
  for (const [method, address] of [
    ['get', '/api/equipment/7?organization=4711'],
    ['post', '/api/equipment/7?name=New'],
    ['post', '/api/organizations/4711/equipment?category=machine&name=New'],
    ['get', '/api/field-operations/7'],
    ['get', '/api/files/7'],
  ] as const) {
    provider.read = { value: itemOf({ ...document, nativeSize: 5 }) as never };
    expect(await ask(method, address)).toMatchObject({ status: 200, body: { id: '7' } });
  }
  provider.read = { value: [itemOf({ id: '1', name: 'Harrow' }), itemOf({ name: 'x' })] as never };
  const lines = (await ask('get', '/api/equipment-models')).text.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { item: { id: '1', name: 'Harrow' } },
    { fault: expect.objectContaining({ code: 'provider.malformed' }) },
  ]);
  provider.read = { value: { operation: itemOf({ id: '7' }), values: [] } as never };
  expect((await ask('get', '/api/field-operations/7/measurements?name=A')).body).toEqual([]);
});

test('the bytes of a file come with their place, their length, their version and the digest', async () => {
  const value = {
    address: 'https://api.provider.test/files/f1',
    from: 2,
    bytesTotal: 5,
    bytesRecorded: 6,
    version: '"v 1"',
    sha256: 'ab',
  };
  const chunks = async function* () {
    yield Buffer.from('cde');
  };
  provider.contents.push(() => ({ value: { ...value, chunks: chunks() } }));
  const { status, headers } = await ask('get', '/api/files/f1/content?from=2');
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'tramline-file-address': value.address,
    'tramline-file-from': '2',
    'tramline-file-bytes': '5',
    'tramline-file-bytes-recorded': '6',
    'tramline-file-version': '%22v%201%22',
    'tramline-file-sha256': 'ab',
  });
  const unknown = { bytesRecorded: null, version: null, sha256: null };
  provider.contents.push(() => ({ value: { ...value, ...unknown, chunks: chunks() } }));
  const bare = await ask('get', '/api/files/f1/content');
  expect(Object.keys(bare.headers).filter((name) => name.startsWith('tramline-'))).toHaveLength(3);
});

const waits = {
  kind: 'transient',
  code: 'catalog-unavailable',
  detail: 'refused',
  origin: '',
  connectionId: 'c1',
  retryAfterMs: null,
} as const;

const refusal = { kind: 'refused', detail: 'not so', origin: '', connectionId: 'c1' } as const;

test.each<[RawFault['answer'], number, string]>([
  [{ kind: 'gone', certain: true, connectionId: 'c1', origin: '' }, 404, 'operations.not-found'],
  [
    { kind: 'reauthorize', message: null, connectionId: 'c1', sealedToken: 's' },
    409,
    'operations.action-required',
  ],
  [{ kind: 'no-access', message: null, connectionId: 'c1' }, 502, 'operations.provider-refused'],
  [null, 502, 'operations.provider-malformed'],
  [{ ...refusal, code: 'status-400' }, 502, 'operations.provider-refused'],
  [{ ...refusal, code: 'not-a-resource', body: null }, 502, 'operations.provider-malformed'],
  [{ kind: 'rate-limited', retryAfterMs: 1, untilMs: 1 }, 503, 'operations.provider-unavailable'],
  [waits, 503, 'operations.provider-unavailable'],
  [{ ...waits, forbidden: true }, 502, 'operations.provider-refused'],
])('%j is answered %i %s with what was said', async (answer, status, code) => {
  provider.read = { fault: faultOf(answer) };
  expect(await ask('get', '/api/equipment/7')).toMatchObject({
    status,
    body: { code, detail: expect.stringContaining('the detail') },
  });
  expect(faults).toEqual([]);
});

test.each([
  [null, 400, 'operations.parameter'],
  ['https://provider.test/page', 502, 'operations.provider-refused'],
])(
  'an address that the gate refuses is the asker’s fault unless the provider named it: %s',
  async (address, status, code) => {
    const refused = { kind: 'address-refused', code: 'address-refused', detail: 'traversal' } as const;
    provider.read = { fault: faultOf(refused, { address }) };
    expect(await ask('get', '/api/files/f1')).toMatchObject({ status, body: { code } });
  },
);

test('an id that nothing has is not found, however long', async () => {
  for (const address of ['/api/equipment/', '/api/files/', '/api/field-operations/']) {
    expect((await ask('get', address + 'x'.repeat(257))).status).toBe(404);
  }
});
