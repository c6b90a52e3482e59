/**
 * Further states that need a person are noticed from what the provider really says, each told from the others: a consent
 * and the sandbox that end, an announced action whose time comes near, a clock that is off, the client key refused, other
 * actions that the provider requires.
 */
import type { AlertView } from '../../src/model/api';
import { runCommand } from '../support/command';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();

let story: Story;
afterEach(() => story.end());

async function inState(
  name: string,
  state: AlertView['state'],
  meanwhile?: () => Promise<unknown>,
): Promise<AlertView> {
  const find = async () => {
    await meanwhile?.();
    return (await story.alerts()).find((alert) => alert.name === name && alert.state === state);
  };
  const patience = meanwhile === undefined ? soon : { withinMs: 40_000, everyMs: 500 };
  return until(find, { ...patience, what: `${name} to be ${state}` });
}

test('a consent, a sandbox and an announced action that come to their end are three alerts with their times', async () => {
  story = await beginStory({ delivers: false });
  const tokens = JSON.parse(story.settings().PROVIDER_TOKENS as string) as Record<string, unknown>[];
  await story.service.stop();
  const ending = tokens.map(({ refresh: _refresh, ...token }) => ({
    ...token,
    connection: `${token.connection}-ending`,
    expiresAt: inDays(10),
  }));
  const settings = {
    PROVIDER_TOKENS: JSON.stringify(ending),
    PROVIDER_PLAN: 'sandbox',
    PROVIDER_SANDBOX_SINCE: inDays(-490).slice(0, 10),
  };
  await story.serve({ settings });
  const token = await inState('TramlineTokenExpiring', 'firing');
  expect(token).toMatchObject({ severity: 'warning', annotations: { consent_ends: expect.any(String) } });
  const since = new Date(settings.PROVIDER_SANDBOX_SINCE);
  const end = new Date(since).setUTCMonth(since.getUTCMonth() + 18);
  expect(await inState('TramlineSandboxNear', 'firing')).toMatchObject({
    severity: 'warning',
    labels: { limit: 'months' },
    annotations: { until_when: new Date(end).toISOString().replace('.000Z', 'Z') },
  });

  const [machine] = await story.equipment();
  const { organizationId } = machine!;
  const metadata = [
    { key: 'orgId', value: organizationId },
    { key: 'dueTime', value: inDays(1) },
  ];
  const announced = {
    eventTypeId: 'requiredCustomerAction',
    targetResource: `/organizations/${organizationId}`,
  };
  await story.post([notificationOf(machine!, { ...announced, metadata })]);
  expect(await inState('TramlineRequiredActionDue', 'firing')).toMatchObject({
    severity: 'critical',
    labels: { organization_id: organizationId },
  });
  // A connection that is missing is not what was announced: both stand, each with its own time.
  await story.simulator.setOrganization(organizationId, { connected: false });
  await story.ask(`/api/organizations/${organizationId}/probe`, 'POST');
  await inState('TramlineOrganizationNotConnected', 'firing');
  const stays = async () => (await inState('TramlineRequiredActionDue', 'firing')).annotations;
  const words = 'blocked for something else';
  await until(async () => (await stays()).description?.includes(words), { ...soon, what: words });
  expect(await stays()).not.toHaveProperty('closes_at');
  expect(await story.organization(organizationId)).toMatchObject({ access: 'not-connected' });
  await story.simulator.setOrganization(organizationId, { connected: true });
  await story.ask(`/api/organizations/${organizationId}/probe`, 'POST');
  await inState('TramlineOrganizationNotConnected', 'resolved');
  // The time was taken for a block, which is another alert in its place.
  await story.simulator.setOrganization(organizationId, { termsAccepted: false });
  await story.ask(`/api/organizations/${organizationId}/probe`, 'POST');
  await inState('TramlineTermsRequired', 'firing');
  await inState('TramlineRequiredActionDue', 'resolved');
  // Whoever has accepted is not asked for it again.
  await story.simulator.setOrganization(organizationId, { termsAccepted: true });
  await story.ask(`/api/organizations/${organizationId}/probe`, 'POST');
  await inState('TramlineTermsRequired', 'resolved');
  const due = (await story.alerts()).filter(({ name }) => name === 'TramlineRequiredActionDue');
  expect(due.map(({ state }) => state)).toEqual(['resolved']);
});

