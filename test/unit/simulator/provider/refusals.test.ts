// What the provider refuses and how: the 403 family, error bodies, flood protection, what is gone, and the sandbox.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, type Body, call, control, get, platformAccept, rawControl } from '../caller';

const simulators: Simulator[] = [];
async function start(options: Parameters<typeof startSimulator>[0] = {}): Promise<Simulator> {
  const simulator = await startSimulator({ equipment: 2, fieldOperations: 8, ...options });
  simulators.push(simulator);
  return simulator;
}
afterEach(async () => {
  await Promise.all(simulators.splice(0).map((simulator) => simulator.close()));
});

const fields = (simulator: Simulator): Promise<Answered> =>
  get(simulator, `${simulator.catalog}organizations/4711/fields`);
const machine = (simulator: Simulator): Promise<Answered> =>
  get(simulator, `${simulator.equipment}/equipment/217001`);

test('terms block from August 13, 2020 on and not before', async () => {
  const simulator = await start({ organizations: 1, today: '2020-08-12' });
  await control(simulator, 'PATCH', 'organizations/4711', { termsAccepted: false });
  expect((await fields(simulator)).status).toBe(200);
  await control(simulator, 'PUT', 'today', { today: '2020-08-13' });
  const { status, headers } = await fields(simulator);
  expect([status, headers['x-harrow-warning']]).toEqual([
    403,
    `${new URL(simulator.catalog).host} "Requested Org is in a restricted state."`,
  ]);
  expect(headers['x-harrow-terms-location']).toMatch(/\/4711\/terms$/);
});

test('another required action has its own message and place, or no place, until the customer acts', async () => {
  const simulator = await start({ organizations: 1 });
  const patch = (requiredAction: unknown): Promise<Body> =>
    control(simulator, 'PATCH', 'organizations/4711', { requiredAction });
  await patch('Verify your account information.');
  const { status, headers, body } = await fields(simulator);
  expect([status, body.errors[0].message]).toEqual([403, 'Verify your account information.']);
  const page = headers['x-harrow-terms-location'] as string;
  expect((await call(page)).text).toContain('Verify your account information.');
  await patch({ message: 'Call us.', located: false });
  expect((await fields(simulator)).headers).not.toHaveProperty('x-harrow-terms-location');
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  await call(page.replace('/account', ''), form, 'POST', 'action=done&back=account');
  expect((await fields(simulator)).status).toBe(200);
  for (const change of [{ requiredAction: 7 }, { requiredAction: 'Pay 5 €\nnow' }, { name: 7 }])
    expect((await rawControl(simulator, 'PATCH', 'organizations/4711', change)).status).toBe(400);
  expect((await fields(simulator)).status).toBe(200);
});

test('each API documents its own error body, and any of them, plain text or nothing can be chosen', async () => {
  const simulator = await start();
  const unknown = `${simulator.equipment}/equipment/9`;
  const shown = async (errorBodies: string): Promise<Answered> => {
    await control(simulator, 'PATCH', 'settings', { errorBodies });
    return get(simulator, unknown);
  };
  expect((await shown('documented')).body[0]).toHaveProperty('gud');
  expect((await shown('errors')).body['@type']).toBe('Errors');
  expect((await shown('list')).body[0]).toHaveProperty('guid');
  const text = await shown('text');
  expect([text.headers['content-type'], text.text]).toEqual([
    'text/plain;charset=UTF-8',
    'The requested resource was not found',
  ]);
  expect([(await shown('empty')).status, (await shown('empty')).text]).toEqual([404, '']);
});

test('flood protection answers 429 with whole seconds and nothing else', async () => {
  const simulator = await start();
  await control(simulator, 'PATCH', 'settings', { callsPerSecond: 1, retryAfterSeconds: 3 });
  const answers = await Promise.all([machine(simulator), machine(simulator), machine(simulator)]);
  const refused = answers.find(({ status }) => status === 429)!;
  expect([refused.headers['retry-after'], refused.text]).toEqual(['3', '']);
  expect(answers.map(({ status }) => status)).toContain(200);
});

test('a resource that is removed is 404, one that is gone for good 410, and it can come back', async () => {
  const simulator = await start();
  await control(simulator, 'DELETE', 'equipment/217001');
  expect((await machine(simulator)).status).toBe(404);
  await control(simulator, 'DELETE', 'equipment/217001?gone=true');
  expect((await machine(simulator)).status).toBe(410);
  await control(simulator, 'POST', 'equipment/217001/restore');
  expect((await machine(simulator)).status).toBe(200);
});

