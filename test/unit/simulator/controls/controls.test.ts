// The controls: changing the truth, a read model that lags, faults, tokens, the day, coverage.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, type Body, call, control, get, rawControl, startReceiver, tokenOf } from '../caller';

let simulator: Simulator;
beforeEach(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.close());

const equipment = (id = 217001): string => `${simulator.equipment}/equipment/${id}`;
const faults = (...list: object[]): Promise<Body> => control(simulator, 'PUT', 'faults', list);
const errorOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => 'none',
    (problem: NodeJS.ErrnoException) => String(problem.code),
  );

test('a change is merged into the content, lists are replaced, null stays as null, remove takes away', async () => {
  const [{ id, uri, content }] = (await control(simulator, 'GET', 'state')).fieldOperations;
  const changed = await control(simulator, 'PATCH', `fieldOperations/${id}`, {
    cropName: 'RYE',
    endDate: null,
    tasks: [{ name: 'x' }],
    remove: ['adaptMachineType'],
  });
  const { body } = await get(simulator, `${uri}?embed=measurementTypes`);
  expect(body).toEqual(changed.content);
  expect(body).toMatchObject({
    cropName: 'RYE',
    endDate: null,
    tasks: [{ name: 'x' }],
    startDate: content.startDate,
  });
  expect(body).not.toHaveProperty('adaptMachineType');
  const again = await control(simulator, 'PATCH', `fieldOperations/${id}`, { adaptMachineType: 'back' });
  expect(again.content.adaptMachineType).toBe('back');
});

test.each(['equipment', 'fieldOperations'])(
  'a change of %s that would give it another id, or none, is refused and changes nothing',
  async (kind) => {
    const [{ id }] = (await control(simulator, 'GET', 'state'))[kind];
    const before = await control(simulator, 'GET', `${kind}/${id}`);
    for (const change of [
      { id: '5', name: 'Other' },
      { name: 'Other', remove: ['id'] },
    ])
      expect(await rawControl(simulator, 'PATCH', `${kind}/${id}`, change)).toMatchObject({
        status: 400,
        body: { error: 'the id of a record stays as it is' },
      });
    expect(await control(simulator, 'GET', `${kind}/${id}`)).toEqual(before);
  },
);

test('modifiedTime rises with each change unless the change sets it', async () => {
  const [{ id, content }] = (await control(simulator, 'GET', 'state')).fieldOperations;
  const change = async (patch: object): Promise<number> =>
    Date.parse((await control(simulator, 'PATCH', `fieldOperations/${id}`, patch)).content.modifiedTime);
  const times = [
    Date.parse(content.modifiedTime),
    await change({ cropSeason: '1' }),
    await change({ cropSeason: '2' }),
    await change({ cropSeason: '3' }),
  ];
  expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
  expect(await change({ modifiedTime: '2020-01-01T00:00:00.000Z' })).toBe(Date.UTC(2020, 0, 1));
  expect(await change({ cropSeason: '4' })).toBeGreaterThan(times.at(-1)! - 1);
});

test('nested objects are merged and other resources stay as they were', async () => {
  const before = (await get(simulator, equipment(217003))).body;
  await control(simulator, 'PATCH', 'equipment/217001', { model: { name: 'New name' } });
  const { model } = (await get(simulator, equipment())).body;
  expect(model[0]).toMatchObject({ '@type': 'EquipmentModel', name: 'New name' });
  expect((await get(simulator, equipment(217003))).body).toEqual(before);
});

test('with lagMs the change is the truth at once and clients see the old content until the lag is over', async () => {
  const receiver = await startReceiver();
  await control(simulator, 'PUT', 'deliver-to', { url: receiver.url });
  await faults({ match: { method: 'GET', path: '/equipment/217001' }, times: 1, lagMs: 250 });
  const before = (await get(simulator, equipment())).body.name;
  await control(simulator, 'PATCH', 'equipment/217001', { name: 'Later' });
  await receiver.came(2);
  expect((await get(simulator, equipment())).body.name).toBe(before);
  expect((await control(simulator, 'GET', 'equipment/217001')).content.name).toBe('Later');
  for (let name = before; name === before; ) name = (await get(simulator, equipment())).body.name;
  await control(simulator, 'PATCH', 'equipment/217001', { name: 'At once' });
  expect((await get(simulator, equipment())).body.name).toBe('At once');
  await receiver.close();
});

