// One piece of equipment that both endpoints call by ids of their own: asked for by the one that each understands, and
// never taken for another that has the same number. Recorded answers; no other network is there.
import nock from 'nock';
import type { EquipmentNames } from '../../../src/model/equipment-names';
import { equipmentOrigin, origin, requestFor, type Staged, stageClient } from '../../support/provider-client';

const axiom = { 'content-type': 'application/vnd.Acme.axiom.v3+json' };
const json = { 'content-type': 'application/json' };
const older: EquipmentNames = {
  side: 'old',
  id: '81',
  organizationId: '4711',
  principalId: null,
  erid: 'e7',
  serialNumber: 's7',
};
const newer: EquipmentNames = { ...older, side: 'new', id: '7', principalId: '81' };
const identity = { kind: 'equipment', id: '81' } as const;
const newAddress = (id: string) => `${equipmentOrigin}/isg/equipment/${id}`;
const oldAddress = `${origin}/platform/machines/81`;
const embeds = 'devices,equipment';

let staged: Staged;

// Suites of one worker share the network that nock takes hold of.
afterAll(() => nock.restore());

function stage(equipmentApi: 'old' | 'new', records: EquipmentNames[] | null): void {
  staged = stageClient({ equipmentApi });
  staged.book.records = records;
  const links = [{ rel: 'organizations', uri: `${origin}/platform/organizations` }];
  nock(origin).get('/platform/').reply(200, { links }, axiom);
}

beforeEach(() => {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
});

afterEach(() => {
  staged.client.close();
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
  nock.enableNetConnect();
});

const answers = (id: string, body: object | null) =>
  nock(equipmentOrigin)
    .get(`/isg/equipment/${id}?embed=${embeds}`)
    .reply(body === null ? 404 : 200, { '@type': 'Machine', ...body }, json);
const lists = (values: object[]) =>
  nock(equipmentOrigin)
    .get('/isg/equipment')
    .query({ principalIds: '81', organizationIds: '4711', embed: embeds })
    .reply(200, { links: [], values }, json);
const read = async (address: string, resource: typeof identity | null = identity) => {
  const { answer } = await staged.client.read(requestFor(address, { resource }));
  return answer.kind === 'ok' ? answer.document.address : answer;
};

/** The machines of the organization, so that the form of their addresses is known. */
function organization(): void {
  const uri = `${origin}/platform/organizations/4711/machines`;
  const values = [{ id: '4711', links: [{ rel: 'machines', uri }] }];
  nock(origin).get('/platform/organizations?itemLimit=100').reply(200, { links: [], values }, axiom);
  const self = { rel: 'self', uri: `${origin}/platform/machines/1` };
  const machines = { links: [], values: [{ '@type': 'Machine', id: '1', links: [self] }] };
  nock(origin).get('/platform/organizations/4711/machines').query(true).reply(200, machines, axiom);
}
const machine = (id: string, body: object | null) =>
  nock(origin)
    .get(`/platform/machines/${id}`)
    .query(true)
    .reply(body === null ? 404 : 200, { '@type': 'Machine', id, ...body }, axiom);

