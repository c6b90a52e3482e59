/**
 * Goal: whatever words and shape a refusal of the provider has, a person sees which kind it is: in the exit code of a
 * command, the state of an organization, an alert or the quarantine; and what was refused goes on once it may.
 * Method: one provider and one service; each refusal is the provider's own, by its controls, not an answer made up here.
 */
import { runCommand } from '../support/command';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
beforeAll(async () => {
  story = await beginStory({
    delivers: false,
    flags: { equipment: 6 },
    settings: { GONE_AFTER_SECONDS: '3' },
  });
});
afterAll(() => story.end());

afterEach(async () => {
  await story.simulator.setFaults([]);
  await story.simulator.changeSettings({ errorBodies: 'documented', callsPerSecond: 0, createdLagMs: 0 });
  for (const { id, connected } of (await story.simulator.state()).organizations)
    if (!connected) await story.simulator.setOrganization(id, { connected: true });
});

const run = (...words: string[]) => runCommand(words, { TRAMLINE_URL: story.service.operationsUrl });
const firing = async () =>
  (await story.alerts()).filter(({ state }) => state === 'firing').map(({ name }) => name);
const untilQuiet = () => until(async () => (await firing()).length === 0, { ...soon, what: 'no alert' });

let changes = 0;
/** The machine changes, and is announced; how many events of it there were before. */
async function announce(machine: Resource): Promise<number> {
  changes += 1;
  const before = (await story.eventsOf(machine)).length;
  await story.simulator.changeEquipment(machine.id, { name: `Change ${changes}` });
  expect((await story.post([notificationOf(machine)])).status).toBe(204);
  return before;
}

test.each(['errors', 'list', 'gud', 'text'])(
  'the provider’s words are shown from a body of the form %s',
  async (errorBodies) => {
    await story.simulator.changeSettings({ errorBodies });
    const [machine] = await story.equipment();
    expect(await run('equipment', 'get', '999')).toEqual({
      code: 3,
      out: '',
      error:
        `tramline: the provider has no such thing (${story.simulator.equipment}/equipment/999)\n` +
        '\n→ See what there is: tramline equipment list\n',
    });
    const refused = await run('equipment', 'update', machine!.id, '--name', 'Not ours');
    expect([refused.code, refused.error]).toEqual([4, expect.stringContaining('API client')]);
  },
);

test('an empty body is told by its status', async () => {
  await story.simulator.changeSettings({ errorBodies: 'empty' });
  const [machine] = await story.equipment();
  expect((await run('equipment', 'get', '999')).code).toBe(3);
  const refused = await run('equipment', 'update', machine!.id, '--name', 'Not ours');
  expect([refused.code, refused.error]).toEqual([4, expect.stringContaining('tramline: ')]);
  const before = await announce(machine!);
  await story.untilEvents(machine!, before + 1);
});

/** How the provider would name a person. */
const person = 'jo.doe@farm.example (jo.doe%40farm.example)';

test.each([
  ['with a place to act', 'Verify your account information.', true],
  ['without one', 'Call your dealer [address] ([address]).', false],
])(
  'another required action %s blocks in the provider’s own words, without whom they name, and ends by itself',
  async (_how, message, located) => {
    const [machine] = await story.equipment();
    const { organizationId } = machine!;
    const requiredAction = { message: message.replace(/\[address\].*\)/, person), located };
    await story.simulator.setOrganization(organizationId, { requiredAction });
    const before = await announce(machine!);
    await until(async () => (await story.organization(organizationId)).access === 'terms-required', soon);
    const organization = await story.organization(organizationId);
    expect(organization.message).toContain(message);
    expect(organization.actionUrl === null).toBe(!located);
    await until(async () => (await firing()).length > 0, soon);
    const [alert] = (await story.alerts()).filter(({ state }) => state === 'firing');
    expect(alert).toMatchObject({ name: 'TramlineRequiredAction' });
    for (const told of [message, organization.actionUrl ?? '']) expect(JSON.stringify(alert)).toContain(told);
    for (const words of [
      ['get', machine!.id],
      ['list', '--organization', organizationId],
    ]) {
      const { code, error } = await run('equipment', ...words);
      expect([words[0], code, error]).toEqual([words[0], 5, expect.stringContaining(message)]);
    }
    const told = { id: organizationId, organizationId } as Resource;
    const blocked = await until(async () => {
      const [last] = (await story.eventsOf(told, 'organization-access')).slice(-1);
      return last?.type.includes('.blocked.') ? last : null;
    }, soon);
    expect(blocked.data).toMatchObject({ organizationId, message: expect.stringContaining(message) });
    const journeys = [await story.explain(blocked.id), await story.explain(machine!.uri)];
    const everywhere = JSON.stringify([organization, alert, blocked, journeys, await story.tasks()]);
    expect(everywhere).not.toContain('farm.example');

    await story.simulator.setOrganization(organizationId, { requiredAction: null });
    await story.untilEvents(machine!, before + 1);
    await untilQuiet();
  },
);

