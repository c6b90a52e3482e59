/**
 * Goal: a person reads and writes the provider's equipment and field operations from the command line, through the running
 * service: the same documents as events carry, what is refused told apart, and a closed organization hiding no other.
 * Method: the simulator and the service as processes, each command as a process of its own.
 */
import { runCommand } from '../support/command';
import { beginStory, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
let first: string;
let second: string;

interface Document {
  id: string;
  organizationId: string;
  [fact: string]: unknown;
}

beforeAll(async () => {
  story = await beginStory({ flags: { 'field-operations': 6 } });
  const { organizations } = await story.simulator.state();
  [first, second] = organizations.map(({ id }) => id) as [string, string];
});
afterAll(() => story.end());

const run = (...words: string[]) => runCommand(words, { TRAMLINE_URL: story.service.operationsUrl });
async function json<Value>(...words: string[]): Promise<Value> {
  const { code, out, error } = await run(...words, '--json');
  expect([code, error]).toEqual([0, '']);
  return JSON.parse(out) as Value;
}
const idsOf = (documents: Document[]) => documents.map(({ id }) => id);

test('equipment is listed by organization, id, serial number, category and whether it is archived', async () => {
  const { equipment } = await story.simulator.state();
  const all = await json<Document[]>('equipment', 'list');
  expect(idsOf(all).sort()).toEqual(equipment.map(({ id }) => id).sort());
  const ofFirst = await json<Document[]>('equipment', 'list', '--organization', first);
  expect(new Set(ofFirst.map(({ organizationId }) => organizationId))).toEqual(new Set([first]));
  const implement = await json<Document[]>('equipment', 'list', '--category', 'implement');
  expect(implement.every(({ category }) => category === 'implement')).toBe(true);
  const [one, two] = all as [Document, Document];
  const serialNumber = String(two.serialNumber);
  expect(idsOf(await json('equipment', 'list', '--id', one.id))).toEqual([one.id]);
  expect(idsOf(await json('equipment', 'list', '--serial-number', serialNumber))).toEqual([two.id]);
  expect(await json('equipment', 'list', '--archived', 'true')).toEqual([]);
});

test('a record is shown as events carry it, with its devices, and one that is not there ends with 3', async () => {
  const [machine] = await story.equipment();
  const shown = await json<Document>('equipment', 'get', machine!.id);
  expect(shown).toMatchObject({ id: machine!.id, organizationId: first, category: 'machine' });
  expect(shown.devices).toHaveLength(1);
  expect(shown).toHaveProperty('pairedEquipment');
  const byErid = await json<Document>('equipment', 'get', String(shown.erid));
  expect(byErid).toMatchObject({ id: machine!.id, erid: shown.erid });
  const { code, error } = await run('equipment', 'get', '999');
  expect([code, error]).toEqual([3, expect.stringMatching(/no such thing \(http.*\/equipment\/999\)/)]);
});

test('equipment is created without a serial number, and changed; what the provider refuses ends with 4', async () => {
  const created = await json<Document>(
    ...['equipment', 'create', '--organization', second, '--category', 'implement', '--name', 'Newcomer'],
  );
  expect(created).toMatchObject({ organizationId: second, category: 'implement', name: 'Newcomer' });
  const changed = await json<Document>('equipment', 'update', created.id, '--name', 'Renamed');
  expect(changed).toMatchObject({ id: created.id, name: 'Renamed', category: 'implement' });
  const [machine] = await story.equipment();
  const { code, error } = await run('equipment', 'update', machine!.id, '--name', 'Not ours');
  expect([code, error]).toEqual([4, expect.stringContaining('API client')]);
});

test.each(['merged', 'replaced'])(
  'what a change does not name stays as it was where the provider’s update is %s',
  async (equipmentPut) => {
    await story.simulator.changeSettings({ equipmentPut });
    const facts = ['--serial-number', `SN-${equipmentPut}`, '--model', '65015'];
    const created = await json<Document>(
      ...[
        'equipment',
        'create',
        '--organization',
        first,
        '--category',
        'machine',
        '--name',
        'Whole',
        ...facts,
      ],
    );
    expect(created).toMatchObject({ serialNumber: `SN-${equipmentPut}`, model: { id: '65015' } });
    const unchanging = ({ id, serialNumber, make, type, model, erid }: Document) => {
      return { id, serialNumber, make, type, model, erid };
    };
    const renamed = await json<Document>('equipment', 'update', created.id, '--name', 'Still whole');
    expect(renamed.name).toBe('Still whole');
    expect(unchanging(renamed)).toEqual(unchanging(created));
    const other = await json<Document>('equipment', 'update', created.id, '--model', '65014');
    expect(other).toMatchObject({ name: 'Still whole', serialNumber: created.serialNumber });
    expect(other).toMatchObject({ model: { id: '65014' } });
    const truth = (await story.simulator.state()).equipment.find(({ id }) => id === created.id)!;
    expect([truth.content.model].flat()).toMatchObject([{ id: 65014 }]);
    expect(truth.content.serialNumber).toBe(created.serialNumber);
    await story.simulator.changeSettings({ equipmentPut: 'merged' });
  },
);

test('one serial number in two organizations is two records, and archiving one leaves the other', async () => {
  const [mine] = await story.equipment(0);
  const [theirs] = await story.equipment(1);
  const { serialNumber } = mine!.content;
  await story.simulator.changeEquipment(theirs!.id, { serialNumber });
  const archive = { archived: true, archivedTimestamp: '2025-06-01T08:00:00Z' };
  await story.untilEvents(theirs!, 1);
  await story.simulator.changeEquipment(mine!.id, { name: 'Before it is archived' });
  await story.untilEvents(mine!, 1);
  const before = (await story.eventsOf(theirs!)).length;
  await story.simulator.changeEquipment(mine!.id, archive);
  const events = await story.untilEvents(mine!, 2);
  expect(events.at(-1)!.type).toBe('io.tramline.equipment.archived.v1');
  await story.untilRest();
  expect(await story.eventsOf(theirs!)).toHaveLength(before);
  const found = await json<Document[]>('equipment', 'list', '--serial-number', String(serialNumber));
  expect(found.map(({ id, archived }) => [id, archived]).sort()).toEqual(
    [
      [mine!.id, true],
      [theirs!.id, false],
    ].sort(),
  );
});

test('makes, types and models are read once and then remembered', async () => {
  const asked = async () => (await story.requests()).filter(({ path }) => path.includes('equipmentM')).length;
  expect(await json('makes')).toContainEqual(expect.objectContaining({ id: '1', name: 'Harrow' }));
  expect((await json<unknown[]>('models', '--name', 'h8')).length).toBeGreaterThan(0);
  expect((await run('types')).out).toMatch(/^ID +NAME +CATEGORY\n/);
  const before = await asked();
  await json('equipment', 'makes');
  expect(await asked()).toBe(before);
});

test('field operations are listed by organization and field, and read with what was measured', async () => {
  const { fieldOperations } = await story.simulator.state();
  const all = await json<Document[]>('field-operations');
  expect(idsOf(all).sort()).toEqual(fieldOperations.map(({ id }) => id).sort());
  const [one] = fieldOperations;
  const onField = await json<Document[]>(
    ...['field-operations', 'list', '--organization', one!.organizationId, '--field', one!.fieldId],
  );
  expect(idsOf(onField)).toEqual(
    fieldOperations.filter(({ fieldId }) => fieldId === one!.fieldId).map(({ id }) => id),
  );
  const shown = await json<Document>('field-operations', 'get', one!.id);
  const measured = await json<Document[]>('field-operations', 'measurements', one!.id);
  expect(measured).toEqual(shown.measurements);
  const name = String(measured[0]!.name);
  expect(await json('field-operations', 'measurements', one!.id, '--name', name)).toEqual([measured[0]]);
});

/** What a day's rules make of every field operation, by its id, without when it was read. */
async function operationsOn(today: string | null): Promise<Map<string, Document>> {
  await story.simulator.setToday({ today });
  const documents = await json<Document[]>('field-operations', 'list');
  return new Map(documents.map(({ observedAt: _at, ...document }) => [document.id, document]));
}

test('a field operation is the same document before, during and after the change of its fields', async () => {
  const { fieldOperations } = await story.simulator.state();
  const products = (content: Record<string, unknown>) => (content.products ?? []) as { tankMix?: boolean }[];
  // Before July 10, 2024 an answer could hold one product or tank mix: only then do all forms carry the same facts.
  const same = fieldOperations.filter(({ content }) => products(content).length <= 1);
  const several = fieldOperations.filter(({ content }) => products(content).length > 1);
  expect(same.some(({ content }) => content.fieldOperationType === 'application')).toBe(true);
  const after = await operationsOn('2024-07-10');
  for (const day of ['2024-01-09', '2024-01-10', '2024-07-09']) {
    const before = await operationsOn(day);
    // The applied area is a fact that only the new form has.
    const said = (document?: Document) =>
      JSON.parse(
        JSON.stringify(document, (name, value: unknown) =>
          name === 'appliedArea' && day === '2024-01-09' ? undefined : value,
        ),
      ) as Document;
    for (const { id } of same) expect(said(before.get(id))).toEqual(said(after.get(id)));
    for (const { id } of several) expect(before.get(id)?.products).toHaveLength(1);
  }
  await operationsOn(null);
});

test('what an application measured besides its product stays a measurement of its own, in each form', async () => {
  const { fieldOperations } = await story.simulator.state();
  const operation = fieldOperations.find(({ content }) => content.fieldOperationType === 'application')!;
  const quantities = {
    totalMaterial: { value: 120, unitId: 'l' },
    averageMaterial: { value: 12, unitId: 'l1ha-1' },
  };
  const fuel = { '@type': 'FieldOperationMeasurement', measurementName: 'FuelRateResult', ...quantities };
  const measured = async () =>
    (await json<Document & { measurements: Document[] }>('field-operations', 'get', operation.id))
      .measurements;
  const applied = (all: Document[]) => all.filter(({ name }) => String(name).startsWith('ApplicationRate'));
  const { measurementTypes } = operation.content as { measurementTypes: object[] };
  for (const day of ['2024-01-09', '2024-07-09', '2024-07-10']) {
    await story.simulator.setToday({ today: day });
    const before = await measured();
    await story.simulator.changeFieldOperation(operation.id, {
      measurementTypes: [...measurementTypes, fuel],
    });
    const after = await measured();
    expect(applied(after)).toEqual(applied(before));
    expect(after.find(({ name }) => name === 'FuelRateResult')).toEqual({
      name: 'FuelRateResult',
      totalMaterial: { value: 120, unit: 'L', source: { value: 120, unit: 'l' } },
      averageMaterial: { value: 12, unit: 'L/har', source: { value: 12, unit: 'l1ha-1' } },
    });
    await story.simulator.changeFieldOperation(operation.id, { measurementTypes });
  }
  await story.simulator.setToday({ today: null });
});

test('tables have no colour where nobody looks, and nothing in them is cut', async () => {
  for (const words of [['equipment'], ['models'], ['field-operations']]) {
    const { code, out } = await run(...words);
    expect(code).toBe(0);
    expect(['\u001b', '…'].filter((sign) => out.includes(sign))).toEqual([]);
  }
});

test('a page that cannot be read names its address, what was expected and what came, and hides no other', async () => {
  const match = { path: `^/isg/equipment\\?organizationIds=${first}` };
  const html = { headers: { 'content-type': 'text/html' }, body: '<html>Sign in</html>' };
  for (const [fault, said] of [
    [{ body: { values: 'none' } }, 'expected a list of values, got string'],
    [html, 'expected a JSON document, got text/html, '],
  ] as const) {
    await story.simulator.setFaults([{ match, times: 1, status: 200, ...fault }]);
    const { code, out, error } = await run('equipment', 'list', '--json');
    expect(code).toBe(1);
    expect(error).toContain(said);
    expect(error).toContain(`/isg/equipment?organizationIds=${first}`);
    const documents = JSON.parse(out) as Document[];
    expect(new Set(documents.map(({ organizationId }) => organizationId))).toEqual(new Set([second]));
  }
  await story.simulator.setFaults([]);
});

test('an organization that waits for its customer ends with 5 and says where to act; the other is listed', async () => {
  await story.simulator.setOrganization(first, { termsAccepted: false });
  const { code, out, error } = await run('equipment', 'list', '--json');
  expect(code).toBe(5);
  expect(error).toContain(`organization ${first}`);
  expect((JSON.parse(out) as Document[]).length).toBeGreaterThan(0);
  const [machine] = await story.equipment();
  const got = await run('equipment', 'get', machine!.id);
  expect([got.code, got.error]).toEqual([5, expect.stringContaining('/terms')]);
  // A refusal is a hint to probe, whoever asked; what the probe finds is told to all.
  const access = async () =>
    (await json<{ id: string; access: string }[]>('organizations', 'list')).find(({ id }) => id === first)
      ?.access;
  await until(async () => (await access()) === 'terms-required', soon);
  await story.simulator.setOrganization(first, { termsAccepted: true });
  await run('organizations', 'probe', first);
  await until(async () => (await access()) === 'active', soon);
});

test('what is sought by ids or serial numbers is listed of each organization that is open, whatever another waits for', async () => {
  const [[closed], [open]] = [await story.equipment(0), await story.equipment(1)];
  await story.simulator.setOrganization(first, { termsAccepted: false });
  try {
    for (const sought of [
      ['--id', closed!.id, '--id', open!.id],
      [closed!, open!].flatMap(({ content }) => ['--serial-number', String(content.serialNumber)]),
    ]) {
      const { code, out, error } = await run('equipment', 'list', ...sought, '--json');
      expect([code, idsOf(JSON.parse(out) as Document[])]).toEqual([5, [open!.id]]);
      expect(error).toMatch(new RegExp(`organization ${first}: .*a customer acts at http`));
    }
  } finally {
    await story.simulator.setOrganization(first, { termsAccepted: true });
  }
});

test('files of organizations that are closed are missed by name, with the place to act, however they are asked for', async () => {
  const places = { connected: '/portal/connections/', termsAccepted: '/terms' };
  const files = await json<{ id: string }[]>('files', 'list');
  const [file] = await json<{ id: string }[]>('files', 'list', '--organization', first);
  for (const [open, place] of Object.entries(places)) {
    await story.simulator.setOrganization(first, { [open]: false });
    const named = await run('files', 'list', '--organization', first);
    expect([named.code, named.error]).toEqual([5, expect.stringContaining(`organization ${first}`)]);
    expect(named.error).toContain(place);
    const all = await run('files', 'list', '--json');
    expect([all.code, all.error]).toEqual([5, expect.stringContaining(`organization ${first}`)]);
    expect(all.error).toContain(place);
    expect(all.error.match(/organization \d+:/g)).toHaveLength(1);
    const shown = (JSON.parse(all.out) as { id: string }[]).length;
    expect([shown > 0, shown < files.length]).toEqual([true, true]);
    const got = await run('files', 'get', file!.id);
    expect([got.code, got.error]).toEqual([5, expect.stringContaining(place)]);
    await story.simulator.setOrganization(second, { [open]: false });
    const none = await run('files', 'list');
    expect([none.code, none.error]).toEqual([5, expect.stringContaining(`organization ${second}`)]);
    // No file is shown that would tell the form of their addresses.
    const unseen = await run('files', 'get', file!.id);
    expect([unseen.code, unseen.error]).toEqual([5, expect.stringContaining(place)]);
    for (const id of [first, second]) await story.simulator.setOrganization(id, { [open]: true });
  }
  expect(await json('files', 'list')).toEqual(files);
  expect((await run('files', 'get', '999')).code).toBe(3);
});

test('without a service the store’s connections are used, and the answer is the same', async () => {
  const through = await json<Document[]>('makes');
  await story.service.stop();
  const settings = { ...story.settings(), DATABASE_URL: `sqlite:${story.dataFolder}/tramline.db` };
  const { code, out, error } = await runCommand(['makes', '--json'], settings);
  expect([code, error]).toEqual([0, '']);
  expect(JSON.parse(out)).toEqual(through);
  // Its calls count against the sandbox like the service's own.
  const sandbox = {
    ...settings,
    PROVIDER_PLAN: 'sandbox',
    PROVIDER_SANDBOX_SINCE: '2026-01-01',
    PROVIDER_SANDBOX_TEST_ORGANIZATIONS: '4711',
  };
  expect((await runCommand(['makes', '--json'], sandbox)).code).toBe(0);
  const shown = (await runCommand(['config'], sandbox)).out;
  expect(Number(/sandbox: (\d+) of 150000 calls left/.exec(shown)?.[1])).toBeLessThan(150_000);
  expect(shown).toContain('sandbox: 0 of 1 test-organizations left');
  await story.serve();
});

test('a consent that a command finds refused is one alert of the service', async () => {
  await story.untilLearned();
  await story.simulator.expireTokens({ refresh: true });
  for (const words of [
    ['equipment', 'list'],
    ['files', 'list'],
  ])
    expect((await run(...words)).code).toBe(5);
  const named = async () => (await story.alerts()).filter(({ name }) => name === 'TramlineReauthorize');
  await until(async () => (await named()).length > 0, soon);
  expect(await named()).toMatchObject([{ state: 'firing' }]);
  expect((await run('connections')).out).toContain('refused');
});
