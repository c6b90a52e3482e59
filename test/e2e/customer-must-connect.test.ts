/**
 * The two other ways in which an organization cannot be read: its customer has not connected it, or the provider refuses
 * the consent. Each is a state with one alert, parks the work, tells consumers, and ends by itself once someone acted.
 */
import { createHash } from 'node:crypto';
import type { StructuredEvent } from '../../src/model/api';
import { schemaFaults } from '../support/event-schemas';
import { expectExitsToAgree } from '../support/five-exits';
import { beginStory, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
beforeEach(async () => {
  story = await beginStory({ flags: { organizations: 3 } });
});
afterEach(() => story.end());

const change = (machine: Resource, name: string): Promise<unknown> =>
  story.simulator.changeEquipment(machine.id, { name });

const untilAccess = (organizationId: string, access: string): Promise<boolean> =>
  until(async () => (await story.organization(organizationId)).access === access, soon);

async function accessEvents(organizationId: string): Promise<StructuredEvent[]> {
  const events = await story.events();
  return events.filter(({ subject }) => subject.startsWith(`${organizationId}/organization-access/`));
}

/** What the log, as the sink of alerts, was told. */
const pages = () => story.log('alert').map(({ name, state, labels }) => ({ name, state, labels }));

test('an organization that is not connected is parked under one alert, and goes on when it is connected', async () => {
  const [machine, later] = await story.equipment();
  const { organizationId } = machine!;
  await change(machine!, 'Before');
  await story.untilEvents(machine!, 1);

  await story.simulator.setOrganization(organizationId, { connected: false });
  await change(machine!, 'While disconnected');
  await change(later!, 'While disconnected');
  await untilAccess(organizationId, 'not-connected');
  await until(async () => (await story.organization(organizationId)).parked === 2, soon);
  const { actionUrl, reason } = await story.organization(organizationId);
  expect({ actionUrl, reason }).toEqual({
    actionUrl: expect.stringContaining('/portal/connections/'),
    reason: 'not-connected',
  });
  expect(await story.ledger()).toMatchObject({ published: 1, parked: 2, waiting: 0, lost: 0 });
  await until(() => pages().length > 0, soon);
  const [alert, ...more] = await story.alerts();
  expect(more).toEqual([]);
  expect(alert).toMatchObject({ name: 'TramlineOrganizationNotConnected', state: 'firing' });
  expect(alert!.annotations.action_url).toBe(actionUrl);

  await story.simulator.setOrganization(organizationId, { connected: true });
  await untilAccess(organizationId, 'active');
  expect(await story.untilRest()).toMatchObject({ accepted: 3, published: 3, parked: 0, lost: 0 });
  await until(() => pages().length > 1, soon);
  const labels = { organization_id: organizationId };
  expect(pages()).toEqual([
    { name: 'TramlineOrganizationNotConnected', state: 'firing', labels },
    { name: 'TramlineOrganizationNotConnected', state: 'resolved', labels },
  ]);
  const events = await accessEvents(organizationId);
  expect(events.map(({ data }) => (data as { access: string }).access)).toEqual(['not-connected', 'active']);
  expect(events.flatMap(({ data }) => schemaFaults('organization-access', data))).toEqual([]);
  await expectExitsToAgree(story);
});

test('F-9: a refused consent parks every organization it was for under one alert, until a new token is given', async () => {
  const { organizations } = await story.simulator.state();
  const [connected, stranger] = [organizations.slice(0, 2), organizations[2]!];
  const [machine] = await story.equipment();
  const [other] = await story.equipment(1);
  await change(machine!, 'Before');
  await story.untilEvents(machine!, 1);
  await story.untilRest();
  // One of them was never connected, which concerns nobody.
  await story.simulator.setOrganization(stranger.id, { connected: false });
  await story.ask(`/api/organizations/${stranger.id}/probe`, 'POST');
  await untilAccess(stranger.id, 'not-connected');

  await story.simulator.expireTokens({ refresh: true });
  await change(machine!, 'While refused');
  for (const { id } of organizations) await untilAccess(id, 'reauthorize');
  await change(other!, 'While refused');
  await until(async () => (await story.ledger()).parked === 2, soon);
  // The read, and the probe that was due with it: nothing is read by what was refused, which is only shown again at its times.
  const refused = (await story.requests()).filter(
    ({ status, url }) => status === 401 && !url.endsWith('/platform/'),
  );
  expect(refused.length).toBeLessThanOrEqual(2);
  await until(() => pages().length > 0, soon);
  const [alert, ...more] = await story.alerts();
  expect(more).toEqual([]);
  expect(alert).toMatchObject({ name: 'TramlineReauthorize', state: 'firing' });
  for (const { name } of organizations) expect(alert!.annotations.description).toContain(name);

  // The user consents anew, and another token of the same connection is named.
  await story.service.stop();
  const settings = await consentAnew();
  await story.serve({ settings });
  for (const { id } of connected) await untilAccess(id, 'active');
  // The consent holds again, and it is shown the link as before: nobody asks its customer for another one.
  await untilAccess(stranger.id, 'not-connected');
  expect(await story.untilRest()).toMatchObject({ accepted: 3, published: 3, parked: 0, lost: 0 });
  await until(async () => (await story.alerts()).every(({ state }) => state === 'resolved'), soon);
  const told = (await accessEvents(stranger.id)).map(({ data }) => (data as { access: string }).access);
  expect(told).toEqual(['not-connected', 'reauthorize', 'not-connected']);
  for (const { id } of connected) {
    const events = await accessEvents(id);
    expect(events.map(({ type, data }) => [type, (data as { access: string }).access])).toEqual([
      ['io.tramline.organization-access.blocked.v1', 'reauthorize'],
      ['io.tramline.organization-access.unblocked.v1', 'active'],
    ]);
  }
  expect(await story.eventsOf(machine!)).toHaveLength(2);
  expect(await story.eventsOf(other!)).toHaveLength(1);
});

/** The settings with the tokens of a new consent, as a person gives it on the provider's page. */
async function consentAnew(): Promise<Record<string, string>> {
  const { PROVIDER_ISSUER, PROVIDER_CLIENT_KEY, PROVIDER_CLIENT_SECRET, PROVIDER_TOKENS, PROVIDER_SCOPES } =
    story.simulator.environment as Record<string, string>;
  const [named] = JSON.parse(PROVIDER_TOKENS!) as { user: string }[];
  const verifier = 'a-verifier-of-at-least-forty-three-characters-in-length';
  const redirectUri = 'http://127.0.0.1/done';
  const address = new URL(`${PROVIDER_ISSUER}/v1/authorize`);
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: PROVIDER_CLIENT_KEY!,
    redirect_uri: redirectUri,
    state: 'anything',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: PROVIDER_SCOPES!,
  }).toString();
  const page = await (await fetch(address)).text();
  const request = /name="request" value="([^"]+)"/.exec(page)![1]!;
  const answered = await fetch(`${PROVIDER_ISSUER}/v1/authorize`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ request, user: named!.user }),
  });
  const code = new URL(answered.headers.get('location')!).searchParams.get('code')!;
  const response = await fetch(`${PROVIDER_ISSUER}/v1/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      client_id: PROVIDER_CLIENT_KEY!,
      client_secret: PROVIDER_CLIENT_SECRET!,
    }),
  });
  const { access_token: token, refresh_token: refresh } = (await response.json()) as Record<string, string>;
  return { PROVIDER_TOKENS: JSON.stringify([{ ...named, token, refresh }]) };
}