test('created equipment may not be visible yet', async () => {
  const simulator = await start();
  const { token } = JSON.parse(simulator.environment.PROVIDER_TOKENS!)[0];
  const headers = {
    Accept: 'application/json',
    'Content-Type': 'application/json',
    Authorization: `Bearer ${token}`,
  };
  const body = JSON.stringify({ '@type': 'Machine', name: 'New' });
  const created = async (createdLagMs: number) => {
    await control(simulator, 'PATCH', 'settings', { createdLagMs });
    const address = `${simulator.equipment}/organizations/4711/equipment`;
    return (await call(address, headers, 'POST', body)).headers.location!;
  };
  expect((await get(simulator, await created(600_000))).status).toBe(404);
  const soon = await created(100);
  while ((await get(simulator, soon)).status === 404);
  expect((await get(simulator, soon)).body.name).toBe('New');
});

test('the sandbox holds five connections, 150,000 calls a month and eighteen months', async () => {
  const simulator = await start({
    organizations: 7,
    plan: 'sandbox',
    sandboxSince: '2025-01-15',
    today: '2026-07-14',
  });
  expect(simulator.environment).toMatchObject({
    PROVIDER_PLAN: 'sandbox',
    PROVIDER_SANDBOX_SINCE: '2025-01-15',
  });
  const { organizations } = await control(simulator, 'GET', 'state');
  expect(organizations.filter(({ connected }: Body) => connected)).toHaveLength(5);
  const sixth = `organizations/${organizations[5].id}`;
  expect((await rawControl(simulator, 'PATCH', sixth, { connected: true })).status).toBe(400);
  await control(simulator, 'PATCH', 'organizations/4711', { connected: false });
  await control(simulator, 'PATCH', sixth, { connected: true });
  expect((await get(simulator, `${simulator.catalog}organizations`)).body.total).toBe(7);
  await control(simulator, 'PUT', 'sandbox', { calls: 149_999 });
  const catalog = (): Promise<Answered> => get(simulator, simulator.catalog);
  expect([(await catalog()).status, (await catalog()).status]).toEqual([200, 403]);
  expect((await catalog()).body.errors[0].message).toContain('request production');
  await control(simulator, 'PUT', 'sandbox', { calls: 0 });
  expect((await catalog()).status).toBe(200);
  await control(simulator, 'PUT', 'today', { today: '2026-07-15' });
  expect((await catalog()).status).toBe(403);
  expect(await control(simulator, 'GET', 'sandbox')).toMatchObject({ ends: '2026-07-15', callsMax: 150_000 });
});

test('production has no such limits', async () => {
  const simulator = await start({ organizations: 7 });
  await control(simulator, 'PUT', 'sandbox', { calls: 1_000_000, since: '2020-01-01' });
  expect((await get(simulator, simulator.catalog)).status).toBe(200);
  expect(simulator.environment).not.toHaveProperty('PROVIDER_PLAN');
});

test('the application lists and ends its connections; a user may not', async () => {
  const simulator = await start({ organizations: 3 });
  const { PROVIDER_CLIENT_KEY: client_id, PROVIDER_CLIENT_SECRET: client_secret } = simulator.environment;
  const answer = await call(
    `${simulator.issuer}/v1/token`,
    { 'Content-Type': 'application/x-www-form-urlencoded' },
    'POST',
    new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client_id!,
      client_secret: client_secret!,
    }).toString(),
  );
  const headers = {
    Accept: platformAccept(simulator),
    Authorization: `Bearer ${answer.body.access_token}`,
  };
  const catalog = (await call(simulator.catalog, headers)).body;
  const address = catalog.links.find(({ rel }: Body) => rel === 'connections').uri;
  expect((await get(simulator, address)).status).toBe(403);
  const [first, second] = (await call(address, headers)).body.values;
  expect(first).toMatchObject({ orgId: '4711', permissions: expect.any(Array) });
  expect((await call(`${address}/${first.id}`, headers, 'DELETE')).status).toBe(204);
  expect((await fields(simulator)).status).toBe(403);
  const ofOrganization = `${simulator.catalog}organizations/${second.orgId}/connections`;
  expect((await call(ofOrganization, headers, 'DELETE')).status).toBe(204);
  expect((await call(address, headers)).body.total).toBe(1);
  expect((await call(`${address}/${first.id}`, headers, 'DELETE')).status).toBe(404);
});
