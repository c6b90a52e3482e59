/**
 * Goal: what the provider itself limits or ends is seen as such: the sandbox's connections, calls and time, the life of a
 * token, a connection that the application ended; and the other system of units is normalized to the same quantities.
 * Method: one provider in the sandbox and one service; what only the application may ask is asked by hand.
 */
import { runCommand } from '../support/command';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
beforeAll(async () => {
  story = await beginStory({
    delivers: false,
    flags: { plan: 'sandbox', organizations: 6, equipment: 2, 'field-operations': 1 },
  });
});
afterAll(() => story.end());

const run = (...words: string[]) => runCommand(words, { TRAMLINE_URL: story.service.operationsUrl });

/** Every quantity of a document by its place: value and unit as published, and the unit as it came. */
function quantitiesOf(
  value: unknown,
  place = '',
): Map<string, { value: number; unit: string; from: string }> {
  const found = new Map<string, { value: number; unit: string; from: string }>();
  if (typeof value !== 'object' || value === null) return found;
  const { unit, source } = value as { unit?: string; source?: { unit: string } };
  if (unit !== undefined && source !== undefined)
    return found.set(place, { value: (value as { value: number }).value, unit, from: source.unit });
  for (const [key, inner] of Object.entries(value))
    for (const [at, quantity] of quantitiesOf(inner, `${place}.${key}`)) found.set(at, quantity);
  return found;
}

test('whichever system of units is asked for, the same quantities are published', async () => {
  const { fieldOperations, organizations } = await story.simulator.state();
  const open = new Set(organizations.filter(({ connected }) => connected).map(({ id }) => id));
  const operations = fieldOperations.filter(({ organizationId }) => open.has(organizationId));
  const read = async () => {
    const documents = operations.map(({ id }) => story.ask(`/api/field-operations/${id}`));
    return quantitiesOf(await Promise.all(documents));
  };
  const metric = await read();
  await story.service.stop();
  // The life of the next test, too.
  await story.serve({ settings: { PROVIDER_UNIT_SYSTEM: 'english', PROVIDER_SANDBOX_SINCE: '2020-01-01' } });
  const english = await read();
  expect(english.size).toBeGreaterThan(20);
  expect([...english.keys()]).toEqual([...metric.keys()]);
  for (const [place, { value, unit }] of english) {
    expect({ place, unit }).toEqual({ place, unit: metric.get(place)!.unit });
    expect(Math.abs(value / metric.get(place)!.value - 1)).toBeLessThan(1e-4);
  }
  const units = (all: typeof metric) => new Set([...all.values()].map(({ from }) => from));
  expect(units(metric)).toContain('ha');
  expect(units(english)).toContain('ac');
  expect(units(english)).not.toContain('ha');
});

test('with nothing left of the sandbox no sync goes on, what is notified is read, and an alert says what to request', async () => {
  const { code, error } = await run('sync');
  expect([code, error]).toEqual([1, expect.stringContaining('the 18 months of the sandbox are used')]);
  const machine = (await story.equipment())[1]!;
  await story.post([notificationOf(machine)]);
  await story.untilEvents(machine, 1);
  const subjects = (await story.events()).map(({ subject }) => subject);
  expect(subjects.filter((subject) => subject.includes('/equipment/'))).toEqual([
    `${machine.organizationId}/equipment/${machine.id}`,
  ]);
  const alert = await until(
    async () => (await story.alerts()).find(({ labels }) => labels.limit === 'months'),
    { ...soon, what: 'the end of the sandbox to be told' },
  );
  expect(alert).toMatchObject({ name: 'TramlineSandboxLimit', state: 'firing' });
  expect(alert.annotations.description).toContain('Request the move to production; a sync waits until then');
  const shown = await runCommand(['config'], {
    ...story.settings(),
    PROVIDER_SANDBOX_SINCE: '2020-01-01',
    TRAMLINE_URL: story.service.operationsUrl,
  });
  expect(shown.out).toContain('sandbox: 0 of 18 months left (until 2021-07-01)');
  await story.service.stop();
  await story.serve();
});

test('a token whose time has run out is renewed, and nobody is told', async () => {
  const [machine] = await story.equipment();
  await story.simulator.expireTokens({ kinds: ['access'], inSeconds: -1 });
  await story.simulator.changeEquipment(machine!.id, { name: 'With another token' });
  await story.post([notificationOf(machine!)]);
  await story.untilEvents(machine!, 1);
  // What is told of the sandbox is true here.
  const told = (await story.alerts()).filter(({ name }) => !name.startsWith('TramlineSandbox'));
  expect(told).toEqual([]);
});

test('a sixth organization is not connected, and one that is forgotten is connected no longer', async () => {
  const { organizations } = await story.simulator.state();
  const unconnected = organizations.filter(({ connected }) => !connected);
  expect(unconnected).toHaveLength(1);
  await expect(story.simulator.setOrganization(unconnected[0]!.id, { connected: true })).rejects.toThrow(
    /sandbox|409|403|400/,
  );
  const [, second] = organizations;
  // From here on no address is made from another one and a name: only links lead there.
  await story.simulator.moveLinks();
  const forgotten = await run('organizations', 'forget', second!.id, '--yes', '--json');
  expect([forgotten.code, JSON.parse(forgotten.out)]).toEqual([0, expect.objectContaining({ ended: true })]);
  const after = (await story.simulator.state()).organizations.find(({ id }) => id === second!.id);
  expect(after!.connected).toBe(false);
  expect(await story.organization(second!.id)).toMatchObject({ access: 'not-connected', name: null });
  const { code, out } = await run('sync', '--organization', second!.id, '--json');
  expect([code, JSON.parse(out)]).toEqual([
    0,
    expect.objectContaining({ trouble: 'none', skipped: [{ id: second!.id, access: 'forgotten' }] }),
  ]);
  expect(await story.organization(second!.id)).toMatchObject({ forgotten: true, name: null });
});

test.each<[string, () => Promise<unknown>]>([
  ['150,000 calls of a month', () => story.simulator.setSandbox({ calls: 150_000 })],
  ['18 months', () => story.simulator.setSandbox({ calls: 0, since: '2020-01-01' })],
])(
  'after %s the provider’s own words say to request production, and nothing is set aside',
  async (_what, exceed) => {
    await exceed();
    const [machine] = await story.equipment();
    const { code, error } = await run('equipment', 'get', machine!.id);
    expect([code, error]).toEqual([4, expect.stringContaining('request production')]);
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    await until(async () => (await story.tasks('postponed')).length === 1, {
      ...soon,
      what: 'the read to be refused and to wait',
    });
    expect(await story.ledger()).toMatchObject({ waiting: 1, quarantined: 0 });
    expect(await story.quarantine()).toEqual([]);
    // No read is under way while the limit is lifted: in the middle of one the resource alone would be refused.
    await story.service.stop();
    await story.simulator.setSandbox({ calls: 0, since: '2026-01-01' });
    await story.serve();
    expect(await story.untilRest()).toMatchObject({ quarantined: 0 });
  },
);
