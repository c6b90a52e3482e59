/**
 * Goal: equipment is listed in pages of the equipment API's own sizes, as many as the provider names in one page, up to 5,000;
 * makes, types and models are asked for once a day, however many ask.
 * Method: an organization of 6,100 pieces, commands beside a running service, and what the provider was asked; the service's
 * clock is moved over the day.
 */
import { runCommand } from '../support/command';
import { makeMovedClock } from '../support/moved-clock';
import { beginStory, type Story } from '../support/story';

const pieces = 6_100;
const hourMs = 3_600_000;
const clock = makeMovedClock();

let story: Story;
let organizationId: string;
beforeAll(async () => {
  story = await beginStory({
    delivers: false,
    flags: { users: 1, organizations: 1, equipment: pieces },
    settings: { SYNC_INTERVAL_SECONDS: '0', ...clock.environment },
  });
  organizationId = (await story.simulator.state()).organizations[0]!.id;
});
afterAll(() => story.end());

type Entry = { id: string };
async function listed(...words: string[]): Promise<string[]> {
  const environment = { TRAMLINE_URL: story.service.operationsUrl };
  const { code, out, error } = await runCommand([...words, '--json'], environment);
  expect([code, error]).toEqual([0, '']);
  return (JSON.parse(out) as Entry[]).map(({ id }) => id);
}
/** The pages that were asked for, as offset and limit, and how each was answered. */
async function pagesSince(number: number) {
  const lists = (await story.requests()).slice(number).filter(({ path }) => path === '/isg/equipment');
  return lists.map(({ url, status }) => {
    const query = new URL(url, story.simulator.equipment).searchParams;
    return [query.get('pageOffset'), query.get('itemLimit'), status];
  });
}

test.each([
  [5_000, 5_000],
  [9_999, 5_000],
])(
  'a next page that the provider names with %i entries is asked for with %i, and all of it is listed once',
  async (named, wanted) => {
    const uri = `${story.simulator.equipment}/equipment?organizationIds=${organizationId}&pageOffset=1000&itemLimit=${named}`;
    await story.simulator.setFaults([{ match: { path: '/equipment?' }, times: 1, nextPage: uri }]);
    const from = (await story.requests()).length;
    const ids = await listed('equipment', 'list', '--organization', organizationId);
    expect([ids.length, new Set(ids).size]).toEqual([pieces, pieces]);
    expect(await pagesSince(from)).toEqual([
      [null, '1000', 200],
      ['1000', String(wanted), 200],
      ['6000', String(wanted), 200],
    ]);
  },
);

test.each([
  ['makes', '/isg/equipmentMakes'],
  ['types', '/isg/equipmentTypes'],
  ['models', '/isg/equipmentModels'],
])('%s are read once a day', async (kind, path) => {
  const reads = async () => (await story.requests()).filter((request) => request.path === path).length;
  const first = await listed(kind);
  expect(first.length).toBeGreaterThan(0);
  const once = await reads();
  expect(once).toBeGreaterThan(0);
  clock.advance(23 * hourMs);
  expect(await listed(kind)).toEqual(first);
  expect(await reads()).toBe(once);
  clock.advance(hourMs);
  expect(await listed(kind)).toEqual(first);
  expect(await reads()).toBe(2 * once);
});
