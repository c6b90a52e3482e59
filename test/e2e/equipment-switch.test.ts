/**
 * Goal: an installation that reads machines and implements at the older endpoints goes over to the equipment API, and
 * back, without a single event: the same documents under the same keys.
 * Method: one store, three lives of the service; every piece of equipment is announced in each.
 */
import { runCommand } from '../support/command';
import { beginStory, notificationOf, type Story } from '../support/story';

let story: Story;

beforeAll(async () => {
  story = await beginStory({ delivers: false, settings: { PROVIDER_EQUIPMENT_API: 'old' } });
});
afterAll(() => story.end());

async function announceAll(address: (uri: string) => string = (uri) => uri): Promise<number> {
  const equipment = [...(await story.equipment(0)), ...(await story.equipment(1))];
  const notifications = equipment.map((resource) =>
    notificationOf({ ...resource, uri: address(resource.uri) }),
  );
  expect((await story.post(notifications)).status).toBe(204);
  await story.untilRest();
  return equipment.length;
}

const pathsAsked = async () => (await story.requests()).map(({ path }) => path);

test('the older endpoints are read, and the equipment API is not', async () => {
  const count = await announceAll();
  const created = (await story.events()).filter(({ type }) => type.endsWith('equipment.created.v1'));
  expect(created).toHaveLength(count);
  const paths = await pathsAsked();
  expect(paths.some((path) => /\/machines\/\d+$/.test(path))).toBe(true);
  expect(paths.some((path) => /\/implements\/\d+$/.test(path))).toBe(true);
  expect(paths.filter((path) => /\/equipment\/\d+$/.test(path))).toEqual([]);
});

test('both endpoints give commands the same documents', async () => {
  const list = async (api: string) => {
    const settings = { ...story.settings(), PROVIDER_EQUIPMENT_API: api };
    const store = { DATABASE_URL: `sqlite:${story.dataFolder}/${api}.db` };
    const { code, out } = await runCommand(['equipment', 'list', '--json'], { ...settings, ...store });
    expect(code).toBe(0);
    const documents = JSON.parse(out) as { id: string; observedAt: string; source: object }[];
    return documents
      .map(({ observedAt: _at, source: _source, ...document }) => document)
      .sort((left, right) => Number(left.id) - Number(right.id));
  };
  const old = await list('old');
  expect(old.length).toBeGreaterThan(0);
  expect(old).toEqual(await list('new'));
});

test('the switch to the equipment API publishes nothing, whichever address is announced', async () => {
  const before = (await story.events()).length;
  await story.service.stop();
  await story.serve({ settings: { PROVIDER_EQUIPMENT_API: 'new' } });
  await announceAll();
  expect((await pathsAsked()).some((path) => /\/equipment\/\d+$/.test(path))).toBe(true);
  const catalog = new URL(story.simulator.catalog);
  await announceAll(
    (uri) => `${catalog.origin}${catalog.pathname.replace(/\/$/, '')}/machines/${uri.split('/').at(-1)}`,
  );
  expect(await story.events()).toHaveLength(before);
  expect((await story.ledger()).quarantined).toBe(0);
});

test('nor does the way back', async () => {
  const before = (await story.events()).length;
  await story.service.stop();
  await story.serve();
  await announceAll();
  expect(await story.events()).toHaveLength(before);
});
