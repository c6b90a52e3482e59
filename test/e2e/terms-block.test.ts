/**
 * Terms block an organization: its work is parked, on-call is paged once with everything that is needed, the other
 * organizations go on; the customer accepts, the work drains in order, and the page ends. Told through a real
 * Alertmanager, by what reaches the person on call.
 */
import {
  type Alertmanager,
  alertmanagerAvailable,
  type NotificationRecorder,
  recordNotifications,
  startAlertmanager,
} from '../support/alertmanager';
import { schemaFaults } from '../support/event-schemas';
import { expectExitsToAgree } from '../support/five-exits';
import { describeWithNeighbour } from '../support/neighbour';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

describeWithNeighbour('Alertmanager', alertmanagerAvailable(), 'terms block an organization', () => {
  const latencyMs = 20;
  let story: Story;
  let alertmanager: Alertmanager;
  let onCall: NotificationRecorder;

  beforeEach(async () => {
    onCall = await recordNotifications();
    alertmanager = await startAlertmanager({ webhookUrl: onCall.url });
    story = await beginStory({
      delivers: false,
      flags: { equipment: 9, 'latency-ms': latencyMs },
      settings: { ALERTMANAGER_URLS: alertmanager.url },
    });
  });
  afterEach(async () => {
    await story.end();
    await alertmanager.stop();
    await onCall.stop();
  });

  const pages = (status: 'firing' | 'resolved') =>
    onCall.notifications.flatMap(({ alerts }) => alerts.filter((alert) => alert.status === status));

  /** The text of the alert as Alertmanager has it now. */
  async function shown(): Promise<string> {
    const response = await fetch(`${alertmanager.url}/api/v2/alerts`);
    const [alert] = (await response.json()) as { annotations: { description: string } }[];
    return alert?.annotations.description ?? '';
  }

  async function rename(machine: Resource): Promise<void> {
    await story.simulator.changeEquipment(machine.id, { name: `Machine ${machine.id}` });
  }

  /** Blocked or not, it is accepted. */
  async function announce(machine: Resource): Promise<void> {
    expect((await story.post([notificationOf(machine)])).status).toBe(204);
  }

  test('its work is parked, one page tells who must act and where, and after the acceptance it drains', async () => {
    const [farm, neighbour] = (await story.simulator.state()).organizations;
    const machines = (await story.equipment()).slice(0, 7);
    const [other] = await story.equipment(1);
    await story.simulator.setOrganization(farm!.id, { termsAccepted: false });
    for (const machine of machines) await rename(machine);
    // One is refused; the others are announced one after the other while nothing of the organization is read.
    await announce(machines[0]!);
    await until(async () => (await story.organization(farm!.id)).access === 'terms-required', soon);
    for (const machine of machines.slice(1)) await announce(machine);

    // Stored state: parked, with what a person must know.
    await until(async () => (await story.organization(farm!.id)).parked === 7, soon);
    const termsUrl = `${new URL(story.simulator.catalog).origin}/portal/organizations/${farm!.id}/terms`;
    const blocked = await story.organization(farm!.id);
    expect(blocked).toMatchObject({ name: farm!.name, access: 'terms-required', reason: 'terms' });
    expect(blocked.actionUrl).toBe(termsUrl);
    expect(await story.tasks('parked')).toHaveLength(7);
    expect(await story.ledger()).toMatchObject({ parked: 7, waiting: 0, published: 0, lost: 0 });
    expect(await story.metric('tramline_organizations', { access: 'terms-required' })).toBe(1);

    // One page.
    await until(() => pages('firing').length > 0, soon);
    expect(pages('firing')).toHaveLength(1);
    const [page] = pages('firing');
    expect(page!.labels).toMatchObject({
      alertname: 'TramlineTermsRequired',
      organization_id: farm!.id,
      owner: 'customer-success',
    });
    expect(Object.values(page!.labels)).not.toContain(farm!.name);
    expect(page!.annotations.action_url).toBe(termsUrl);
    expect(page!.annotations.first_step).toContain(`tramline organizations probe ${farm!.id}`);
    const { description } = page!.annotations;
    expect(description).toContain(`${farm!.name} (organization ${farm!.id}) is blocked since`);
    expect(description).toContain(`since ${blocked.since!.slice(0, 19)}Z`);
    // As many as waited when it was told; what Alertmanager shows of it goes on with what waits.
    expect(description).toMatch(/\b[1-7] tasks? waits? and (is|are) kept/);
    await until(async () => (await shown()).includes('7 tasks wait and are kept'), soon);
    expect(pages('firing')).toHaveLength(1);
    expect(new Date(page!.startsAt).toISOString()).toBe(blocked.since);

    // An event for consumers.
    const [event, ...more] = await story.untilAccessEvents(farm!.id, 1);
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      type: 'io.tramline.organization-access.blocked.v1',
      topic: 'tramline.organization-access.v1',
      data: { access: 'terms-required', previousAccess: 'active', cause: 'terms', actionUrl: termsUrl },
    });
    expect(schemaFaults('organization-access', event!.data)).toEqual([]);

    // Others go on, and what is parked is not tried: only the probe asks again, for what was refused.
    await rename(other!);
    await announce(other!);
    await story.untilEvents(other!, 1);
    expect((await story.organization(neighbour!.id)).access).toBe('active');
    const asked = (): Promise<number[]> =>
      Promise.all(machines.slice(1).map(async (machine) => (await story.readsOf(machine)).length));
    const probes = async (): Promise<number> => (await story.readsOf(machines[0]!)).length;
    const [before, probed] = [await asked(), await probes()];
    await until(async () => (await probes()) >= probed + 2, soon);
    expect(await asked()).toEqual(before);

    // Accepted.
    await story.simulator.setOrganization(farm!.id, { termsAccepted: true });
    await until(async () => (await story.organization(farm!.id)).access === 'active', soon);
    const ledger = await story.untilRest();
    expect(ledger).toMatchObject({ accepted: 8, published: 8, parked: 0, lost: 0 });
    expect(await story.organization(farm!.id)).toMatchObject({ access: 'active', parked: 0, since: null });

    // Oldest due first, and none of the next before one of the last is answered.
    const drained = (await story.requests())
      .filter(({ status }) => status === 200)
      .map(({ path, at }) => ({
        index: machines.findIndex(({ uri }) => new URL(uri).pathname === path),
        atMs: Date.parse(at),
      }))
      .filter(({ index }) => index >= 0);
    // The probe that was answered came first.
    expect(drained.shift()).toMatchObject({ index: 0 });
    const windows = [drained.slice(0, 1), drained.slice(1, 3), drained.slice(3)];
    expect(windows.map((window) => window.map(({ index }) => index).toSorted())).toEqual([
      [0],
      [1, 2],
      [3, 4, 5, 6],
    ]);
    expect(windows[1]![0]!.atMs - windows[0]![0]!.atMs).toBeGreaterThanOrEqual(latencyMs);
    expect(windows[2]![0]!.atMs - windows[1]![0]!.atMs).toBeGreaterThanOrEqual(latencyMs);
    const events = await story.events();
    const [, unblocked, ...further] = await story.untilAccessEvents(farm!.id, 2);
    expect(further).toEqual([]);
    expect(unblocked).toMatchObject({
      type: 'io.tramline.organization-access.unblocked.v1',
      sequence: '00000000000000000002',
      data: { access: 'active', previousAccess: 'terms-required', cause: null },
    });
    expect(schemaFaults('organization-access', unblocked!.data)).toEqual([]);
    for (const machine of machines) {
      const own = events.filter(({ subject }) => subject === `${farm!.id}/equipment/${machine.id}`);
      expect(own.map(({ data }) => (data as { name: string }).name)).toEqual([`Machine ${machine.id}`]);
      expect(own[0]!.position).toBeGreaterThan(unblocked!.position);
    }

    // Resolved.
    await until(() => pages('resolved').length > 0, soon);
    expect(pages('resolved')[0]!.labels).toEqual(page!.labels);
    expect(pages('firing')).toHaveLength(1);
    expect(await story.alerts()).toMatchObject([{ name: 'TramlineTermsRequired', state: 'resolved' }]);
    // The log says so too, though the page went elsewhere: once when it began, once when it ended.
    await until(() => story.log('alert').length === 2, soon);
    expect(story.log('alert')).toMatchObject([
      { name: 'TramlineTermsRequired', state: 'firing', labels: { organization_id: farm!.id } },
      { name: 'TramlineTermsRequired', state: 'resolved', labels: { organization_id: farm!.id } },
    ]);
    expect(story.log('organization-access')).toMatchObject([
      { from: 'active', to: 'terms-required', cause: 'terms', by: 'probe' },
      { from: 'terms-required', to: 'active', by: 'probe' },
    ]);
    await expectExitsToAgree(story);
  });
});