test('an OAuth 1 token that was imported before is announced when its end is named, again at seven days, until there is another', async () => {
  story = await beginStory({
    delivers: false,
    flags: { auth: 'oauth1' },
    settings: { PROVIDER_AUTH: 'oauth1' },
  });
  const [named] = JSON.parse(story.settings().PROVIDER_TOKENS as string) as Record<string, unknown>[];
  const { expiresAt: _none, ...token } = named!;
  const servedWith = async (...more: Record<string, unknown>[]) => {
    await story.service.stop();
    const settings = { PROVIDER_TOKENS: JSON.stringify(more.map((one) => ({ ...token, ...one }))) };
    await story.serve({ settings });
  };
  await servedWith({ connection: 'imported' });
  await servedWith({ connection: 'imported', expiresAt: inDays(20) });
  const end = { consent_ends: expect.any(String) };
  expect(await inState('TramlineTokenExpiring', 'firing')).toMatchObject({
    severity: 'warning',
    labels: { connection_id: 'imported' },
    annotations: end,
  });
  await servedWith({ connection: 'imported', expiresAt: inDays(5) });
  await until(
    async () =>
      (await story.alerts()).find(({ name, severity, state }) => {
        return name === 'TramlineTokenExpiring' && severity === 'critical' && state === 'firing';
      }),
    { ...soon, what: 'the same to be critical' },
  );
  await servedWith({ connection: 'imported', expiresAt: inDays(90) });
  await inState('TramlineTokenExpiring', 'resolved');
});

test('the place where a customer acts is told everywhere without an e-mail address in it, and still leads there', async () => {
  story = await beginStory({ delivers: false });
  const [machine] = await story.equipment();
  const page = 'https://provider.example/terms?org=1';
  const location = `${page}&login_hint=jo.doe%40farm.example#jo.doe@farm.example`;
  const headers = { [`X-${story.settings().PROVIDER_VENDOR}-Terms-Location`]: location };
  await story.simulator.setFaults([{ match: { method: 'GET' }, times: 100, headers }]);
  await story.simulator.setOrganization(machine!.organizationId, { termsAccepted: false });
  await story.post([notificationOf(machine!)]);
  const alert = await inState('TramlineTermsRequired', 'firing');
  expect(alert.annotations).toMatchObject({ action_url: page });
  const command = ['organizations', 'get', machine!.organizationId, '--json'];
  const { out } = await runCommand(command, { TRAMLINE_URL: story.service.operationsUrl });
  expect(JSON.parse(out)).toMatchObject({ actionUrl: page, history: [{ actionUrl: page }] });
  const [event] = await story.untilAccessEvents(machine!.organizationId, 1);
  expect(event).toMatchObject({
    type: 'io.tramline.organization-access.blocked.v1',
    data: { actionUrl: page },
  });
  const told = [alert, out, event, await story.alerts(), story.service.lines()];
  for (const text of told) expect(JSON.stringify(text)).not.toMatch(/jo\.doe/);
});

test('a clock that is off and a missing scope are alerts of the platform, each of which ends when it is mended', async () => {
  story = await beginStory({ delivers: false });
  const machines = await story.equipment();
  const path = '/equipment/';
  // Nothing is signed here: only a clock that gives up what is kept for days is a page.
  const wrong = { Date: new Date(Date.now() - 2 * 86_400_000).toUTCString() };
  await story.simulator.setFaults([{ match: { method: 'GET' }, times: 1000, headers: wrong }]);
  // Answers have to say so for ten seconds.
  const read = () => story.post([notificationOf(machines[0]!)]);
  expect(await inState('TramlineClockOff', 'firing', read)).toMatchObject({ severity: 'critical' });
  await story.simulator.setFaults([]);
  await story.post([notificationOf(machines[1]!)]);
  await inState('TramlineClockOff', 'resolved');

  const body = { message: 'The client lacks a scope.' };
  await story.simulator.setFaults([{ match: { method: 'GET', path }, times: 100, status: 403, body }]);
  await story.post(machines.slice(2, 4).map((machine) => notificationOf(machine)));
  const refused = await inState('TramlineClientRefused', 'firing');
  expect(refused.annotations).toMatchObject({ owner: 'platform', kept_until: expect.any(String) });
  expect(await story.ledger()).toMatchObject({ quarantined: 0, parked: 0, lost: 0 });
  // It ends when what was refused is read.
  await story.simulator.setFaults([]);
  await inState('TramlineClientRefused', 'resolved');
  // The rules of the budgets are told what paged, and for how long it is over.
  const clock = { name: 'TramlineClockOff' };
  expect(await story.metric('tramline_alert_over_age_seconds', clock)).toBeGreaterThan(0);
});
