/**
 * The page of a blocked organization and the processes behind it: whatever is killed or stands still meanwhile, on-call has
 * one incident for as long as the provider blocks, as far as anybody can know, and it ends when the provider was asked.
 * Told through real processes, by what reaches the person on call.
 */
import { describeWithNeighbour } from '../support/neighbour';
import { type PagerDutyServer, startPagerDuty } from '../support/pager-server';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { beginStory, notificationOf, Story, type StoryOptions, soon } from '../support/story';
import { until } from '../support/until';

let pager: PagerDutyServer;
const stories: Story[] = [];

beforeEach(async () => {
  pager = await startPagerDuty('a-routing-key');
});
afterEach(async () => {
  for (const story of stories.splice(0)) await story.end();
  await pager.stop();
});

const paged = () => ({ PAGERDUTY_ROUTING_KEY: 'a-routing-key', PAGERDUTY_URL: pager.url });
const quiet = (settings: Record<string, string> = {}): StoryOptions => ({
  delivers: false,
  settings: { ...paged(), SYNC_INTERVAL_SECONDS: '0', ...settings },
});

/**
 * Of the page that was opened: what was posted for its incident, in order, the same again once: who was killed before the
 * answer was kept posts it again, and it is the same incident. Ends of what nobody was paged for are others.
 */
function postsOfPage(): string[] {
  const [key] = pager.incidents.keys();
  const posts = pager.events.filter((event) => event.dedup_key === key);
  return posts
    .map(({ event_action: action }) => String(action))
    .filter((action, place, all) => action !== all[place - 1]);
}

/** Every page that was opened, of whatever, and how often. */
const pages = () => [...pager.incidents].map(([key, incident]) => [key, incident.pages]);
const oneOf = (organizationId: string) => [
  [`tramline TramlineTermsRequired{organization_id="${organizationId}"}`, 1],
];

/** Terms block the first organization, and the person on call is paged. */
async function block(story: Story): Promise<string> {
  const [machine] = await story.equipment();
  const { organizationId } = machine!;
  await story.simulator.setOrganization(organizationId, { termsAccepted: false });
  await story.simulator.changeEquipment(machine!.id, { name: 'Behind terms' });
  expect((await story.post([notificationOf(machine!)])).status).toBe(204);
  await until(() => pager.incidents.size === 1, { ...soon, what: 'the page' });
  expect(postsOfPage()).toEqual(['trigger']);
  return organizationId;
}

async function untilEnded(): Promise<void> {
  const isOpen = () => [...pager.incidents.values()].some(({ open }) => open);
  await until(() => !isOpen(), { ...soon, what: 'the end of the page' });
}

test('terms that are accepted while the service is dead end the page when a probe was answered, and not before', async () => {
  const story = await beginStory(quiet());
  stories.push(story);
  const organizationId = await block(story);
  await story.service.kill();
  await story.simulator.setOrganization(organizationId, { termsAccepted: true });
  const ofFarm = new RegExp(`/organizations/${organizationId}\\b|/equipment/`);
  const paths = [`/organizations/${organizationId}`, '/equipment/'];
  await story.simulator.setFaults(paths.map((path) => ({ match: { path }, status: 503 })));
  await story.serve();
  // Nobody can know yet: probes are made, and answered with nothing.
  const probes = async () => (await story.requestsOfLife()).filter(({ path }) => ofFarm.test(path));
  await until(async () => (await probes()).length >= 3, { ...soon, what: 'probes without an answer' });
  expect(postsOfPage()).toEqual(['trigger']);
  expect((await story.organization(organizationId)).access).toBe('terms-required');
  await story.simulator.setFaults([]);
  await untilEnded();
  const { access, history = [] } = await story.organization(organizationId);
  expect([access, history.at(-1)]).toEqual([
    'active',
    expect.objectContaining({ by: 'probe', to: 'active' }),
  ]);
  const [first] = await probes();
  const answered = (await probes()).find(({ status }) => status === 200);
  expect(Date.parse(history.at(-1)!.at)).toBeGreaterThanOrEqual(Date.parse(answered!.at));
  expect(Date.parse(answered!.at)).toBeGreaterThan(Date.parse(first!.at));
  expect([postsOfPage(), pages()]).toEqual([['trigger', 'resolve'], oneOf(organizationId)]);
  expect((await story.alerts()).filter(({ name }) => name === 'TramlineTermsRequired')).toMatchObject([
    { state: 'resolved' },
  ]);
});

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'two workers on one store', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  test('a leader that stands still beyond its lease and comes back neither ends the page nor opens another', async () => {
    const simulator = await startSimulator({ organizations: 2, equipment: 4, 'heartbeat-ms': 0 });
    const database = await server.createDatabase();
    const shared = quiet({
      DATABASE_URL: server.url(database),
      LEASE_SECONDS: '5',
      PROVIDER_TIMEOUT_MS: '2000',
    });
    const [first, second] = [0, 1].map(() => new Story(simulator, shared, temporaryFolder()));
    stories.push(first!, second!);
    await first!.serve();
    await first!.untilLearned();
    const leader = async () =>
      (await server.query(`SELECT holder FROM leases WHERE name = 'alerts'`, database))[0];
    const before = await until(leader, { ...soon, what: 'the first to lead' });
    await second!.serve();
    await second!.untilLearned();
    const organizationId = await block(second!);
    expect(await leader()).toEqual(before);

    process.kill(first!.service.pid, 'SIGSTOP');
    try {
      const another = async () => (await leader())?.holder !== before!.holder;
      await until(another, { ...soon, what: 'the second to lead' });
      // Rounds of the new leader, beyond the hold of every alert.
      const probed = (await second!.requests()).length + 4;
      await until(async () => (await second!.requests()).length >= probed, { ...soon, what: 'its probes' });
      expect(postsOfPage()).toEqual(['trigger']);
    } finally {
      process.kill(first!.service.pid, 'SIGCONT');
    }
    const probed = (await second!.requests()).length + 4;
    await until(async () => (await second!.requests()).length >= probed, { ...soon, what: 'probes of both' });
    expect((await first!.alerts()).filter(({ state }) => state === 'firing')).toHaveLength(1);
    expect(postsOfPage()).toEqual(['trigger']);

    await simulator.setOrganization(organizationId, { termsAccepted: true });
    await untilEnded();
    expect([postsOfPage(), pages()]).toEqual([['trigger', 'resolve'], oneOf(organizationId)]);
    expect((await second!.organization(organizationId)).access).toBe('active');
  });
});
