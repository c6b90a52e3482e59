/**
 * However many calls a probe takes, those of all probes together stay within the budget of the minute: one that finds an
 * organization not connected is refused first, and then looks at the organization.
 */
import type { OrganizationView } from '../../src/model/organization';
import { beginStory, type Story } from '../support/story';
import { until } from '../support/until';

const organizations = 120;
const perMinute = 600;
const watchedMs = 10_000;
/** At once after a rest, and then one after the other. */
const callsMax = perMinute / 20 + (perMinute * watchedMs) / 60_000;

let story: Story;
beforeEach(async () => {
  const flags = { organizations, equipment: 1, 'field-operations': 0 };
  story = await beginStory({ flags, settings: { SYNC_INTERVAL_SECONDS: '0' } });
});
afterEach(() => story.end());

/** Every organization is blocked, after something of it was read. */
async function blockAll(
  change: { connected: false } | { termsAccepted: false },
  access: string,
): Promise<void> {
  const { simulator } = story;
  const { equipment } = await simulator.state();
  const announce = async (name: string) => {
    for (const { id } of equipment) await simulator.changeEquipment(id, { name });
  };
  const reached = async (wanted: string) =>
    (await story.ask<OrganizationView[]>('/api/organizations?limit=1000')).filter(
      (one) => one.access === wanted,
    ).length === organizations;
  await announce('Before');
  await until(async () => (await story.ledger()).published === organizations, {
    withinMs: 60_000,
    what: 'all to be read',
  });
  for (const { organizationId } of equipment) await simulator.setOrganization(organizationId, change);
  await announce('After');
  await until(() => reached(access), { withinMs: 60_000, what: `all to be ${access}` });
}

test.each([
  ['terms-required', { termsAccepted: false }, 1],
  ['not-connected', { connected: false }, 2],
] as const)(
  'of organizations that are %s no minute sees more calls than the budget has',
  async (access, change, callsOfEach) => {
    await blockAll(change, access);
    await story.service.stop();
    await story.serve({ settings: { PROBES_PER_MINUTE: String(perMinute) } });
    const beganMs = Date.now();
    const probes = async () =>
      (await story.requests()).filter(
        ({ path, at }) => /\/(organizations|equipment)\//.test(path) && Date.parse(at) >= beganMs,
      );
    await until(() => Date.now() - beganMs >= watchedMs, { withinMs: 2 * watchedMs });
    const asked = (await probes()).filter(({ at }) => Date.parse(at) < beganMs + watchedMs);
    expect(asked.length).toBeLessThanOrEqual(callsMax);
    expect(asked.length).toBeGreaterThan(callsMax / 2);
    const ofOrganizations = asked.filter(({ path }) => /\/organizations\/[^/]+$/.test(path));
    expect(ofOrganizations.length > asked.length / 4).toBe(callsOfEach === 2);
  },
);
