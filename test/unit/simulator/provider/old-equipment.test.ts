// The machine and implement endpoints: the same facts in their old shape, and what changes with the years.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, type Body, control, get } from '../caller';

let simulator: Simulator;
beforeEach(async () => {
  simulator = await startSimulator({
    organizations: 1,
    equipment: 16,
    today: '2024-12-31',
    oldEquipmentEnds: '2026-01-01',
  });
});
afterEach(() => simulator.close());

const rel = (links: Body[], name: string): string => links.find((link) => link.rel === name)!.uri;
const organization = async (): Promise<Body> =>
  (await get(simulator, `${simulator.catalog}organizations/4711`)).body;
const list = async (kind: string, query = ''): Promise<Answered> =>
  get(simulator, rel((await organization()).links, kind) + query);
const single = (value: Body): Body => [value].flat()[0];

test('machines and implements are found by their rels and paged like every list of the platform', async () => {
  const machines = (await list('machines')).body;
  expect([machines.total, machines.values.length]).toEqual([11, 10]);
  expect(machines.values.every((one: Body) => one['@type'] === 'Machine')).toBe(true);
  const implementsPage = (await list('implements')).body;
  expect([implementsPage.total, implementsPage.values[0]['@type']]).toEqual([4, 'Implement']);
  expect((await list('implements', '?includeInactive=true')).body.total).toBe(5);
});

test('a record carries the facts of the new one under the old names', async () => {
  const [old] = (await list('machines')).body.values;
  const now = (await get(simulator, rel(old.links, 'equipment'))).body;
  expect(old).toMatchObject({
    id: String(now.id),
    GUID: now.ERID,
    vin: now.serialNumber,
    name: now.name,
    modelYear: now.modelYear,
    principalId: now.principalId,
    equipmentMake: single(now.make),
    equipmentType: single(now.type),
    equipmentModel: single(now.model),
    owningOrganization: { id: '4711' },
  });
  const kinds = old.machineCategories.machineCategories.map(({ type, name }: Body) => [type, name]);
  expect(kinds).toContainEqual(['Make', single(now.make).name]);
  expect((await get(simulator, rel(old.links, 'self'))).body).toEqual(old);
});

test('devices come with an embed and what is paired without one; an embed of the equipment API is refused', async () => {
  const [first] = (await list('implements')).body.values;
  expect(first).not.toHaveProperty('terminals');
  expect(first.machine['@type']).toBe('Machine');
  const self = rel(first.links, 'self');
  expect((await get(simulator, `${self}?embed=terminals`)).body.terminals).toEqual([]);
  for (const asked of ['equipment', 'terminals,equipment', 'devices', 'everything']) {
    for (const { status, body } of [
      await get(simulator, `${self}?embed=${asked}`),
      await list('machines', `?embed=${asked}`),
    ]) {
      expect([status, body[0].field, body[0].invalidValue]).toEqual([400, 'embed', asked.split(',').at(-1)]);
    }
  }
});

test('an embed is refused wherever none is known, or another one is', async () => {
  const platform = simulator.catalog.replace(/\/$/, '');
  for (const [address, known] of [
    [`${platform}/organizations`, null],
    [`${platform}/organizations/4711`, null],
    [`${platform}/files`, null],
    [`${platform}/organizations/4711/fields`, 'activeBoundary'],
    [`${simulator.equipment}/equipmentMakes`, null],
    [`${simulator.equipment}/equipmentTypes`, null],
    [`${simulator.equipment}/equipmentModels`, 'make,type,isgType'],
    [`${simulator.equipment}/equipment/217001`, 'devices,offsets,capabilities'],
  ] as const) {
    const { status, body } = await get(simulator, `${address}?embed=terminals`);
    expect([address, status, body[0].field]).toEqual([address, 400, 'embed']);
    if (known !== null) expect((await get(simulator, `${address}?embed=${known}`)).status).toBe(200);
  }
});

test('a machine is no implement', async () => {
  const [machine] = (await list('machines')).body.values;
  expect(
    (await get(simulator, rel(machine.links, 'self').replace('/machines/', '/implements/'))).status,
  ).toBe(404);
});

test('where machines are called by their principalId, that is their id everywhere, and the other one is not named', async () => {
  await simulator.close();
  simulator = await startSimulator({ organizations: 1, equipment: 3, oldEquipmentIds: 'principal' });
  const [listed] = (await list('machines')).body.values;
  const [now] = (await get(simulator, `${simulator.equipment}/equipment?ids=217001`)).body.values;
  expect(listed).toMatchObject({ id: String(now.principalId), GUID: now.ERID, vin: now.serialNumber });
  expect(JSON.stringify(listed)).not.toContain('217001');
  expect(listed).not.toHaveProperty('principalId');
  expect((await get(simulator, rel(listed.links, 'self'))).body).toEqual(listed);
  expect((await get(simulator, `${simulator.catalog}machines/217001`)).status).toBe(404);
});

test('deprecation is said from January 1, 2025, and the end only where one was set', async () => {
  const on = async (today: string): Promise<unknown[]> => {
    await control(simulator, 'PUT', 'today', { today });
    const { status, headers } = await get(simulator, `${simulator.catalog}machines/217001`);
    return [status, headers.deprecation];
  };
  expect(await on('2024-12-31')).toEqual([200, undefined]);
  expect(await on('2025-01-01')).toEqual([200, '@1735689600']);
  expect(await on('2025-12-31')).toEqual([200, '@1735689600']);
  expect(await on('2026-01-01')).toEqual([410, undefined]);
});

test('the types of a make and the models of its type are lists of their own', async () => {
  const types = await get(simulator, `${simulator.equipment}/equipmentMakes/14/equipmentTypes`);
  expect(types.body.values.map(({ id }: Body) => id)).toEqual([230, 305]);
  const models = await get(
    simulator,
    `${simulator.equipment}/equipmentMakes/14/equipmentISGTypes/30/equipmentModels`,
  );
  expect(models.body.values.map(({ name }: Body) => name)).toEqual(['Boomer 4036']);
  expect((await get(simulator, `${simulator.equipment}/equipmentMakes/9/equipmentTypes`)).status).toBe(404);
});
