/**
 * News that comes late blocks nobody: a 403 that was on its way while the customer accepted, and a Required Customer
 * Action that is delivered after the fact, only make the provider be asked again; its answer decides.
 */
import { runCommand } from '../support/command';
import { expectExitsToAgree } from '../support/five-exits';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
beforeEach(async () => {
  story = await beginStory();
});
afterEach(() => story.end());

const accessChanges = async (): Promise<string[]> =>
  (await story.events())
    .filter(({ type }) => type.startsWith('io.tramline.organization-access'))
    .map(({ type }) => type);

test('a 403 that is answered after the acceptance blocks nobody and pages nobody again', async () => {
  const [slow, quick] = await story.equipment();
  const { organizationId } = slow!;
  const vendor = story.simulator.vendor;
  // The slow read is refused by the terms of before, and hears of it only when they are accepted.
  await story.simulator.setFaults([
    {
      match: { path: new URL(slow!.uri).pathname },
      times: 1,
      held: true,
      status: 403,
      headers: { [`X-${vendor}-Terms-Location`]: 'https://provider.example/terms' },
    },
  ]);
  await story.simulator.changeEquipment(slow!.id, { name: 'Slow' });
  await until(async () => (await story.readsOf(slow!)).length === 1, soon);
  await story.simulator.setOrganization(organizationId, { termsAccepted: false });
  await story.simulator.changeEquipment(quick!.id, { name: 'Quick' });
  await until(async () => (await story.organization(organizationId)).access === 'terms-required', soon);
  await story.simulator.setOrganization(organizationId, { termsAccepted: true });
  await until(async () => (await story.organization(organizationId)).access === 'active', soon);
  expect((await story.readsOf(slow!))[0]!.status).toBeUndefined();

  await story.simulator.setFaults([]);
  await story.untilEvents(slow!, 1);
  expect((await story.readsOf(slow!))[0]!.status).toBe(403);
  expect(await story.untilRest()).toMatchObject({ accepted: 2, published: 2, lost: 0 });
  expect(await accessChanges()).toEqual([
    'io.tramline.organization-access.blocked.v1',
    'io.tramline.organization-access.unblocked.v1',
  ]);
  expect((await story.organization(organizationId)).access).toBe('active');
  await until(async () => (await story.alerts()).every(({ state }) => state === 'resolved'), soon);
  expect((await story.alerts()).length).toBeLessThanOrEqual(1);
  await expectExitsToAgree(story);
});

test('a Required Customer Action that comes late makes the provider be asked, and blocks nobody', async () => {
  const [machine] = await story.equipment();
  const { organizationId } = machine!;
  await story.simulator.changeEquipment(machine!.id, { name: 'Fine' });
  await story.untilEvents(machine!, 1);
  const asked = (await story.simulator.counts()).requests;

  await story.simulator.setOrganization(organizationId, { notify: true });
  await until(async () => (await story.ledger()).acted === 1, soon);
  await until(async () => (await story.simulator.counts()).requests > asked, soon);
  await story.simulator.changeEquipment(machine!.id, { name: 'Still fine' });
  await story.untilEvents(machine!, 2);
  expect(await story.untilRest()).toMatchObject({ accepted: 3, published: 2, acted: 1, lost: 0 });
  expect(await accessChanges()).toEqual([]);
  expect(await story.alerts()).toEqual([]);
  expect(await story.organization(organizationId)).toMatchObject({ access: 'active', reason: null });
  await expectExitsToAgree(story);
});

test('a Required Customer Action that is true blocks before any read was refused', async () => {
  const [machine] = await story.equipment();
  const { organizationId } = machine!;
  await story.simulator.changeEquipment(machine!.id, { name: 'Fine' });
  await story.untilEvents(machine!, 1);
  await story.simulator.setOrganization(organizationId, { termsAccepted: false, notify: true });
  await until(async () => (await story.organization(organizationId)).access === 'terms-required', soon);
  // The read of the change, and the probe, which reads what is known of the organization: no task was refused.
  const statuses = (await story.readsOf(machine!)).map(({ status }) => status);
  expect(statuses.slice(0, 2)).toEqual([200, 403]);
  await story.untilAccessEvents(organizationId, 1);
  expect(await accessChanges()).toEqual(['io.tramline.organization-access.blocked.v1']);
});

test('a delivery that names another organization lays a refusal on nobody who is innocent', async () => {
  const [innocent, neighbour] = await story.equipment(0);
  const [guilty] = await story.equipment(1);
  await story.simulator.setOrganization(guilty!.organizationId, { termsAccepted: false });
  await story.post([notificationOf({ uri: guilty!.uri, organizationId: innocent!.organizationId })]);
  // The refusal names whom it is about, and that one is asked.
  const guiltyAccess = async () => (await story.organization(guilty!.organizationId)).access;
  await until(async () => (await guiltyAccess()) === 'terms-required', soon);
  await story.post([notificationOf(neighbour!)]);
  await story.untilEvents(neighbour!, 1);
  expect(await story.organization(innocent!.organizationId)).toMatchObject({ access: 'active', history: [] });
  await story.untilAccessEvents(guilty!.organizationId, 1);
  expect(await accessChanges()).toEqual(['io.tramline.organization-access.blocked.v1']);
  await until(async () => (await story.alerts()).length > 0, soon);
  expect(await story.alerts()).toMatchObject([{ labels: { organization_id: guilty!.organizationId } }]);

  await story.post([notificationOf(guilty!)]);
  await story.simulator.setOrganization(guilty!.organizationId, { termsAccepted: true });
  await story.untilEvents(guilty!, 1);
  expect(await story.untilRest()).toMatchObject({ accepted: 3, published: 2, merged: 1, lost: 0 });
});

test('a refusal that itself names whose the resource is blocks before anything was read, whatever lists are shown', async () => {
  const machines = await story.equipment();
  const { organizationId } = machines[0]!;
  const place = `https://provider.example/organizations/${organizationId}/terms`;
  const headers = { [`X-${story.simulator.vendor}-Terms-Location`]: place };
  await story.simulator.setFaults(
    machines.map(({ uri }) => ({ match: { path: new URL(uri).pathname }, status: 403, headers })),
  );
  await story.post(machines.map((machine) => notificationOf(machine)));
  await until(async () => (await story.organization(organizationId)).access === 'terms-required', soon);
  await until(async () => (await story.ledger()).parked === machines.length, soon);
  await until(async () => (await story.alerts()).length > 0, soon);
  expect(await story.alerts()).toMatchObject([
    {
      name: 'TramlineTermsRequired',
      labels: { organization_id: organizationId },
      annotations: { action_url: place },
    },
  ]);

  await story.simulator.setFaults([]);
  for (const machine of machines) await story.untilEvents(machine, 1);
  const accepted = machines.length;
  expect(await story.untilRest()).toMatchObject({ accepted, published: accepted, parked: 0, lost: 0 });
  await until(async () => (await story.alerts()).every(({ state }) => state === 'resolved'), soon);
  expect((await story.organization(organizationId)).access).toBe('active');
});

test('a probe on demand says what the provider says now, not what was known before', async () => {
  const [machine] = await story.equipment();
  const { organizationId } = machine!;
  await story.simulator.setOrganization(organizationId, { termsAccepted: false });
  const environment = { TRAMLINE_URL: story.service.operationsUrl };
  const { code, out } = await runCommand(['organizations', 'probe', organizationId], environment);
  expect(out).toMatch(/access +terms-required/);
  expect(code).toBe(5);
});
