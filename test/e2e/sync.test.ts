/**
 * What no notification announced is found by a sync: everything once, marked as reconciled, then only what is new,
 * changed or gone; killed in the middle it goes on; a newer read wins; a listing that cannot be trusted says nothing of
 * what it does not hold. The provider delivers nothing here unless a story says so.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StructuredEvent } from '../../src/model/api';
import type { SyncView } from '../../src/model/sync';
import { repositoryRoot } from '../support/repository';
import { beginStory, notificationOf, type Story, type StoryOptions, soon } from '../support/story';
import { until } from '../support/until';

type FieldOperation = { fieldOperationType: string; measurements: { yield?: { unit: string } }[] };

let story: Story;
afterEach(() => story.end());

const settings = { SYNC_INTERVAL_SECONDS: '0', GONE_AFTER_SECONDS: '0', READ_GAP_MS: '0' };
const begin = async (options: StoryOptions = {}) => {
  story = await beginStory({
    delivers: false,
    ...options,
    settings: { ...settings, ...options.settings },
    flags: { organizations: 2, equipment: 12, 'field-operations': 25, ...options.flags },
  });
};

async function sync(query = ''): Promise<SyncView> {
  await story.ask(`/api/sync${query}`, 'POST');
  return until(
    async () => {
      const view = await story.ask<SyncView>('/api/sync');
      return view.state === 'running' ? null : view;
    },
    { ...soon, what: 'the sync to end' },
  );
}

const reconciled = (events: StructuredEvent[]) =>
  events.filter((event) => String(event.reconciled) === 'true');

async function changes(kind: 'equipment' | 'fieldOperations', id: string, word: string, method = 'POST') {
  const path = `${story.simulator.control.replace(/\/$/, '')}/${kind}/${encodeURIComponent(id)}${word}`;
  expect((await fetch(`${path}?notify=false`, { method })).ok).toBe(true);
}

test('a first sync publishes everything once, a second nothing, and later ones only what is news', async () => {
  await begin();
  const all = 2 * (12 + 25);
  // Nothing is known yet that could be unchanged: it is no answer.
  await story.simulator.setFaults([{ match: { path: '/equipment?' }, status: 304, times: 1 }]);
  expect(await sync()).toMatchObject({ state: 'ended', listed: all, published: all, partial: [] });
  await story.untilRest();
  const first = await story.events();
  expect(first).toHaveLength(all);
  expect(reconciled(first)).toHaveLength(all);
  expect(new Set(first.map(({ subject }) => subject)).size).toBe(all);

  const before = (await story.requests()).length;
  expect(await sync()).toMatchObject({ state: 'ended', changed: 0, published: 0 });
  const begun = await story.ask<SyncView>('/api/sync');
  expect(begun.listings.total).toBe(begun.listings.done);
  const asked = (await story.requests()).slice(before);
  expect(asked.filter(({ status }) => status === 304).length).toBeGreaterThan(0);
  // Listings only: no document is read by itself.
  expect(asked.filter(({ path }) => /equipment\/|fieldOperations\/./.test(path))).toEqual([]);
  expect(asked.filter(({ url }) => /;(start|count)=/.test(url))).toEqual([]);

  const state = await story.simulator.state();
  const [machine, other] = state.equipment;
  const [operation, gone] = state.fieldOperations;
  await story.simulator.changeEquipment(machine!.id, { name: 'Changed in silence', notify: false });
  await story.simulator.changeFieldOperation(operation!.id, { cropSeason: '2040', notify: false });
  await changes('equipment', other!.id, '', 'DELETE');
  await changes('fieldOperations', gone!.id, '', 'DELETE');
  expect(await sync()).toMatchObject({ state: 'ended', changed: 2, published: 2 });
  await story.untilEvents(other!, 2);
  await story.untilEvents(gone!, 2, 'field-operation');
  await story.untilRest();
  const news = (await story.events()).slice(all);
  expect(news.map(({ type, subject }) => `${subject} ${type.split('.').at(-2)}`).sort()).toEqual(
    [
      `${machine!.organizationId}/equipment/${machine!.id} updated`,
      `${other!.organizationId}/equipment/${other!.id} deleted`,
      `${operation!.organizationId}/field-operation/${operation!.id} updated`,
      `${gone!.organizationId}/field-operation/${gone!.id} deleted`,
    ].sort(),
  );
  expect(reconciled(news)).toHaveLength(4);
  const journey = await story.explain(first[0]!.id);
  expect(JSON.stringify(journey)).toContain('sync');

  const run = promisify(execFile);
  const environment = { ...process.env, ...story.settings(), TRAMLINE_URL: story.service.operationsUrl };
  const words = [join(repositoryRoot(), 'dist/src/cli.js'), 'sync', '--full', '--json'];
  const { stdout } = await run(process.execPath, words, { env: environment });
  expect(JSON.parse(stdout)).toMatchObject({ listed: all - 2, changed: 0, unchanged: all - 2, published: 0 });
  expect((await story.events()).length).toBe(all + 4);
});

test('killed in the middle it goes on after a restart, and everything is published once', async () => {
  await begin({ flags: { 'latency-ms': 150 }, settings: { PROVIDER_CONCURRENCY: '4' } });
  // One listing does not come to its end before the kill, so that the sync does not either.
  const { fieldId } = (await story.simulator.state()).fieldOperations.at(-1)!;
  const match = { path: `/fields/${fieldId}/fieldOperations($|\\?)` };
  await story.simulator.setFaults([{ match, held: true }]);
  await story.ask('/api/sync', 'POST');
  const before = await until(
    async () => {
      const view = await story.ask<SyncView>('/api/sync');
      // Organizations, their equipment and their fields come first; of the field operations some are done, some not.
      return view.listings.done >= 8 ? view : null;
    },
    { ...soon, what: 'a part of the sync to be done' },
  );
  expect(before.state).toBe('running');
  await story.service.kill();
  await story.simulator.setFaults([]);
  const asked = (await story.requests()).length;
  await story.serve();
  const after = await until(
    async () => {
      const view = await story.ask<SyncView>('/api/sync');
      return view.state === 'ended' ? view : null;
    },
    { ...soon, what: 'the sync to be gone on with' },
  );
  expect(after).toMatchObject({ resumed: true, partial: [], organizations: { done: 2, known: 2 } });
  // What the former process had read and written is done, and not read by this one.
  const { done, read, known, total } = after.listings;
  expect([known, total]).toEqual([done, done]);
  expect(done - read).toBeGreaterThan(0);
  expect(before.listings.total ?? done).toBe(done);
  await story.untilRest();
  const events = await story.events();
  expect(events).toHaveLength(2 * (12 + 25));
  expect(new Set(events.map(({ subject }) => subject)).size).toBe(events.length);
  // What was listed before is not listed again.
  const again = (await story.requests()).slice(asked).filter(({ path }) => path.endsWith('/fieldOperations'));
  expect(again.length).toBeLessThan(2 * 3 + 1);
});

test('a read that a notification caused during the sync wins, and is not marked as reconciled', async () => {
  await begin({ flags: { 'latency-ms': 1 } });
  const [machine] = await story.equipment();
  await story.simulator.setFaults([{ match: { path: '/equipment?' }, held: true, times: 2 }]);
  await story.ask('/api/sync', 'POST');
  await until(async () => (await story.requests()).some(({ url }) => url.includes('organizationIds=')), {
    ...soon,
    what: 'the listing to be asked for',
  });
  await story.simulator.changeEquipment(machine!.id, { name: 'Newer', notify: false });
  await story.post([notificationOf(machine!)]);
  await story.untilEvents(machine!, 1);
  await story.simulator.setFaults([]);
  await sync();
  await story.untilRest();
  const events = await story.eventsOf(machine!);
  expect(events.map(({ data }) => (data as { name: string }).name)).toEqual(['Newer']);
  expect(reconciled(events)).toEqual([]);
});

test('what changes while it is read, and only a list of changes tells of, is published', async () => {
  await begin({ flags: { organizations: 1, equipment: 0, 'field-operations': 3 } });
  expect(await sync()).toMatchObject({ published: 3 });
  const [operation] = (await story.simulator.state()).fieldOperations;
  const { id, uri, organizationId } = operation!;
  const change = (cropSeason: string) =>
    story.simulator.changeFieldOperation(id, { cropSeason, notify: false });
  await change('2041');
  // The answer is made now, and comes when the change after it has been listed.
  const body = await story.provided(`${uri}?embed=measurementTypes`);
  await story.simulator.setFaults([
    { match: { path: `/fieldOperations/${id}` }, held: true, body, times: 1 },
  ]);
  await story.post([notificationOf({ uri, organizationId }, { eventTypeId: 'fieldOperation' })]);
  await until(
    async () => (await story.requests()).some(({ url }) => url.includes(`/fieldOperations/${id}`)),
    {
      ...soon,
      what: 'the operation to be read',
    },
  );
  await change('2042');
  expect(await sync()).toMatchObject({ listed: 1, left: 1, partial: [] });
  await story.simulator.setFaults([]);
  await story.untilRest();
  expect(await sync()).toMatchObject({ listed: 0 });
  const told = (await story.events()).filter(({ subject }) => subject.endsWith(`/field-operation/${id}`));
  expect((told.at(-1)!.data as { cropSeason: string }).cropSeason).toBe('2042');
  expect(await story.ledger()).toMatchObject({ accepted: 1, published: 1 });
});

test('where next pages lead astray the listing is partial, named with its address, and nothing is gone', async () => {
  await begin({ flags: { organizations: 101, equipment: 2, 'field-operations': 0 } });
  const { pages, ...whole } = await sync();
  expect(whole).toMatchObject({ published: 202, partial: [] });
  const [first] = await story.equipment();
  const { organizationId } = first!;
  await changes('equipment', first!.id, '', 'DELETE');
  const one = `?organization=${organizationId}`;
  for (const nextPage of ['self', 'endless', 'https://pages.example/equipment']) {
    await story.simulator.setFaults([{ match: { path: '/equipment?' }, nextPage }]);
    const view = await sync(one);
    expect(view.partial).toEqual([
      {
        scope: `${organizationId}/equipment`,
        detail: expect.stringMatching(/^page \d+: .* at https?:\/\/\S+\/equipment/),
      },
    ]);
    expect(view.trouble).toBe('failed');
  }
  await story.untilRest();
  expect(await story.events()).toHaveLength(202);

  // A list that grew at its front while it was read is read once more; one that ends too early takes nothing away, and
  // whom it does not hold is named.
  const secondPage = { path: '/organizations\\?.*pageOffset' };
  await story.simulator.setFaults([{ match: secondPage, nextPage: 'repeat', times: 1 }]);
  expect(await sync()).toMatchObject({ partial: [], published: 0, listed: 201, pages: pages + 2 });
  await story.untilEvents(first!, 2);
  await story.untilRest();
  // One that moved between its pages, too.
  await story.simulator.setFaults([{ match: secondPage, status: 404, times: 1 }]);
  expect(await sync()).toMatchObject({ partial: [], published: 0, listed: 201, pages: pages + 1 });
  await story.simulator.setFaults([{ match: { path: '/organizations?' }, nextPage: 'none', times: 1 }]);
  const unmet = { scope: expect.stringMatching(/^\d+$/), detail: 'no connection that sees it lists it' };
  expect(await sync()).toMatchObject({ partial: [unmet], trouble: 'later', published: 0, listed: 199 });
  await story.untilRest();
  expect(await story.events()).toHaveLength(203);
});

test('a chain that repeats what it brought is followed for ten pages, is told, and all it brought is published; a list that is found nowhere is the only one that is left', async () => {
  await begin({ flags: { organizations: 1, equipment: 0 } });
  await story.simulator.setFaults([{ match: { path: '/fieldOperations($|\\?)' }, nextPage: 'endless' }]);
  const before = (await story.requests()).length;
  const { partial, published } = await sync();
  const asked = (await story.requests())
    .slice(before)
    .filter(({ path }) => path.endsWith('/fieldOperations'));
  const paths = [...new Set(asked.map(({ path }) => path))];
  const lists = paths.length;
  expect(published).toBe(25);
  expect(partial).toHaveLength(lists);
  for (const { detail } of partial)
    expect(detail).toMatch(/^page \d+: 10 pages in a row hold nothing new \(loop\) at http/);
  expect(asked.length).toBeLessThanOrEqual(lists * 11);

  const [first] = paths;
  await story.simulator.setFaults([{ match: { path: `${first}($|\\?)` }, status: 404 }]);
  const { partial: left, listings, trouble } = await sync();
  const detail = expect.stringMatching(new RegExp(`\\(gone\\) at http\\S+${first}(\\?|$)`));
  expect(left).toEqual([{ scope: expect.stringMatching(/^\d+\/fields\/./), detail }]);
  // With it the fields and the organization are open.
  expect([listings.known - listings.done, trouble]).toEqual([3, 'failed']);
});

test('where other units are asked for every document comes again, and what is the same in them is no news', async () => {
  await begin({ flags: { organizations: 1, equipment: 0 } });
  expect(await sync()).toMatchObject({ listed: 25, published: 25 });
  expect(await sync()).toMatchObject({ listed: 0 });
  for (const units of [{ PROVIDER_UNIT_SYSTEM: 'english' }, { PROVIDER_YIELD_PREFERENCE: 'mass' }]) {
    await story.service.kill();
    await story.serve({ settings: units });
    expect(await sync()).toMatchObject({ listed: 25, changed: 0, partial: [] });
    expect(await sync()).toMatchObject({ listed: 0 });
  }
  await story.untilRest();
  expect(await story.events()).toHaveLength(25);
});

test('a yield by volume is another fact of each harvest: told once, and once more when the mass is asked for again', async () => {
  await begin({ flags: { organizations: 1, equipment: 0 } });
  expect(await sync()).toMatchObject({ listed: 25, published: 25 });
  await story.untilRest();
  const told = async () => {
    const operations = (await story.events()).map(({ data }) => data as FieldOperation);
    return operations
      .filter((one) => one.fieldOperationType === 'harvest')
      .map(({ measurements }) => measurements[0]?.yield?.unit);
  };
  const byMass = await told();
  expect(new Set(byMass)).toEqual(new Set(['kg']));
  for (const settings of [{ PROVIDER_YIELD_PREFERENCE: 'volume' }, {}]) {
    await story.service.kill();
    await story.serve({ settings });
    expect(await sync()).toMatchObject({ listed: 25, changed: byMass.length, partial: [] });
    expect(await sync()).toMatchObject({ listed: 0 });
  }
  await story.untilRest();
  expect(await told()).toEqual([...byMass, ...byMass.map(() => 'L'), ...byMass]);
  const rows = (await story.simulator.coverage()) as { row: string; count: number }[];
  expect(rows.find(({ row }) => row === 'units.yield-volume')?.count).toBeGreaterThanOrEqual(byMass.length);
});

test('moved links and another life change nothing, and calls in the sandbox are counted through both', async () => {
  await begin({
    flags: { organizations: 1 },
    settings: {
      PROVIDER_PLAN: 'sandbox',
      PROVIDER_SANDBOX_SINCE: '2026-01-01',
      PROVIDER_SANDBOX_TEST_ORGANIZATIONS: '4711,4799',
    },
  });
  const used = async () => {
    const { limits } = await story.ask<{ limits: { limit: string; used: number }[] }>('/api/sandbox');
    return limits.find(({ limit }) => limit === 'calls')!.used;
  };
  const made = async () => (await story.simulator.counts()).requests;
  await sync();
  await until(async () => (await used()) === (await made()), { ...soon, what: 'each call to be counted' });
  const first = await used();
  expect(first).toBeGreaterThan(5);
  expect(await story.metric('tramline_sandbox_left', { limit: 'calls' })).toBe(150_000 - first);
  // The one of them that is connected.
  expect(await story.metric('tramline_sandbox_left', { limit: 'test-organizations' })).toBe(0);
  await story.simulator.moveLinks();
  await story.service.kill();
  await story.serve();
  // What was booked ahead and not used when it was killed stays counted; nothing that was made is left out.
  expect(await used()).toBeGreaterThanOrEqual(first);
  expect(await sync()).toMatchObject({ state: 'ended', changed: 0, published: 0, partial: [] });
  expect(await used()).toBeGreaterThanOrEqual(await made());
  expect(await used()).toBeLessThanOrEqual((await made()) + 50);
  await story.untilRest();
  expect(await story.events()).toHaveLength(12 + 25);
});

test('a blocked organization is skipped and named, the others are not', async () => {
  await begin();
  const { organizations } = await story.simulator.state();
  const [blocked] = organizations;
  await story.simulator.setOrganization(blocked!.id, { termsAccepted: false });
  await sync();
  await until(async () => (await story.organization(blocked!.id)).access === 'terms-required', {
    ...soon,
    what: 'the refusal to be probed',
  });
  expect(await sync()).toMatchObject({
    state: 'ended',
    skipped: [{ id: blocked!.id, access: 'terms-required' }],
    partial: [],
  });
  const events = (await story.events()).filter(({ type }) => !type.includes('organization-access'));
  expect(events).toHaveLength(12 + 25);
});

test('listings that the schedule does not read to their end are logged, counted and told, over a restart, until they are read', async () => {
  await begin();
  const foreign = {
    match: { path: '/equipment?organizationIds=' },
    nextPage: 'https://pages.elsewhere.example/equipment',
  };
  await story.simulator.setFaults([foreign]);
  // The schedule begins when no listing can be read to its end.
  const scheduled = { settings: { SYNC_INTERVAL_SECONDS: '1' } };
  await story.service.stop();
  await story.serve(scheduled);
  const told = async (state: string) =>
    (await story.alerts()).find((alert) => alert.name === 'TramlineListingsUnread' && alert.state === state);
  const untilTold = (what: string, state: string) => until(() => told(state), { ...soon, what });
  const alert = await untilTold('what is unread to be told', 'firing');
  expect(alert).toMatchObject({ severity: 'warning', annotations: { owner: 'platform' } });
  expect(alert!.annotations.description).toMatch(
    /4711\/equipment \(\d+ syncs in a row\): page 2: the origin/,
  );
  const lines = await until(() => (story.log('sync').length >= 3 ? story.log('sync') : null), soon);
  expect(lines[0]).toMatchObject({ level: 'warn', outcome: 'partial', partial: 2 });
  expect(lines[0]!.named).toContainEqual({
    scope: '4711/equipment',
    detail: expect.stringContaining('(address-refused)'),
  });
  expect(await story.metric('tramline_syncs_total', { outcome: 'partial' })).toBeGreaterThanOrEqual(3);
  expect(await story.metric('tramline_sync_unread_listings')).toBe(2);
  expect(
    await story.metric('tramline_security_rejections_total', { reason: 'address-refused' }),
  ).toBeGreaterThanOrEqual(6);
  await story.service.kill();
  await story.serve(scheduled);
  expect(await told('firing')).toMatchObject({ since: alert!.since });
  await story.simulator.setFaults([]);
  await until(async () => story.log('sync').find(({ outcome }) => outcome === 'whole'), soon);
  expect(await story.metric('tramline_sync_unread_listings')).toBe(0);
  await untilTold('it to be over', 'resolved');
});
