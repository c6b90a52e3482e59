// The door of both APIs: the catalog, the headers of every answer, media types, unknown and moved addresses.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Body, call, control, get, platformAccept, sign, tokenOf } from '../caller';

let simulator: Simulator;
beforeEach(async () => {
  simulator = await startSimulator({ auth: 'oauth1' });
});
afterEach(() => simulator.close());

const rels = (links: Body[]): string[] => links.map(({ rel }) => rel);

test('the catalog of the application alone is spelt `links` and leads to authorization', async () => {
  const { catalog } = simulator;
  const { status, body } = await call(catalog, {
    Accept: platformAccept(simulator),
    Authorization: sign(simulator, catalog),
  });
  expect([status, body['@type'], Object.keys(body)]).toEqual([200, 'ApiCatalog', ['@type', 'links']]);
  expect(rels(body.links)).toEqual([
    'oauthRequestToken',
    'oauthAuthorizeRequestToken',
    'oauthAccessToken',
    'connections',
  ]);
  expect(body.links[1].uri).toBe(`${simulator.consent}?oauth_token={token}`);
});

test('the catalog of a user is spelt `link` and leads to data', async () => {
  const { token, secret } = tokenOf(simulator);
  const Authorization = sign(simulator, simulator.catalog, { token: { key: token, secret } });
  const { body } = await call(simulator.catalog, { Accept: platformAccept(simulator), Authorization });
  expect([Object.keys(body), rels(body.link)]).toEqual([
    ['@type', 'link'],
    ['organizations', 'files', 'eventSubscriptions', 'eventSubscriptionDelivery', 'currentUser'],
  ]);
});

test('a user is named where the catalog leads, and nobody else; the catalog may leave it out', async () => {
  const other = await startSimulator({ users: 2 });
  const first = (await get(other, other.catalog)).body.link.find(({ rel }: Body) => rel === 'currentUser');
  const { status, body } = await get(other, first.uri);
  expect([status, body]).toMatchObject([200, { '@type': 'User', accountName: 'harrow-user-1' }]);
  const self = body.links.find(({ rel }: Body) => rel === 'self').uri as string;
  expect((await get(other, self)).body).toEqual(body);
  expect((await get(other, self.replace(/1$/, '2'))).status).toBe(404);
  await control(other, 'PATCH', 'client', { scopes: 'eq1 ag1 ag2' });
  const refused = await get(other, first.uri);
  expect([refused.status, refused.body.errors[0].message]).toEqual([
    403,
    expect.stringContaining('scopes needed: org1'),
  ]);
  await control(other, 'PATCH', 'settings', { currentUser: false });
  expect(rels((await get(other, other.catalog)).body.link)).not.toContain('currentUser');
  await other.close();
});

test('the catalog is the platform root with and without a slash', async () => {
  const other = await startSimulator();
  expect((await get(other, other.catalog.slice(0, -1))).body['@type']).toBe('ApiCatalog');
  await other.close();
});

test('every answer, also a refusal, has the provider’s headers and is chunked', async () => {
  const other = await startSimulator();
  const answers = [
    await get(other, other.catalog),
    await get(other, `${other.equipment}/equipment/217001`),
    await get(other, `${other.equipment}/equipment/1`),
    await call(other.catalog, {}),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 401]);
  for (const { headers } of answers) {
    expect(Date.parse(headers.date!)).not.toBeNaN();
    expect(headers['x-harrow-elapsed-ms']).toMatch(/^\d+$/);
    expect(headers['content-language']).toBe('en');
    expect(headers['transfer-encoding']).toBe('chunked');
    expect(headers['content-length']).toBeUndefined();
  }
  expect(answers[0]!.headers['content-type']).toBe('application/vnd.harrow.axiom.v3+json;charset=UTF-8');
  expect(answers[1]!.headers['content-type']).toBe('application/json;charset=UTF-8');
  await other.close();
});

test.each([
  ['no Accept', undefined],
  ['a wildcard', '*/*'],
  ['plain JSON on the platform', 'application/json'],
  ['another version', 'application/vnd.harrow.axiom.v2+json'],
])('%s is refused with 406', async (_name, accept) => {
  const other = await startSimulator();
  const headers: Record<string, string> = { Authorization: `Bearer ${tokenOf(other).token}` };
  if (accept !== undefined) headers.Accept = accept;
  expect((await call(other.catalog, headers)).status).toBe(406);
  await other.close();
});

test('the media type may stand in a list with parameters', async () => {
  const other = await startSimulator();
  const Accept = `text/html, ${platformAccept(other)};q=0.9`;
  expect((await get(other, other.catalog, { Accept })).status).toBe(200);
  await other.close();
});

test('after links have moved the old addresses are unknown, the catalog leads to new ones and the equipment base stays', async () => {
  const other = await startSimulator();
  const organizations = async (): Promise<string> => (await get(other, other.catalog)).body.link[0].uri;
  const before = await organizations();
  await control(other, 'POST', 'links/move');
  const after = await organizations();
  expect(after).not.toBe(before);
  expect((await get(other, before)).status).toBe(404);
  const listed = await get(other, after);
  expect(listed.status).toBe(200);
  expect(listed.body.links[0].uri).toBe(after);
  expect(JSON.stringify(listed.body)).not.toContain(`${before}/`);
  const [organization] = listed.body.values;
  const linked = (rel: string) => organization.links.find((one: { rel: string }) => one.rel === rel).uri;
  expect((await get(other, linked('fields'))).status).toBe(200);
  expect((await get(other, linked('self'))).status).toBe(200);
  for (const guessed of [`${after}/${organization.id}`, `${linked('self')}/fields`])
    expect((await get(other, guessed)).status).toBe(404);
  expect((await get(other, `${other.equipment}/equipment/217001`)).status).toBe(200);
  const [operation] = (await control(other, 'GET', 'state')).fieldOperations;
  expect((await get(other, operation.uri)).status).toBe(200);
  await control(other, 'POST', 'links/move');
  expect((await get(other, after)).status).toBe(404);
  await other.close();
});

test('files is a list without entries', async () => {
  const other = await startSimulator();
  const catalog = await get(other, other.catalog);
  expect((await get(other, catalog.body.link[1].uri)).body).toMatchObject({ total: 21 });
  await other.close();
});

test('an unknown path below either API is 404 in the API’s own error shape', async () => {
  const other = await startSimulator();
  const platform = await get(other, `${other.catalog}nothing`);
  expect([platform.status, platform.body['@type'], platform.body.errors[0]['@type']]).toEqual([
    404,
    'Errors',
    'Error',
  ]);
  const equipment = await get(other, `${other.equipment}/nothing`);
  expect([equipment.status, equipment.body[0].code]).toEqual([404, 404]);
  expect(equipment.body[0].gud).toMatch(/^[0-9a-f-]{36}$/);
  await other.close();
});
