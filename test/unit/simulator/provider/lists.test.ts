// Lists: change tokens, the list of a whole organization, and every way in which a link to the next page misleads.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { processorTimeDuring } from '../../../support/processor-time';
import { type Answered, type Body, control, get, rawControl } from '../caller';

let simulator: Simulator;
beforeEach(async () => {
  simulator = await startSimulator({ organizations: 12, equipment: 0, fieldOperations: 24 });
});
afterEach(() => simulator.close());

const rel = (links: Body[], name: string): string | undefined => links.find((link) => link.rel === name)?.uri;
const organizations = (): string => `${simulator.catalog}organizations`;
const withToken = (url: string, token: string): Promise<Answered> =>
  get(simulator, url, { 'x-harrow-signature': token });
const tokenIn = (answer: Answered): string => String(answer.headers['x-harrow-signature']);
const ofOrganization = (query = ''): string => `${organizations()}/4711/fieldOperations${query}`;
const serveAll = (): Promise<Body> =>
  control(simulator, 'PATCH', 'settings', { organizationFieldOperations: 'served' });
const fieldOperationsUrl = async (): Promise<string> => {
  const [field] = (await get(simulator, `${organizations()}/4711/fields`)).body.values;
  return `${rel(field.links, 'fieldOperation')}?embed=measurementTypes`;
};

test.each(['', 'nil'])(
  'a first token %j brings the whole list unpaged, and then 304 while nothing changes',
  async (first) => {
    const whole = await withToken(organizations(), first);
    expect([whole.body.values.length, rel(whole.body.links, 'nextPage')]).toEqual([12, undefined]);
    expect(tokenIn(whole)).toMatch(/^[0-9a-f]{32}$/);
    const again = await withToken(organizations(), tokenIn(whole));
    expect([again.status, again.text, again.headers['x-harrow-signature']]).toEqual([304, '', undefined]);
  },
);

test('a token brings only what changed, with the next token', async () => {
  const first = await withToken(organizations(), '');
  await control(simulator, 'PATCH', 'organizations/4724', { connected: false });
  const changed = await withToken(organizations(), tokenIn(first));
  expect(changed.body.values.map(({ id }: Body) => id)).toEqual(['4724']);
  expect((await withToken(organizations(), tokenIn(changed))).status).toBe(304);
});

test('changed operations are listed, removed ones as entries with a delete link', async () => {
  const url = await fieldOperationsUrl();
  const first = await withToken(url, '');
  const [changed, removed] = first.body.values;
  await control(simulator, 'PATCH', `fieldOperations/${changed.id}`, { cropSeason: '1999' });
  await control(simulator, 'DELETE', `fieldOperations/${removed.id}`);
  const { body } = await withToken(url, tokenIn(first));
  expect(body.values[0]).toMatchObject({ id: changed.id, cropSeason: '1999' });
  expect(body.values[1]).toEqual({
    '@type': 'FieldOperation',
    id: removed.id,
    links: [{ '@type': 'Link', rel: 'delete', uri: rel(removed.links, 'self') }],
  });
});

test('a change that lags is listed once it can be seen', async () => {
  const url = await fieldOperationsUrl();
  const first = await withToken(url, '');
  const [{ id }] = first.body.values;
  await control(simulator, 'PUT', 'faults', [{ match: { path: `/fieldOperations/${id}` }, lagMs: 1500 }]);
  await control(simulator, 'PATCH', `fieldOperations/${id}`, { cropSeason: '1999' });
  expect((await withToken(url, tokenIn(first))).status).toBe(304);
  for (;;) {
    const answer = await withToken(url, tokenIn(first));
    if (answer.status === 304) continue;
    expect(answer.body.values[0].cropSeason).toBe('1999');
    return;
  }
});

test('a token of another address, user or form of record is none: the whole list comes again', async () => {
  const url = await fieldOperationsUrl();
  const token = tokenIn(await withToken(url, ''));
  expect((await withToken(`${url}&cropSeason=2025`, token)).status).toBe(200);
  expect((await withToken(organizations(), token)).body.values).toHaveLength(12);
  await control(simulator, 'PUT', 'today', { today: '2024-01-10' });
  expect((await withToken(url, token)).body.values).toHaveLength(8);
  await control(simulator, 'PATCH', 'settings', { changeTokens: false });
  expect((await withToken(organizations(), '')).body.values).toHaveLength(10);
});