test('a scope or licence that is missing is one alert for the client, sets nothing aside, and goes on when it is there', async () => {
  const [machine, other] = await story.equipment();
  await story.simulator.changeClient({ scopes: 'org1 ag1 ag2 files offline_access' });
  const before = [await announce(machine!), await announce(other!)];
  await until(async () => (await firing()).includes('TramlineClientRefused'), soon);
  const { organizationId } = machine!;
  for (const words of [
    ['get', machine!.id],
    ['list', '--organization', organizationId],
  ]) {
    const { code, error } = await run('equipment', ...words);
    expect([words[0], code, error]).toEqual([words[0], 4, expect.stringContaining('scopes needed: eq1')]);
  }
  const synced = await run('sync', '--organization', organizationId);
  const listing = `${organizationId}/equipment was not read to its end: page 1: .*`;
  const where = `at ${story.simulator.equipment}/equipment\\?organizationIds=${organizationId}&.* – `;
  expect(synced.error).toMatch(new RegExp(`${listing}${where}.*scopes needed: eq1`));
  expect(await firing()).toEqual(['TramlineClientRefused']);
  expect(await story.quarantine()).toEqual([]);
  expect((await story.organization(machine!.organizationId)).access).toBe('active');

  await story.simulator.changeClient({
    scopes: 'org1 eq1 eq2 ag1 ag2 files offline_access',
  });
  await story.untilEvents(machine!, before[0]! + 1);
  await story.untilEvents(other!, before[1]! + 1);
  // What was refused is read, but for the listing: nobody asks for it before the next sync.
  expect(await firing()).toEqual(['TramlineClientRefused']);
  expect((await run('sync', '--organization', organizationId)).code).toBe(0);
  await untilQuiet();
});

test('an organization that is not connected ends a command with 5 and the place to connect', async () => {
  const [machine] = await story.equipment(1);
  const { organizationId } = machine!;
  const before = await announce(machine!);
  await story.untilEvents(machine!, before + 1);
  await story.simulator.setOrganization(organizationId, { connected: false });
  for (const words of [
    ['get', machine!.id, '--organization', organizationId],
    ['list', '--organization', organizationId],
  ]) {
    const { code, error } = await run('equipment', ...words);
    expect([words[0], code, error]).toEqual([words[0], 5, expect.stringContaining('/connections/')]);
  }
  await story.simulator.setOrganization(organizationId, { connected: true });
  await announce(machine!);
  await story.untilEvents(machine!, before + 2);
  await untilQuiet();
});

test('one record that is refused alone is set aside as no access, and read again when it is released', async () => {
  const [, , machine] = await story.equipment();
  const path = new URL(machine!.uri).pathname;
  const body = { '@type': 'Errors', errors: [{ '@type': 'Error', message: 'Access Denied' }] };
  const headers = { 'content-type': `application/vnd.${story.simulator.vendor}.axiom.v3+json` };
  await announce(machine!);
  await story.untilEvents(machine!, 1);
  await story.simulator.setFaults([{ match: { path }, status: 403, headers, body }]);
  const before = await announce(machine!);
  const entry = await until(async () => (await story.quarantine())[0], soon);
  expect(entry).toMatchObject({ reason: 'no-access' });
  const { code, error } = await run('equipment', 'get', machine!.id);
  expect([code, error]).toEqual([4, expect.stringContaining('Access Denied')]);
  expect((await story.organization(machine!.organizationId)).access).toBe('active');
  await story.simulator.setFaults([]);
  expect((await run('quarantine', 'release', entry.id)).code).toBe(0);
  await story.untilEvents(machine!, before + 1);
  expect(await story.quarantine()).toEqual([]);
});