test('a fault answers instead, so often as it says, and only where it matches', async () => {
  await faults({
    match: { method: 'GET', path: '/equipment/217001' },
    times: 2,
    status: 503,
    headers: { 'Retry-After': '7' },
    body: 'busy',
  });
  expect((await get(simulator, equipment(217002))).status).toBe(200);
  const first = await get(simulator, equipment());
  expect([first.status, first.headers['retry-after'], first.text]).toEqual([503, '7', 'busy']);
  expect((await get(simulator, equipment())).status).toBe(503);
  expect((await get(simulator, equipment())).status).toBe(200);
  expect((await control(simulator, 'GET', 'faults'))[0].times).toBe(0);
});

test('a path may be a regular expression, the address as sent or the path below the base', async () => {
  await faults({ match: { path: '^/isg/equipment/21700[12]$' }, status: 500 });
  expect((await get(simulator, equipment(217001))).status).toBe(500);
  expect((await get(simulator, equipment(217003))).status).toBe(200);
  await faults({ match: { path: '/organizations/4711' }, status: 500 });
  await control(simulator, 'POST', 'links/move');
  const { uri } = (await get(simulator, simulator.catalog)).body.link[0];
  const listed = await get(simulator, uri);
  expect([listed.status, listed.body.values[0].id]).toEqual([200, '4711']);
  const self = listed.body.values[0].links.find((one: { rel: string }) => one.rel === 'self');
  expect((await get(simulator, self.uri)).status).toBe(500);
});

test('a fault may change only headers, the media type included', async () => {
  await faults({
    match: { path: '/equipment' },
    headers: { 'content-type': 'text/html', 'Content-Language': null },
  });
  const { status, headers, body } = await get(simulator, equipment());
  expect([status, headers['content-type'], headers['content-language'], body.id]).toEqual([
    200,
    'text/html',
    undefined,
    217001,
  ]);
});

test('delayMs delays the real answer', async () => {
  await faults({ match: { path: '/equipment' }, delayMs: 120 });
  const from = performance.now();
  expect((await get(simulator, equipment())).status).toBe(200);
  expect(performance.now() - from).toBeGreaterThan(110);
});

test('what is held is answered when the faults are set anew, and not before', async () => {
  await faults({ match: { path: '/equipment' }, times: 1, held: true, status: 418 });
  let answered = false;
  const held = get(simulator, equipment()).finally(() => {
    answered = true;
  });
  const isKept = async () =>
    ((await control(simulator, 'GET', 'faults')) as { times: number }[])[0]?.times === 0;
  while (!(await isKept())) await new Promise(setImmediate);
  // Whoever asks later is answered first.
  expect((await get(simulator, equipment())).status).toBe(200);
  expect(answered).toBe(false);
  await faults();
  expect((await held).status).toBe(418);
});

test('a body cut in the middle of a chunk or short of its length breaks the connection', async () => {
  await faults({ match: { path: '/equipment' }, times: 1, truncateAt: 20 });
  expect(await errorOf(get(simulator, equipment()))).toBe('ECONNRESET');
  await faults({
    match: { path: '/equipment' },
    times: 1,
    truncateAt: 20,
    headers: { 'Content-Length': '500' },
  });
  expect(await errorOf(get(simulator, equipment()))).toBe('ECONNRESET');
  await faults({ match: { path: '/equipment' }, times: 1, truncateAt: 0 });
  expect(await errorOf(get(simulator, equipment()))).toBe('ECONNRESET');
});

test('a cut body that is delimited by the end of the connection looks complete', async () => {
  await faults({ match: { path: '/equipment' }, truncateAt: 20, close: true });
  const { status, headers, text } = await get(simulator, equipment());
  expect([status, text.length, headers['transfer-encoding'], headers['content-length']]).toEqual([
    200,
    20,
    undefined,
    undefined,
  ]);
});