describe('in the equipment API', () => {
  test('it is asked for by the id that it was seen by there', async () => {
    stage('new', [older, newer]);
    answers('7', { id: 7, ERID: 'e7' });
    expect(await read(oldAddress)).toBe(newAddress('7'));
    expect(staged.book.sought).toEqual([{ id: '81', as: 'known' }]);
  });

  test('not seen there yet, it is asked for by its ERID, and the number that is another machine is not it', async () => {
    stage('new', [older]);
    answers('81', { id: 81, ERID: 'e9', serialNumber: 's9' });
    answers('e7', { id: 7, ERID: 'e7' });
    expect(await read(oldAddress)).toBe(newAddress('7'));
  });

  test('without an ERID it is asked for by its principal id', async () => {
    stage('new', [{ ...older, erid: null }]);
    answers('81', null);
    lists([{ '@type': 'Machine', id: 7, principalId: 81, serialNumber: 's7' }]);
    expect(await read(oldAddress)).toBe(newAddress('7'));
  });

  test('where several answer to it, none is taken for it, and its older address is asked', async () => {
    stage('new', [{ ...older, erid: null }]);
    answers('81', { id: 81, serialNumber: 'other' });
    lists([{ id: 7 }, { id: 8 }]);
    machine('81', {});
    expect(await read(oldAddress)).toBe(oldAddress);
  });

  test('the one record of a list is the one with the id that it has there', async () => {
    stage('new', [older, newer]);
    const found = { '@type': 'Machine', id: 7 };
    nock(equipmentOrigin)
      .get(`/isg/equipment?ids=7&embed=${embeds}`)
      .reply(200, { values: [{ ...found, id: 8 }, found] }, json);
    expect(await read(`${equipmentOrigin}/isg/equipment?ids=7`)).toContain('ids=7');
  });

  test('an address that was never seen says by which endpoint the id is meant', async () => {
    stage('new', [older, newer]);
    answers('7', { id: 7 });
    expect(await read(oldAddress, null)).toBe(newAddress('7'));
    expect(staged.book.sought).toEqual([{ id: '81', as: 'old' }]);
  });

  test('an older address that was never seen says itself which machine it is, since its number may be another here', async () => {
    stage('new', []);
    machine('81', { GUID: 'e7' });
    answers('81', { id: 81, ERID: 'e9' });
    answers('e7', { id: 7, ERID: 'e7' });
    expect(await read(oldAddress, null)).toBe(newAddress('7'));
  });

  test.each([
    ['without entries is refused', [], expect.objectContaining({ kind: 'refused', code: 'not-a-resource' })],
    ['of several is handed on, to be judged', [{ id: 8 }, { id: 9 }], newAddress('81')],
  ])(
    'a collection at the address of a record is no sign that it is gone; one %s',
    async (_of, values, expected) => {
      stage('new', [older]);
      answers('81', { '@type': undefined, links: [], values });
      expect(await read(oldAddress)).toEqual(expected);
      staged.client.close();
      stage('new', []);
      machine('81', null);
      answers('81', { '@type': undefined, links: [], values });
      expect(await read(oldAddress, null)).toEqual(expected);
    },
  );

  test.each([
    ['the record with the number where nothing else has it', { id: 81 }, [], newAddress('81')],
    ['the thing with the number where no record has it', null, [{ id: 7, principalId: 81 }], newAddress('7')],
    [
      'neither of two',
      { id: 81 },
      [{ id: 7, principalId: 81 }],
      { kind: 'transient', code: 'equipment-names' },
    ],
  ])('where the older address is no more, it is %s', async (_which, record, listed, expected) => {
    stage('new', []);
    machine('81', null);
    answers('81', record);
    nock(equipmentOrigin)
      .get('/isg/equipment')
      .query({ principalIds: '81', embed: embeds })
      .reply(200, { links: [], values: listed }, json);
    const shown = await read(oldAddress, null);
    if (typeof expected === 'string') expect(shown).toBe(expected);
    else expect(shown).toMatchObject(expected);
  });
});

test('people name it as events do, in lists and for a change, too', async () => {
  stage('new', [older, newer]);
  nock(equipmentOrigin)
    .get('/isg/equipment')
    .query(({ ids }) => ids === '7')
    .reply(200, { links: [], values: [{ '@type': 'Machine', id: 7 }] }, json);
  const filter = { organizationIds: [], ids: ['81'], serialNumbers: [], category: null, archived: null };
  const lines: unknown[] = [];
  for await (const line of staged.client.data.equipment(filter)) lines.push(line);
  expect(lines).toMatchObject([{ item: { body: { id: 7 } } }]);
  answers('7', { id: 7, ERID: 'e7', organization: { id: 4711 } });
  const sent = accepts('7');
  answers('7', { id: 7, name: 'New' });
  expect(await renamed('81')).toMatchObject({ value: { body: { name: 'New' } } });
  expect(sent).toMatchObject([{ id: '7', name: 'New' }]);
});

const whole = {
  serialNumber: 's7',
  make: { id: 1 },
  type: { id: 2 },
  model: { id: 3 },
  icon: { name: 'tractor' },
};
const renamed = (id: string) => {
  const wish = { category: null, name: 'New', serialNumber: null, makeId: null, typeId: null, modelId: null };
  return staged.client.data.updateEquipment(id, '4711', wish);
};
/** The bodies that were sent to a record of the equipment API. */
function accepts(id: string): unknown[] {
  const sent: unknown[] = [];
  const keep = (body: unknown) => sent.push(body) > 0;
  nock(equipmentOrigin).put(`/isg/equipment/${id}`, keep).reply(204);
  return sent;
}