test('the list of an organization is advertised and refused, unless a setting serves it', async () => {
  const { links } = (await get(simulator, `${organizations()}/4711`)).body;
  expect(rel(links, 'fieldOperations')).toBe(ofOrganization());
  const refused = await get(simulator, ofOrganization());
  expect([refused.status, refused.headers['x-harrow-warning']]).toEqual([403, undefined]);
  await serveAll();
  const page = (await get(simulator, ofOrganization('?itemLimit=20'))).body;
  expect([page.total, page.values.length]).toEqual([24, 20]);
  const rest = (await get(simulator, rel(page.links, 'nextPage')!)).body;
  expect(new Set([...page.values, ...rest.values].map(({ id }: Body) => id)).size).toBe(24);
  const filtered = (await get(simulator, ofOrganization('?fieldOperationType=HARVEST&itemLimit=100'))).body;
  expect(filtered.values.every((one: Body) => one.fieldOperationType === 'harvest')).toBe(true);
  expect(filtered.total).toBe(6);
});

test('an operation that was removed or went elsewhere leaves the list of its organization', async () => {
  await serveAll();
  const first = await withToken(ofOrganization(), '');
  const [gone, moved] = first.body.values;
  await control(simulator, 'DELETE', `fieldOperations/${gone.id}`);
  await control(simulator, 'PATCH', `fieldOperations/${moved.id}`, { orgId: 4724 });
  const { total, values } = (await get(simulator, ofOrganization('?itemLimit=100'))).body;
  expect([total, values.length]).toEqual([22, 22]);
  const changes = (await withToken(ofOrganization(), tokenIn(first))).body.values;
  expect(changes.map(({ links }: Body) => links[0].rel)).toEqual(['delete', 'delete']);
});

test('fifty thousand operations of one organization are paged from any offset at once', async () => {
  const deep = await startSimulator({ organizations: 1, fieldOperations: 50_000 });
  await control(deep, 'PATCH', 'settings', { organizationFieldOperations: 'served' });
  const took = await processorTimeDuring(async () => {
    const page = await get(
      deep,
      `${deep.catalog}organizations/4711/fieldOperations?pageOffset=49900&itemLimit=100`,
    );
    expect([page.body.total, page.body.values.length]).toEqual([50_000, 100]);
  });
  expect(took).toBeLessThan(500_000);
  await deep.close();
});

test('an itemLimit above 100 is cut, or refused where a setting says so', async () => {
  const url = `${organizations()}?itemLimit=101`;
  expect((await get(simulator, url)).status).toBe(200);
  await control(simulator, 'PATCH', 'settings', { aboveMax: 'refused' });
  expect((await get(simulator, url)).body[0]).toMatchObject({ field: 'itemLimit', invalidValue: '101' });
  expect((await rawControl(simulator, 'PATCH', 'settings', { aboveMax: 'maybe' })).status).toBe(400);
  expect((await rawControl(simulator, 'PATCH', 'settings', { above: 'cut' })).status).toBe(400);
});

test.each([
  ['old', /\/organizations;start=10;count=10$/],
  ['foreign', /^http:\/\/pages\.elsewhere\.example\/platform\/organizations\?pageOffset=10/],
  ['https://evil.example/next', /^https:\/\/evil\.example\/next$/],
  ['self', /\/platform\/organizations$/],
])('with the fault %s the link to the next page misleads', async (nextPage, pattern) => {
  await control(simulator, 'PUT', 'faults', [{ match: { path: '/organizations' }, nextPage }]);
  const { body } = await get(simulator, organizations());
  expect(rel(body.links, 'nextPage')).toMatch(pattern);
  expect(body.values).toHaveLength(10);
});

test('the old form keeps the rest of the query', async () => {
  await control(simulator, 'PUT', 'faults', [{ match: {}, nextPage: 'old' }]);
  const { body } = await get(simulator, `${organizations()}?itemLimit=5&userName=x`);
  expect(rel(body.links, 'nextPage')).toMatch(/\/organizations;start=5;count=5\?userName=x$/);
});

test('an endless chain goes on behind the last page, and none ends it early', async () => {
  await control(simulator, 'PUT', 'faults', [{ match: {}, nextPage: 'endless' }]);
  let url = organizations();
  for (let at = 0; at < 5; at += 1) url = rel((await get(simulator, url)).body.links, 'nextPage')!;
  expect(url).toContain('pageOffset=50');
  await control(simulator, 'PUT', 'faults', [{ match: {}, nextPage: 'none' }]);
  expect(rel((await get(simulator, organizations())).body.links, 'nextPage')).toBeUndefined();
});

test('repeated items: each page begins with the last record of the one before', async () => {
  await control(simulator, 'PUT', 'faults', [{ match: {}, nextPage: 'repeat' }]);
  const ids: string[] = [];
  for (let url: string | undefined = `${organizations()}?itemLimit=5`; url !== undefined; ) {
    const { body }: Answered = await get(simulator, url);
    ids.push(...body.values.map(({ id }: Body) => id));
    url = rel(body.links, 'nextPage');
  }
  expect([ids.length, new Set(ids).size]).toEqual([14, 12]);
});

test('an unknown word for the next page is refused', async () => {
  const refused = await rawControl(simulator, 'PUT', 'faults', [{ match: {}, nextPage: 'sideways' }]);
  expect(refused.body.error).toContain('faults[0].nextPage');
});
