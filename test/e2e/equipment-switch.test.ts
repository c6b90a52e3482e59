/**
 * Goal: an installation that reads machines and implements at the older endpoints goes over to the equipment API, and
 * back, without a single event: the same documents under the same keys. Also where both call a machine by another id.
 * Method: one store, three lives of the service; every piece of equipment is announced in each.
 */
import type { SyncView } from '../../src/model/sync';
import { runCommand } from '../support/command';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

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

test('a link to machines that may not be followed is told, by a sync and by a list, and the implements are read', async () => {
  const list = await story.provided(`${story.simulator.catalog}organizations?itemLimit=100`);
  type Listed = { links: { rel: string; uri: string }[] };
  const [first, ...others] = list.values as Listed[];
  const foreign = 'https://machines.provider.example/machines';
  const links = first!.links.map((link) => (link.rel === 'machines' ? { ...link, uri: foreign } : link));
  const body = { ...list, values: [{ ...first, links }, ...others] };
  await story.simulator.setFaults([
    { match: { path: '/organizations($|\\?)' }, status: 200, body },
    { match: { path: '/organizations/\\d+($|\\?)' }, status: 404 },
  ]);
  const run = (...words: string[]) => runCommand(words, { TRAMLINE_URL: story.service.operationsUrl });
  const why = "the origin https://machines.provider.example is not one of the provider's";
  const synced = await run('sync', '--full', '--json');
  expect(synced.code).toBe(1);
  const { partial } = JSON.parse(synced.out) as SyncView;
  expect(partial.map(({ detail }) => detail)).toEqual([
    expect.stringContaining(`${why} (address-refused) at ${foreign}`),
  ]);
  const listed = await run('equipment', 'list', '--json');
  expect(listed.code).not.toBe(0);
  expect(listed.error).toContain(why);
  expect(JSON.parse(listed.out)).not.toEqual([]);
  await story.simulator.setFaults([]);
  expect((await run('sync', '--full', '--json')).code).toBe(0);
  await story.untilRest();
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

describe('where the older endpoints call a machine by its principalId', () => {
  let other: Story;
  let pieces: Resource[];

  beforeAll(async () => {
    other = await beginStory({
      delivers: false,
      flags: { 'old-equipment-ids': 'principal', 'old-equipment-ends': '2026-01-01', today: '2025-12-31' },
      settings: { PROVIDER_EQUIPMENT_API: 'old' },
    });
    const [one, two, , four] = await other.equipment(0);
    const [there] = await other.equipment(1);
    // Two machines of one organization and one of another share a serial number; two have nothing else to tell by.
    const bare = { serialNumber: 'SHARED', ERID: null };
    await other.simulator.changeEquipment(one!.id, { ...bare, notify: false });
    await other.simulator.changeEquipment(two!.id, { ...bare, notify: false });
    await other.simulator.changeEquipment(there!.id, { serialNumber: 'SHARED', notify: false });
    await other.simulator.changeEquipment(four!.id, { serialNumber: null, notify: false });
    pieces = [...(await other.equipment(0)), ...(await other.equipment(1))];
  });
  afterAll(() => other.end());

  const principalOf = ({ content }: Resource) => String(content.principalId);
  /** Its address at the older endpoints. */
  const olderUri = ({ content }: Resource) => {
    const kind = content['@type'] === 'Machine' ? 'machines' : 'implements';
    return `${other.simulator.catalog.replace(/\/$/, '')}/${kind}/${String(content.principalId)}`;
  };
  const announce = async (uriOf: (resource: Resource) => string) => {
    const notifications = pieces.map((resource) => notificationOf({ ...resource, uri: uriOf(resource) }));
    expect((await other.post(notifications)).status).toBe(204);
    await other.untilRest();
  };
  const newUri = ({ uri }: Resource) => uri;
  const live = async (api: 'old' | 'new') => {
    await other.service.stop();
    await other.serve({ settings: { PROVIDER_EQUIPMENT_API: api } });
  };
  /** Key, change and sequence of what was published since. */
  const publishedAfter = async (count: number) =>
    (await other.events()).slice(count).map(({ type, subject, sequence }) => {
      return `${subject} ${type.split('.').at(-2)} ${Number(sequence)}`;
    });
  const keyOf = (resource: Resource) => `${resource.organizationId}/equipment/${principalOf(resource)}`;
  const countOf = async () => (await other.events()).length;
  const sync = async () => {
    await other.ask('/api/sync', 'POST');
    return until(
      async () => {
        const view = await other.ask<SyncView>('/api/sync');
        return view.state === 'ended' ? view : null;
      },
      { ...soon, what: 'the sync to end' },
    );
  };

  test('each machine is one resource, also where a serial number is shared', async () => {
    await announce(olderUri);
    expect((await publishedAfter(0)).sort()).toEqual(
      pieces.map((piece) => `${keyOf(piece)} created 1`).sort(),
    );
  });

  test('the switch keeps resource, key and sequence, whichever address is announced, and only adds the principalId', async () => {
    const before = await countOf();
    await other.simulator.setToday({ today: '2026-01-01' });
    await live('new');
    await announce(olderUri);
    expect((await publishedAfter(before)).sort()).toEqual(
      pieces.map((piece) => `${keyOf(piece)} updated 2`).sort(),
    );
    const events = (await other.events()).slice(before);
    for (const { subject, data } of events)
      expect(subject.split('/').at(-1)).toBe((data as { principalId: string }).principalId);
    await other.simulator.changeEquipment(pieces[0]!.id, { name: 'Renamed', notify: false });
    await announce(newUri);
    await announce(olderUri);
    expect(await publishedAfter(before + pieces.length)).toEqual([`${keyOf(pieces[0]!)} updated 3`]);
  });

  test('people are shown what events are keyed by, and may ask by it', async () => {
    const [piece] = pieces;
    const id = principalOf(piece!);
    for (const name of [id, piece!.id])
      expect(await other.ask(`/api/equipment/${name}`)).toMatchObject({ id, principalId: id });
    const listed = await fetch(`${other.service.operationsUrl}/api/equipment?id=${id}`);
    expect((await listed.text()).match(/"id":"\d{5,}"/g)).toContain(`"id":"${id}"`);
  });

  test('a sync finds the same resources, and the way back publishes nothing', async () => {
    const before = await countOf();
    expect(await sync()).toMatchObject({ partial: [] });
    await other.simulator.setToday({ today: '2025-12-31' });
    await live('old');
    const asked = (await other.requests()).length;
    await announce(newUri);
    await announce(olderUri);
    const paths = (await other.requests()).slice(asked).map(({ path }) => path);
    expect(paths.filter((path) => /\/equipment\b/.test(path))).toEqual([]);
    await sync();
    await other.untilRest();
    const equipment = (await publishedAfter(before)).filter((line) => line.includes('/equipment/'));
    expect(equipment).toEqual([]);
    expect((await other.ledger()).quarantined).toBe(0);
  });
});
