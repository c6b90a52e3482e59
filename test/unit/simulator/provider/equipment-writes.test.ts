// Creating, updating and deleting equipment as a client may: validation, serial numbers, and what a client may not touch.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, type Body, call, control, get, tokenOf } from '../caller';

let simulator: Simulator;
beforeEach(async () => {
  simulator = await startSimulator({ organizations: 2, equipment: 2 });
});
afterEach(() => simulator.close());

const write = (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answered> =>
  call(
    `${simulator.equipment}${path}`,
    {
      Accept: 'application/json',
      'Content-Type': 'application/json',
      Authorization: `Bearer ${tokenOf(simulator).token}`,
      ...headers,
    },
    method,
    typeof body === 'string' ? body : JSON.stringify(body),
  );
const create = (body: unknown, organization = '4711'): Promise<Answered> =>
  write('POST', `/organizations/${organization}/equipment`, body);
const machine = { '@type': 'Machine', name: 'Combine 9', model: { '@type': 'EquipmentModel', id: 65014 } };
const listed = async (query: string): Promise<Body[]> =>
  (await get(simulator, `${simulator.equipment}/equipment?${query}`)).body.values;

test('equipment is created without a serial number, and 201 says where it is', async () => {
  const { status, headers, text } = await create(machine);
  expect([status, text]).toEqual([201, '']);
  const { body } = await get(simulator, headers.location!);
  const [record] = [body].flat();
  expect(record).toMatchObject({ '@type': 'Machine', name: 'Combine 9', archived: false });
  expect(record).not.toHaveProperty('serialNumber');
  expect([record.model].flat()[0].name).toBe('C680');
  expect([record.make].flat()[0].name).toBe('Harrow');
  expect((await listed('organizationIds=4711')).map(({ id }) => id)).toContain(record.id);
  expect((await listed('organizationIds=4724')).map(({ id }) => id)).not.toContain(record.id);
  const { equipment } = await control(simulator, 'GET', 'state');
  expect(equipment.some(({ id }: Body) => id === String(record.id))).toBe(true);
});

test('one serial number in two organizations is two records, and archiving one leaves the other', async () => {
  const both = { ...machine, serialNumber: 'SHARED1' };
  const first = await create(both);
  const second = await create(both, '4724');
  expect([first.status, second.status]).toEqual([201, 201]);
  expect((await create(both)).body[0]).toMatchObject({
    field: 'serialNumber',
    invalidValue: 'SHARED1',
    code: 400,
  });
  const found = await listed('serialNumbers=SHARED1');
  expect(found.map(({ organization }) => [organization].flat()[0].id)).toEqual([4711, 4724]);
  await control(simulator, 'PATCH', `equipment/${found[0].id}`, { archived: true });
  expect((await listed('serialNumbers=SHARED1&archived=true')).map(({ id }) => id)).toEqual([found[0].id]);
  expect((await listed('serialNumbers=SHARED1&archived=false')).map(({ id }) => id)).toEqual([found[1].id]);
});

test('every problem of a body is named at once, with the identifier spelt gud', async () => {
  const { status, body } = await create({
    '@type': 'Boat',
    name: '',
    serialNumber: 'x'.repeat(31),
    model: { id: 1 },
    colour: 'green',
  });
  expect(status).toBe(400);
  expect(body.map(({ field }: Body) => field).sort()).toEqual([
    '@type',
    'colour',
    'model.id',
    'name',
    'serialNumber',
  ]);
  for (const problem of body) expect(problem).toMatchObject({ gud: expect.any(String), code: 400 });
  expect((await create({ ...machine, '@type': 'Implement' })).body[0].field).toBe('model.id');
});

test.each<[string, string, string, number]>([
  ['not JSON', '{', 'application/json', 400],
  ['no object', '[]', 'application/json', 400],
  ['of another media type', '{}', 'text/plain', 415],
])('a body that is %s is refused', async (_name, body, type, status) => {
  const refused = await write('POST', '/organizations/4711/equipment', body, { 'Content-Type': type });
  expect(refused.status).toBe(status);
});

test('an update changes what it names, is announced, and keeps the rest', async () => {
  const path = new URL((await create({ ...machine, serialNumber: 'A1' })).headers.location!).pathname.slice(
    4,
  );
  expect((await write('PUT', path, { name: 'Renamed', serialNumber: 'A2' })).status).toBe(204);
  const record = (await get(simulator, `${simulator.equipment}${path}`)).body;
  expect(record).toMatchObject({ name: 'Renamed', serialNumber: 'A2', '@type': 'Machine' });
  expect([record.model].flat()[0].id).toBe(65014);
  expect((await write('PUT', path, { id: 1 })).body[0].field).toBe('id');
  expect((await write('PUT', path, { '@type': 'Implement' })).status).toBe(400);
  expect((await write('DELETE', path)).status).toBe(204);
  expect((await get(simulator, `${simulator.equipment}${path}`)).status).toBe(404);
});

test('where an update replaces, what it leaves out is taken away, and a name is required', async () => {
  await control(simulator, 'PATCH', 'settings', { equipmentPut: 'replaced' });
  const path = new URL((await create({ ...machine, serialNumber: 'A1' })).headers.location!).pathname.slice(
    4,
  );
  const read = async (): Promise<Body> => (await get(simulator, `${simulator.equipment}${path}`)).body;
  const before = await read();
  expect((await write('PUT', path, { serialNumber: 'A1' })).body[0].field).toBe('name');
  expect((await write('PUT', path, { name: 'Renamed', serialNumber: 'A1' })).status).toBe(204);
  const after = await read();
  expect(after).toMatchObject({ id: before.id, ERID: before.ERID, '@type': 'Machine', serialNumber: 'A1' });
  for (const name of ['make', 'type', 'model', 'isgType'])
    expect([before[name], after[name]]).toEqual([expect.anything(), undefined]);
  expect((await write('PUT', path, { name: 'Renamed', model: { id: 65014 } })).status).toBe(204);
  const last = await read();
  expect([last.model].flat()[0].id).toBe(65014);
  for (const name of ['serialNumber', 'alternateIdentifiers']) expect(last[name]).toBeUndefined();
});

test('a make or type that is not the model’s is refused, and without the model it takes the model’s place', async () => {
  const contradicting = { ...machine, make: { id: 33 }, type: { id: 230 } };
  const refused = await create(contradicting);
  expect([refused.status, refused.body.map(({ field }: Body) => field)]).toEqual([
    400,
    ['make.id', 'type.id'],
  ]);
  const agreeing = { ...machine, model: { id: 65015 }, make: { id: 33 }, type: { id: 222 } };
  const path = new URL((await create(agreeing)).headers.location!).pathname.slice(4);
  const record = async (): Promise<Body> => (await get(simulator, `${simulator.equipment}${path}`)).body;
  const idsNow = async () => {
    const { make, type, model } = await record();
    return [make, type, model].map((one) => [one].flat()[0]?.id);
  };
  const change = (body: unknown) => write('PUT', path, body);
  expect((await change({ model: { id: 65015 }, make: { id: 1 } })).body[0].field).toBe('make.id');
  expect((await change({ make: { id: 33 }, name: 'Kept' })).status).toBe(204);
  expect(await idsNow()).toEqual([33, 222, 65015]);
  expect((await change({ make: { id: 1 } })).status).toBe(204);
  expect(await idsNow()).toEqual([1, 222, undefined]);
  expect((await change({ model: { id: 65014 } })).status).toBe(204);
  expect(await idsNow()).toEqual([1, 222, 65014]);
});

test('a client changes nothing that no client has created', async () => {
  expect((await write('PUT', '/equipment/217001', { name: 'Mine' })).status).toBe(403);
  expect((await write('DELETE', '/equipment/217001')).status).toBe(403);
  expect((await write('PUT', '/equipment/999999', { name: 'x' })).status).toBe(404);
});

test('writing needs eq2, and an organization that is open', async () => {
  await control(simulator, 'PATCH', 'client', { scopes: 'org1 eq1' });
  expect((await create(machine)).body.errors[0].message).toContain('scopes needed: eq2');
  await control(simulator, 'PATCH', 'client', { scopes: 'eq2' });
  await control(simulator, 'PATCH', 'organizations/4711', { termsAccepted: false });
  const blocked = await create(machine);
  expect([blocked.status, blocked.headers['x-harrow-terms-location']]).toEqual([403, expect.any(String)]);
});