test('when the provider asks for fewer calls the service waits and loses nothing, and a command ends with 1', async () => {
  const machines = (await story.equipment()).slice(0, 6);
  const before: number[] = [];
  for (const machine of machines) {
    before.push((await story.eventsOf(machine)).length);
    await story.simulator.changeEquipment(machine.id, { name: 'One of several' });
  }
  await story.simulator.changeSettings({ callsPerSecond: 2, retryAfterSeconds: 1 });
  // All at once: more than two seconds allow, wherever the seconds of the provider begin.
  expect((await story.post(machines.map((machine) => notificationOf(machine)))).status).toBe(204);
  await until(async () => (await story.requests()).some(({ status }) => status === 429), soon);
  for (const [index, machine] of machines.entries()) await story.untilEvents(machine, before[index]! + 1);
  expect(await story.untilRest()).toMatchObject({ quarantined: 0, lost: 0 });
  await story.simulator.changeSettings({ callsPerSecond: 0 });
  await story.simulator.setFaults([
    { match: { path: '/isg/equipment/' }, status: 429, headers: { 'retry-after': '1' }, times: 1 },
  ]);
  const { code, error } = await run('equipment', 'get', machines[0]!.id);
  expect([code, error]).toEqual([1, expect.stringContaining('fewer calls')]);
  await story.simulator.setFaults([]);
  // What follows is not to be held back by this pause.
  await until(async () => (await run('equipment', 'get', machines[0]!.id)).code === 0, soon);
});

test('a 5xx ends a command with 1 and says so; one that was never there ends with 3, one that is gone for good too', async () => {
  const [machine, , , , gone] = await story.equipment();
  await story.simulator.setFaults([{ match: { path: '/isg/equipment/' }, status: 503, times: 1 }]);
  const { code, error } = await run('equipment', 'get', machine!.id);
  expect([code, error]).toEqual([1, expect.stringContaining('503')]);
  await story.simulator.setFaults([]);

  const before = await announce(gone!);
  await story.untilEvents(gone!, before + 1);
  const path = `${story.simulator.control.replace(/\/$/, '')}/equipment/${gone!.id}`;
  expect((await fetch(`${path}?gone=true&notify=false`, { method: 'DELETE' })).ok).toBe(true);
  expect((await run('equipment', 'get', gone!.id)).code).toBe(3);
  expect((await story.post([notificationOf(gone!)])).status).toBe(204);
  const events = await story.untilEvents(gone!, before + 2);
  expect(events.at(-1)!.type).toBe('io.tramline.equipment.deleted.v1');
});

test('a created record that is not visible yet is not taken for one that is gone', async () => {
  const [machine] = await story.equipment();
  await story.simulator.changeSettings({ createdLagMs: 1_500 });
  const words = ['--organization', machine!.organizationId, '--category', 'machine', '--name', 'Seen later'];
  const { code, out } = await run('equipment', 'create', ...words);
  const { equipment } = await story.simulator.state();
  const created = equipment.find(({ content }) => content.name === 'Seen later')!;
  expect([code, out]).toEqual([
    0,
    `The provider has accepted it as ${created.id}, and does not show it yet.\n`,
  ]);
  expect((await story.post([notificationOf(created)])).status).toBe(204);
  const [event] = await story.untilEvents(created, 1);
  expect(event!.type).toBe('io.tramline.equipment.created.v1');
});

test('a refused token ends a command with 5 and says who must act', async () => {
  const [machine] = await story.equipment();
  await story.simulator.expireTokens({ refresh: true });
  const { code, error } = await run('equipment', 'get', machine!.id);
  expect([code, error]).toEqual([5, expect.stringContaining('consent again')]);
  expect(story.log('fault')).toEqual([]);
});