describe('at the older endpoints', () => {
  /** What is read there names its facts otherwise, and may be asked for or not. */
  function mayAskOlder(): void {
    const { serialNumber: vin, make: equipmentMake, type: equipmentType, model: equipmentModel } = whole;
    const record = {
      '@type': 'Machine',
      id: '81',
      GUID: 'e7',
      vin,
      equipmentMake,
      equipmentType,
      equipmentModel,
    };
    const links = [{ rel: 'machines', uri: `${origin}/platform/organizations/4711/machines` }];
    const self = { rel: 'self', uri: oldAddress };
    const listed = { links: [], values: [{ ...record, links: [self] }] };
    const optional = (path: string, body: object) =>
      nock(origin).get(path).query(true).optionally().times(2).reply(200, body, axiom);
    const organizations = { rel: 'organizations', uri: `${origin}/platform/organizations` };
    optional('/platform/', { links: [organizations] });
    optional('/platform/organizations', { links: [], values: [{ id: '4711', links }] });
    optional('/platform/organizations/4711/machines', listed);
    optional('/platform/machines/81', record);
  }

  test('a change sends back all that stands in the equipment API, and is compared with what it shows then', async () => {
    stage('old', [newer, older]);
    mayAskOlder();
    answers('7', { id: 7, name: 'Old', ...whole });
    const sent = accepts('7');
    answers('7', { id: 7, name: 'Old', ...whole });
    expect(await renamed('81')).toMatchObject({
      fault: { detail: expect.stringContaining('shows name "Old" instead of "New"') },
    });
    expect(sent).toEqual([{ '@type': 'Machine', id: '7', ...whole, name: 'New' }]);
  });

  test('a machine that was seen there alone is not another one that has its number in the equipment API', async () => {
    stage('old', [older]);
    mayAskOlder();
    answers('81', { id: 81, ERID: 'e9', serialNumber: 's9' });
    expect(await renamed('81')).toMatchObject({
      fault: { answer: { kind: 'refused', code: 'another-piece' } },
    });
    expect(staged.calls.filter(({ method }) => method === 'PUT')).toEqual([]);
  });

  test('where its number is nobody’s, the equipment API is asked by its ERID, and the change sent under its own id', async () => {
    stage('old', [older]);
    mayAskOlder();
    answers('81', null);
    answers('e7', { id: 7, ERID: 'e7', name: 'Old', ...whole });
    const sent = accepts('7');
    answers('7', { id: 7, name: 'New', ...whole });
    expect(await renamed('81')).toMatchObject({ value: { body: { name: 'New' } } });
    expect(sent).toEqual([{ '@type': 'Machine', id: '7', ...whole, name: 'New' }]);
  });

  test('it is asked for by the id that it was seen by there', async () => {
    stage('old', [newer, older]);
    organization();
    machine('81', { GUID: 'e7' });
    expect(await read(newAddress('7'), null)).toBe(oldAddress);
    expect(staged.book.sought).toEqual([{ id: '7', as: 'new' }]);
  });

  test('not seen there yet, it may be called by its principal id, and another machine by its number', async () => {
    stage('old', [newer]);
    organization();
    machine('7', { GUID: 'e9', vin: 's9' });
    organization();
    machine('81', { GUID: 'e7', vin: 's7' });
    expect(await read(newAddress('7'))).toBe(oldAddress);
  });

  test('an address that was never seen is not the machine that has its number there', async () => {
    stage('old', []);
    organization();
    machine('7', { GUID: 'e9', vin: 's9' });
    answers('7', { id: 7, ERID: 'e7' });
    expect(await read(newAddress('7'), null)).toBe(newAddress('7'));
  });

  test('nor does a refusal of that machine speak for it', async () => {
    stage('old', []);
    organization();
    nock(origin).get('/platform/machines/7').query(true).reply(403, 'Access Denied');
    answers('7', { id: 7, ERID: 'e7' });
    expect(await read(newAddress('7'), null)).toBe(newAddress('7'));
  });

  test.each([
    ['its link', { links: [{ rel: 'equipment', uri: newAddress('7') }] }],
    ['the ERID that the address holds', { GUID: '7' }],
  ])('it is that machine where %s says so, and the equipment API is not asked', async (_what, body) => {
    stage('old', []);
    organization();
    machine('7', body);
    expect(await read(newAddress('7'), null)).toBe(`${origin}/platform/machines/7`);
  });
});

test('while the store does not say what it is called, the read waits', async () => {
  stage('new', null);
  expect(await read(oldAddress)).toMatchObject({ kind: 'transient', code: 'equipment-names' });
});
