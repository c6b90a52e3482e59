// The equipment API: records in both shapes, embeds, filters, its own paging, and the reference lists.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, type Body, control, get, rawControl } from '../caller';

let simulator: Simulator;
beforeEach(async () => {
  simulator = await startSimulator({ organizations: 3, equipment: 30 });
});
afterEach(() => simulator.close());

const equipment = (rest: string): Promise<Answered> =>
  get(simulator, `${simulator.equipment}/equipment${rest}`);
const ids = (answer: Answered): number[] => answer.body.values.map(({ id }: Body) => id);

test('a record with an odd id wraps its references in arrays, one with an even id does not', async () => {
  const odd = (await equipment('/217001')).body;
  const even = (await equipment('/217002')).body;
  expect(odd.make).toEqual([expect.objectContaining({ '@type': 'EquipmentMake' })]);
  expect(odd.organization).toEqual([{ '@type': 'Resource', id: 4711 }]);
  expect(even.make).toEqual(expect.objectContaining({ '@type': 'EquipmentMake' }));
  expect(even.model).toMatchObject({ '@type': 'EquipmentModel', certified: true });
  expect([odd.id, odd.principalId]).toEqual([217001, 82001]);
});

test('one record has two addresses: its id and its ERID', async () => {
  const record = (await equipment('/217004')).body;
  expect((await equipment(`/${record.ERID}`)).body).toEqual(record);
  await control(simulator, 'PATCH', 'equipment/217004', { name: 'Renamed' });
  expect((await equipment(`/${record.ERID}`)).body.name).toBe('Renamed');
});

test('devices, paired equipment and pairing details come only when embedded', async () => {
  const plain = (await equipment('/217002')).body;
  for (const key of ['devices', 'implements', 'icon', 'pairingDetails', 'offsets'])
    expect(plain).not.toHaveProperty(key);
  const some = (await equipment('/217002?embed=devices,equipment')).body;
  expect(some.devices[0]).toMatchObject({ '@type': 'TelematicsGateway' });
  expect(some.devices[0]).not.toHaveProperty('pairingDetails');
  expect(some.implements[0].id).toBe(217003);
  const implement = (await equipment('/217003?embed=equipment,pairingDetails,icon,capabilities,offsets'))
    .body;
  expect(implement.machine).toMatchObject({ id: 217002, pairingDetails: { paired: true } });
  expect(implement).toMatchObject({
    icon: { name: expect.any(String) },
    capabilities: [],
    offsets: [],
    pairingDetails: { paired: true },
  });
});

test.each(['?embed=everything', '?embed=pairingDetails'])('/217001%s is refused with 400', async (query) => {
  const { status, body } = await equipment(`/217001${query}`);
  expect([status, body[0].field]).toEqual([400, 'embed']);
});

test('the list wants a parameter and knows no total', async () => {
  expect((await equipment('')).status).toBe(400);
  const { body } = await equipment('?organizationIds=4711');
  expect(Object.keys(body)).toEqual(['links', 'values']);
  expect([body.links, body.values.length]).toEqual([[], 30]);
});

test('pages hold 100 records by default and nextPage ends them', async () => {
  const many = await startSimulator({ organizations: 1, equipment: 230 });
  const sizes: number[] = [];
  let next: string | undefined = `${many.equipment}/equipment?organizationIds=4711`;
  while (next !== undefined) {
    const { body }: Answered = await get(many, next);
    sizes.push(body.values.length);
    next = body.links.find((link: Body) => link.rel === 'nextPage')?.uri;
  }
  expect(sizes).toEqual([100, 100, 30]);
  expect(
    (await get(many, `${many.equipment}/equipment?organizationIds=4711&itemLimit=5000`)).body.values,
  ).toHaveLength(230);
  await many.close();
});