test('close ends the connection without an answer, drip sends byte by byte', async () => {
  await faults({ match: { path: '/equipment' }, times: 1, close: true });
  expect(await errorOf(get(simulator, equipment()))).toBe('ECONNRESET');
  await faults({ match: { path: '/equipment' }, times: 1, status: 200, body: { a: 1 }, drip: 5 });
  const from = performance.now();
  expect((await get(simulator, equipment())).body).toEqual({ a: 1 });
  expect(performance.now() - from).toBeGreaterThan(25);
});

test('a body may be given as bytes', async () => {
  await faults({
    match: { path: '/equipment' },
    status: 200,
    bodyBase64: Buffer.from('{"x":"ü"}').toString('base64'),
  });
  expect((await get(simulator, equipment())).body).toEqual({ x: 'ü' });
});

test.each<[unknown, string]>([
  [{}, 'must be an array'],
  [[{ stats: 500 }], 'faults[0].stats is not known'],
  [[{ match: { url: '/' } }], 'faults[0].match.url is not known'],
  [[{ match: { path: '(' } }], 'regular expression'],
  [[{ times: -1 }], 'faults[0].times'],
  [[{ status: 9999 }], 'faults[0].status must be a status from 200 to 599'],
  [[{ status: 101 }], 'faults[0].status must be a status from 200 to 599'],
  [[{ headers: 'x' }], 'faults[0].headers'],
  [[{ headers: { 'bad header': 'x' } }], 'faults[0].headers: "bad header" cannot be written as a header'],
  [[{ headers: { '': 'x' } }], 'faults[0].headers: "" cannot be written'],
  [[{ headers: { 'X-Split': 'a\r\nb' } }], 'faults[0].headers: "X-Split" cannot be written'],
  [[{ headers: { 'X-Wide': '€' } }], 'faults[0].headers: "X-Wide" cannot be written'],
  [[{ delayMs: 2_147_483_648 }], 'faults[0].delayMs must be at most 2147483647'],
  [[{ close: 'yes' }], 'faults[0].close must be true or false'],
  [[{ held: 1 }], 'faults[0].held must be true or false'],
  [[{ bodyBase64: '%%%' }], 'faults[0].bodyBase64 must be base64'],
  [[7], 'faults[0]'],
])('the faults %j are refused', async (body, message) => {
  const answer = await rawControl(simulator, 'PUT', 'faults', body);
  expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining(message)]);
});

test('expired tokens are refused; a refresh gives a new one; restored tokens work again', async () => {
  await control(simulator, 'POST', 'tokens/expire');
  expect((await get(simulator, equipment())).status).toBe(401);
  const { refresh } = tokenOf(simulator);
  const fresh = await token({ grant_type: 'refresh_token', refresh_token: refresh });
  expect(fresh.body).toMatchObject({ token_type: 'Bearer', expires_in: 43_200 });
  expect(
    (await get(simulator, equipment(), { Authorization: `Bearer ${fresh.body.access_token}` })).status,
  ).toBe(200);
  await control(simulator, 'POST', 'tokens/restore');
  expect((await get(simulator, equipment())).status).toBe(200);
  await control(simulator, 'POST', 'tokens/expire', { user: 'somebody-else' });
  expect((await get(simulator, equipment())).status).toBe(200);
  await control(simulator, 'POST', 'tokens/expire', { refresh: true });
  const refused = await token({ grant_type: 'refresh_token', refresh_token: refresh });
  expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
});

async function token(
  form: Record<string, string>,
  secret = simulator.environment.PROVIDER_CLIENT_SECRET!,
): Promise<Answered> {
  const discovery = await call(`${simulator.issuer}/.well-known/oauth-authorization-server`);
  const Authorization = `Basic ${Buffer.from(`${simulator.clientKey}:${secret}`).toString('base64')}`;
  const headers = { Authorization, 'Content-Type': 'application/x-www-form-urlencoded' };
  return call(discovery.body.token_endpoint, headers, 'POST', new URLSearchParams(form).toString());
}

