// Organizations: the list and its paging, what blocks an organization, and who may see it.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, type Body, call, control, get, platformAccept, rawControl, tokenOf } from '../caller';

const simulators: Simulator[] = [];
async function start(options: Parameters<typeof startSimulator>[0] = {}): Promise<Simulator> {
  const simulator = await startSimulator(options);
  simulators.push(simulator);
  return simulator;
}
afterEach(async () => {
  await Promise.all(simulators.splice(0).map((simulator) => simulator.close()));
});

const list = (simulator: Simulator, rest = '', headers: Record<string, string> = {}): Promise<Answered> =>
  get(simulator, `${simulator.catalog}organizations${rest}`, headers);
const rel = (links: Body[], name: string): string | undefined => links.find((link) => link.rel === name)?.uri;

test('a page holds 10 records, names the total, and nextPage leads through all of them once', async () => {
  const simulator = await start({ organizations: 23, equipment: 0, fieldOperations: 0 });
  const seen: string[] = [];
  const sizes: number[] = [];
  let next: string | undefined = `${simulator.catalog}organizations`;
  while (next !== undefined) {
    const { body } = await get(simulator, next);
    expect(body.total).toBe(23);
    sizes.push(body.values.length);
    seen.push(...body.values.map(({ id }: Body) => id));
    next = rel(body.links, 'nextPage');
  }
  expect([sizes, new Set(seen).size]).toEqual([[10, 10, 3], 23]);
});

test('itemLimit and pageOffset choose the records, more than 100 are cut to 100', async () => {
  const simulator = await start({ organizations: 130, equipment: 0, fieldOperations: 0 });
  const { body } = await list(simulator, '?pageOffset=5&itemLimit=2');
  expect(body.values.map(({ id }: Body) => id)).toEqual([String(4711 + 5 * 13), String(4711 + 6 * 13)]);
  expect(rel(body.links, 'nextPage')).toContain('pageOffset=7&itemLimit=2');
  expect(rel(body.links, 'previousPage')).toContain('pageOffset=3&itemLimit=2');
  expect((await list(simulator, '?itemLimit=500')).body.values).toHaveLength(100);
  expect((await list(simulator, '', { 'x-harrow-no-paging': 'true' })).body.values).toHaveLength(130);
  expect((await list(simulator, '?pageOffset=500')).body.values).toEqual([]);
});

test.each(['?itemLimit=0', '?itemLimit=ten', '?pageOffset=-1'])(
  '%s is refused with 400 and names the field',
  async (query) => {
    const { status, body } = await list(await start(), query);
    expect([status, query.includes(body[0].field)]).toEqual([400, true]);
  },
);

test.each<[string, string, Record<string, string>]>([
  ['matrix parameters', ';start=5;count=50', {}],
  ['matrix parameters behind the question mark', '?userName=x;start=5', {}],
  ['encoded ones', '?userName=x%3Bst%61rt%3D5', {}],
  ['the old paging header', '', { No_Paging: 'true' }],
])('%s are not honoured before June 1, 2024 and fail from that day', async (_name, rest, headers) => {
  const simulator = await start({ organizations: 15, today: '2024-05-31' });
  const before = await list(simulator, rest, headers);
  expect([before.status, before.body.values.length, before.body.values[0].id]).toEqual([200, 10, '4711']);
  await control(simulator, 'PUT', 'today', { today: '2024-06-01' });
  expect((await list(simulator, rest, headers)).status).toBe(400);
});

test('a record has the provider’s shape and leads to its fields', async () => {
  const simulator = await start();
  const { body } = await list(simulator);
  expect(body.values[0]).toMatchObject({
    '@type': 'Organization',
    id: '4711',
    type: 'customer',
    member: true,
    internal: false,
  });
  expect(body.values[0].links[0]['@type']).toBe('Link');
  expect(body.links[0]['@type']).toBeUndefined();
  expect(rel(body.values[0].links, 'manage_connections')).toContain('connections-dialog?orgId=4711');
  const single = await get(simulator, rel(body.values[0].links, 'self')!);
  expect(single.body).toEqual(body.values[0]);
});