test('filters by id, serial number, category, archived and capability', async () => {
  expect(ids(await equipment('?ids=217002,217001,9'))).toEqual([217002, 217001]);
  const { serialNumber } = (await equipment('/217005')).body;
  expect(ids(await equipment(`?serialNumbers=${serialNumber}`))).toEqual([217005]);
  const implementsOnly = await equipment('?organizationIds=4711&category=implement');
  expect(new Set(implementsOnly.body.values.map((entry: Body) => entry['@type']))).toEqual(
    new Set(['Implement']),
  );
  expect(ids(await equipment('?organizationIds=4711&categories=Machine,Implement'))).toHaveLength(30);
  expect(ids(await equipment('?organizationIds=4711&archived=true'))).toEqual([217015, 217030]);
  expect(ids(await equipment('?organizationIds=4711&capableOf=Connectivity'))).toHaveLength(20);
  expect(ids(await equipment('?organizationIds=4711&capableOf=!Connectivity'))).toHaveLength(10);
  expect(ids(await equipment('?principalIds=82003&organizationRole.type=Controlling'))).toEqual([217003]);
  expect((await equipment('?category=tractor')).status).toBe(400);
  expect((await equipment('?archived=maybe')).status).toBe(400);
});

test.each([
  ['organizationIds=', 'organizationIds'],
  ['organizationIds=,&archived=true', 'organizationIds'],
  ['ids=217001&serialNumbers=', 'serialNumbers'],
  ['organizationIds=4711&capableOf=', 'capableOf'],
  ['foo=1', 'foo'],
  ['organizationIds=4711&organizationId=4724', 'organizationId'],
])('?%s is refused with 400: a filter that is lost lists nothing', async (query, field) => {
  const { status, body } = await equipment(`?${query}`);
  expect([status, body[0]?.field]).toEqual([400, field]);
});

test('one serial number may be used by several organizations', async () => {
  const { serialNumber } = (await equipment('/217025')).body;
  expect(ids(await equipment(`?serialNumbers=${serialNumber}`))).toEqual([217025, 217055, 217085]);
  expect(ids(await equipment(`?serialNumbers=${serialNumber}&organizationIds=4724`))).toEqual([217055]);
});

test('without a primary filter blocked organizations are left out', async () => {
  await control(simulator, 'PATCH', 'organizations/4724', { termsAccepted: false });
  expect(ids(await equipment('?category=machine&itemLimit=5000'))).toHaveLength(40);
});

test('equipment that moves to another organization is listed and guarded there', async () => {
  await control(simulator, 'PATCH', 'equipment/217001', { organization: { id: 4737 } });
  expect(ids(await equipment('?organizationIds=4711'))).not.toContain(217001);
  expect(ids(await equipment('?organizationIds=4737'))).toContain(217001);
  await control(simulator, 'PATCH', 'organizations/4737', { termsAccepted: false });
  expect((await equipment('/217001')).status).toBe(403);
});

test('a removed record is 404 and comes back when restored', async () => {
  await control(simulator, 'DELETE', 'equipment/217001?notify=false');
  expect((await equipment('/217001')).status).toBe(404);
  expect(ids(await equipment('?organizationIds=4711'))).not.toContain(217001);
  expect((await rawControl(simulator, 'GET', 'equipment/217001')).status).toBe(404);
  expect((await control(simulator, 'GET', 'state?organization=4711&content=false')).equipment).toHaveLength(
    29,
  );
  await control(simulator, 'POST', 'equipment/217001/restore');
  expect((await equipment('/217001')).status).toBe(200);
});

test('ids that never were are 404, also odd spellings of one that is', async () => {
  for (const id of ['216999', '217091', '0217001', '217001.0', '-1', 'abc', '%20'])
    expect((await equipment(`/${id}`)).status).toBe(404);
});

test('makes, types and models are lists of their own', async () => {
  const list = async (path: string): Promise<Body[]> =>
    (await get(simulator, `${simulator.equipment}${path}`)).body.values;
  expect((await list('/equipmentMakes'))[0]).toMatchObject({ '@type': 'EquipmentMake', deprecated: false });
  expect((await list('/equipmentTypes'))[0]).toMatchObject({ '@type': 'EquipmentType', category: 'Machine' });
  const models = await list('/equipmentModels?equipmentModelName=h*&embed=make,type');
  expect(models.map(({ name }) => name)).toEqual(['H8 340', 'H9 520']);
  expect(models[0]).toMatchObject({ make: { name: 'Harrow' }, type: { '@type': 'EquipmentType' } });
  expect((await get(simulator, `${simulator.equipment}/equipmentMakes/1`)).body.name).toBe('Harrow');
  expect((await get(simulator, `${simulator.equipment}/equipmentMakes/2`)).status).toBe(404);
});

test('an address that cannot be decoded is the caller’s mistake', async () => {
  expect((await equipment('/%zz')).status).toBe(400);
});