test('the token endpoint knows its client, and gives the application a token of its own', async () => {
  expect((await token({ grant_type: 'client_credentials' }, 'wrong')).status).toBe(401);
  expect((await token({ grant_type: 'password' })).body.error).toBe('unsupported_grant_type');
  const application = (await token({ grant_type: 'client_credentials' })).body.access_token;
  const catalog = await get(simulator, simulator.catalog, { Authorization: `Bearer ${application}` });
  expect(catalog.body).toHaveProperty('links');
});

test('the state can be asked for one organization and without content', async () => {
  const all = await control(simulator, 'GET', 'state');
  expect([all.organizations.length, all.equipment.length, all.fieldOperations.length]).toEqual([3, 18, 48]);
  const one = await control(simulator, 'GET', 'state?organization=4711&content=false');
  expect(one.organizations).toEqual([
    { id: '4711', name: expect.any(String), termsAccepted: true, connected: true },
  ]);
  expect(one.equipment[0]).toEqual({ id: '217001', organizationId: '4711', uri: equipment() });
  const body = (
    await get(simulator, `${equipment()}?embed=devices,equipment,icon,pairingDetails,offsets,capabilities`)
  ).body;
  expect(all.equipment[0].content).toEqual(body);
});

test('the day is checked, and null goes back to the real one', async () => {
  expect((await control(simulator, 'PUT', 'today', { today: '2024-02-29' })).today).toBe('2024-02-29');
  expect((await rawControl(simulator, 'PUT', 'today', { today: '2023-02-29' })).status).toBe(400);
  expect((await control(simulator, 'PUT', 'today', { today: null })).today).toBe(
    new Date().toISOString().slice(0, 10),
  );
});

test('coverage counts each row of the contract', async () => {
  await get(simulator, equipment());
  await get(simulator, equipment());
  const rows: Body[] = await control(simulator, 'GET', 'coverage');
  const count = (name: string): number => rows.find(({ row }) => row === name).count;
  expect([count('oauth2.bearer'), count('equipment.id'), count('endpoint.catalog')]).toEqual([2, 0, 0]);
  const events: Body[] = await control(simulator, 'GET', 'coverage/events');
  expect(events.find(({ event }) => event === 'equipment-get').count).toBe(2);
});

test('controls answer a loopback name only, say why, and forgive a doubled slash', async () => {
  const state = `${simulator.control}/state?content=false`;
  expect((await call(state)).status).toBe(200);
  expect((await call(state, { Host: 'rebound.example' })).status).toBe(403);
  for (const Origin of ['https://elsewhere.example', 'null'])
    expect((await call(`${simulator.control}tokens/expire`, { Origin }, 'POST', '{}')).status).toBe(403);
  expect((await get(simulator, equipment())).status).toBe(200);
  expect((await call(state, { Origin: new URL(state).origin })).status).toBe(200);
  expect(await rawControl(simulator, 'GET', 'nothing')).toMatchObject({
    status: 404,
    body: { error: 'no such control' },
  });
  expect((await call(`${simulator.control}today`, {}, 'PUT', '{')).status).toBe(400);
  expect((await rawControl(simulator, 'PATCH', 'equipment/1', {})).status).toBe(404);
  expect((await rawControl(simulator, 'PATCH', 'equipment/217001', { remove: 'x' })).status).toBe(400);
  expect((await rawControl(simulator, 'PATCH', 'equipment/217001', [1])).status).toBe(400);
});

test('the logs can be emptied and read from a number on', async () => {
  for (const id of [217001, 217002, 217003]) await get(simulator, equipment(id));
  const [, , last] = await control(simulator, 'GET', 'requests');
  expect(await control(simulator, 'GET', `requests?since=${last.number - 1}`)).toEqual([last]);
  await control(simulator, 'DELETE', 'requests');
  expect(await control(simulator, 'GET', 'requests')).toEqual([]);
  expect((await control(simulator, 'GET', 'counts')).requests).toBe(3);
});