test('an organization whose terms are not accepted refuses everything of its own with 403 and the two headers', async () => {
  const simulator = await start();
  const { fieldOperations, equipment } = await control(simulator, 'GET', 'state?organization=4724');
  await control(simulator, 'PATCH', 'organizations/4724', { termsAccepted: false });
  const addresses = [
    `${simulator.catalog}organizations/4724`,
    `${simulator.catalog}organizations/4724/fields`,
    fieldOperations[0].uri,
    equipment[0].uri,
    `${simulator.equipment}/equipment?organizationIds=4711,4724`,
    `${simulator.equipment}/equipment?ids=${equipment[0].id}`,
  ];
  for (const address of addresses) {
    const { status, headers, body } = await get(simulator, address);
    expect(status).toBe(403);
    expect(headers['x-harrow-warning']).toMatch(
      /^127\.0\.0\.1:\d+ "Requested Org is in a restricted state\."$/,
    );
    expect(headers['x-harrow-terms-location']).toMatch(/\/organizations\/4724\/terms$/);
    expect(body).toEqual({
      '@type': 'Errors',
      errors: [
        { '@type': 'Error', guid: expect.any(String), message: 'Requested Org is in a restricted state.' },
      ],
      otherAttributes: {},
    });
  }
  expect((await list(simulator)).body.values.map(({ id }: Body) => id)).toContain('4724');
  expect((await get(simulator, `${simulator.catalog}organizations/4711/fields`)).status).toBe(200);
  await control(simulator, 'PATCH', 'organizations/4724', { termsAccepted: true });
  expect((await get(simulator, fieldOperations[0].uri)).status).toBe(200);
});

test('an organization that is not connected shows its connections link and refuses the rest without those headers', async () => {
  const simulator = await start();
  const { equipment } = await control(simulator, 'GET', 'state?organization=4711');
  expect(await control(simulator, 'PATCH', 'organizations/4711', { connected: false })).toMatchObject({
    connected: false,
  });
  const record = (await get(simulator, `${simulator.catalog}organizations/4711`)).body;
  expect(record.links.map((link: Body) => link.rel)).toEqual(['self', 'connections']);
  expect(rel(record.links, 'connections')).toContain(`${simulator.clientKey}/select-organizations`);
  const { status, headers, body } = await get(simulator, equipment[0].uri);
  expect([status, headers['x-harrow-warning'], body.errors[0].message]).toEqual([
    403,
    undefined,
    'Access Denied',
  ]);
});

test('terms are accepted on the page that the header names', async () => {
  const simulator = await start();
  await control(simulator, 'PATCH', 'organizations/4711', { termsAccepted: false });
  const refused = await get(simulator, `${simulator.catalog}organizations/4711`);
  const page = await call(String(refused.headers['x-harrow-terms-location']));
  expect(page.text).toContain('Accept</button>');
  const [, action] = /action="([^"]+)"/.exec(page.text)!;
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  expect(
    (await call(new URL(action!, simulator.catalog).href, form, 'POST', 'terms=accept&back=terms')).status,
  ).toBe(303);
  expect((await get(simulator, `${simulator.catalog}organizations/4711`)).status).toBe(200);
});

test('the overview page lists organizations with both switches', async () => {
  const simulator = await start();
  await control(simulator, 'PATCH', 'organizations/4711', { name: '<b>Bold</b> & Sons', connected: false });
  const page = await call(new URL('/', simulator.catalog).href);
  expect(page.status).toBe(200);
  expect(page.text).toContain('&#60;b&#62;Bold');
  expect(page.text).not.toContain('<b>Bold');
  expect(page.text).toContain('value="withdraw"');
  expect(page.text).toContain('not connected');
});

test('a user sees the organizations dealt to it and is denied the others', async () => {
  const simulator = await start({ organizations: 4, users: 2 });
  const [first, second] = [tokenOf(simulator, 0), tokenOf(simulator, 1)];
  expect([first.connection, second.connection]).toEqual(['connection-1', 'connection-2']);
  const as = (token: string, path: string): Promise<Answered> =>
    call(`${simulator.catalog}${path}`, {
      Accept: platformAccept(simulator),
      Authorization: `Bearer ${token}`,
    });
  const seen = (await as(second.token, 'organizations')).body.values.map(({ id }: Body) => id);
  expect(seen).toEqual(['4724', '4750']);
  expect((await as(first.token, 'organizations/4724')).status).toBe(403);
  expect((await as(second.token, 'organizations/4724')).status).toBe(200);
});

test('a control refuses what it does not know about an organization', async () => {
  const simulator = await start();
  const misspelt = await rawControl(simulator, 'PATCH', 'organizations/4711', { termsAcepted: false });
  expect([misspelt.status, misspelt.body.error]).toEqual([400, expect.stringContaining('termsAcepted')]);
  expect((await rawControl(simulator, 'PATCH', 'organizations/4711', { connected: 'no' })).status).toBe(400);
  expect((await rawControl(simulator, 'PATCH', 'organizations/1', { connected: false })).status).toBe(404);
});
