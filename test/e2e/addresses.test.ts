/**
 * Links address a resource and never identify it: when all of them move nothing is deleted or changed, and a machine that
 * is notified by two addresses has one sequence.
 */
import type { SyncView } from '../../src/model/sync';
import { runCommand } from '../support/command';
import { expectExitsToAgree } from '../support/five-exits';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

type Body = Record<string, unknown>;

let story: Story;
afterEach(() => story.end());

/** The provider spells `links` and `fieldOperations` in two ways. */
const linkOf = ({ links, link = links }: Body, ...wanted: string[]) =>
  (link as { rel: string; uri: string }[]).find(({ rel }) => wanted.includes(rel))!.uri;
const operationHint = (operation: Resource) => notificationOf(operation, { eventTypeId: 'fieldOperation' });

test('links that move while reads are under way publish nothing as deleted and nothing as changed', async () => {
  story = await beginStory({
    delivers: false,
    flags: { 'latency-ms': 30, 'field-operations': 6 },
    settings: { GONE_AFTER_SECONDS: '1' },
  });
  const { equipment, fieldOperations } = await story.simulator.state();
  const all = [
    ...equipment.map((machine) => notificationOf(machine)),
    ...fieldOperations.map((operation) => operationHint(operation)),
  ];
  expect((await story.post(all)).status).toBe(204);
  expect((await story.untilRest()).published).toBe(all.length);
  const before = await story.events();

  // The same resources by their old addresses, and the links move under the reads.
  const asked = (await story.simulator.counts()).requests;
  expect((await story.post(all)).status).toBe(204);
  await until(async () => (await story.simulator.counts()).requests > asked + 2, { ...soon, everyMs: 2 });
  await story.simulator.moveLinks();
  expect((await story.post(all)).status).toBe(204);
  expect(await story.untilRest()).toMatchObject({ gone: 0, quarantined: 0, lost: 0 });
  expect(await story.events()).toEqual(before);

  // And by their new addresses.
  const moved = (await story.simulator.state()).fieldOperations;
  expect(moved[0]!.uri).not.toBe(fieldOperations[0]!.uri);
  expect((await story.post(moved.map((operation) => operationHint(operation)))).status).toBe(204);

  const ledger = await story.untilRest();
  expect(await story.events()).toEqual(before);
  expect(ledger).toMatchObject({ published: all.length, gone: 0, quarantined: 0, lost: 0 });
  expect(await story.quarantine()).toEqual([]);

  // What changes afterwards goes on under the same key, whichever address announces it.
  await story.simulator.changeFieldOperation(fieldOperations[0]!.id, { cropSeason: '2033' });
  expect((await story.post([operationHint(fieldOperations[0]!)])).status).toBe(204);
  const events = await story.untilEvents(fieldOperations[0]!, 2, 'field-operation');
  expect(events.map(({ type, sequence }) => [type, sequence])).toEqual([
    ['io.tramline.field-operation.created.v1', '00000000000000000001'],
    ['io.tramline.field-operation.updated.v1', '00000000000000000002'],
  ]);
  expect(await story.tasks()).toHaveLength(all.length);
  await expectExitsToAgree(story);
});

test.each([404, 410])(
  'what is deleted after its links have moved, and is announced where it never was read, is published as deleted: %i',
  async (status) => {
    story = await beginStory({ settings: { GONE_AFTER_SECONDS: '1' } });
    const [operation] = (await story.simulator.state()).fieldOperations;
    await story.simulator.changeFieldOperation(operation!.id, { cropSeason: '2033' });
    await story.untilEvents(operation!, 1, 'field-operation');
    await story.simulator.moveLinks();
    const truth = `${story.simulator.control}/fieldOperations/${operation!.id}?gone=${status === 410}`;
    expect((await fetch(truth, { method: 'DELETE' })).ok).toBe(true);
    const [, last] = await story.untilEvents(operation!, 2, 'field-operation');
    expect(last!.type).toBe('io.tramline.field-operation.deleted.v1');
    expect(await story.untilRest()).toMatchObject({ published: 1, gone: 1, lost: 0 });
    const { steps } = await story.explain(last!.id);
    expect(steps.map(({ step }) => step)).toContain('hinted');
    await expectExitsToAgree(story);
  },
);

test('an operation that has moved is found again beside one at a foreign origin, and is never deleted for it', async () => {
  story = await beginStory({
    delivers: false,
    flags: { organizations: 1, 'field-operations': 6 },
    settings: { GONE_AFTER_SECONDS: '1' },
  });
  const { fieldOperations } = await story.simulator.state();
  expect((await story.post(fieldOperations.map((operation) => operationHint(operation)))).status).toBe(204);
  expect((await story.untilRest()).published).toBe(fieldOperations.length);
  const before = await story.events();

  // Everything moves, and the first operation of the first field to an origin that nobody has allowed.
  await story.simulator.moveLinks();
  const organizations = linkOf(await story.provided(story.simulator.catalog), 'organizations');
  const [organization] = (await story.provided(organizations)).values as Body[];
  const [field] = (await story.provided(linkOf(organization!, 'fields'))).values as Body[];
  const address = linkOf(field!, 'fieldOperations', 'fieldOperation');
  const body = await story.provided(address);
  const [first] = body.values as Body[];
  const foreign = [{ rel: 'self', uri: `https://api2.provider.example/fieldOperations/${first!.id}` }];
  Object.assign(first!, { links: foreign, link: undefined });
  const path = `^${new URL(address).pathname}($|\\?)`;
  await story.simulator.setFaults([{ match: { method: 'GET', path }, status: 200, body }]);

  expect((await story.post(fieldOperations.map((operation) => operationHint(operation)))).status).toBe(204);
  expect(await story.untilRest()).toMatchObject({ gone: 0, quarantined: 0, lost: 0 });
  expect(await story.events()).toEqual(before);
});

test('operations that have moved while their organization shows its user no fields wait for them, and are never deleted', async () => {
  story = await beginStory({
    delivers: false,
    flags: { organizations: 1, 'field-operations': 4 },
    settings: { GONE_AFTER_SECONDS: '1' },
  });
  const { fieldOperations } = await story.simulator.state();
  const hints = fieldOperations.map((operation) => operationHint(operation));
  expect((await story.post(hints)).status).toBe(204);
  expect((await story.untilRest()).published).toBe(hints.length);
  const before = await story.events();

  await story.simulator.moveLinks();
  const list = linkOf(await story.provided(story.simulator.catalog), 'organizations');
  const body = await story.provided(list);
  const [organization] = body.values as Body[];
  const links = (organization!.links ?? organization!.link) as { rel: string }[];
  Object.assign(organization!, { links: links.filter(({ rel }) => rel !== 'fields'), link: undefined });
  const { pathname } = new URL(list);
  await story.simulator.setFaults([
    { match: { method: 'GET', path: `^${pathname}($|\\?)` }, status: 200, body },
    { match: { method: 'GET', path: '/organizations/\\d+($|\\?)' }, status: 404 },
  ]);
  expect((await story.post(hints)).status).toBe(204);
  const why = 'expected a link to `fields`, got none: not shared with this user';
  await until(async () => {
    const waiting = await story.tasks('postponed');
    return waiting.filter(({ code }) => code === 'relocation-incomplete').length === hints.length;
  }, soon);
  expect(JSON.stringify((await story.explain(fieldOperations[0]!.uri)).steps)).toContain(why);
  expect(await story.events()).toEqual(before);

  await story.simulator.setFaults([]);
  expect(await story.untilRest()).toMatchObject({ gone: 0, quarantined: 0, lost: 0 });
  expect(await story.events()).toEqual(before);
});

test('an operation whose organization refuses its list of fields waits, while one of another is deleted', async () => {
  story = await beginStory({
    delivers: false,
    flags: { organizations: 2, 'field-operations': 4 },
    settings: { GONE_AFTER_SECONDS: '1' },
  });
  const { fieldOperations } = await story.simulator.state();
  expect((await story.post(fieldOperations.map((operation) => operationHint(operation)))).status).toBe(204);
  expect((await story.untilRest()).published).toBe(fieldOperations.length);
  const before = await story.events();
  const [deleted] = fieldOperations;
  const hidden = fieldOperations.find(({ organizationId }) => organizationId !== deleted!.organizationId)!;

  await story.simulator.setFaults([
    { match: { method: 'GET', path: `/fieldOperations/${hidden.id}($|\\?)` }, status: 404 },
    { match: { method: 'GET', path: `/organizations/${hidden.organizationId}/fields($|\\?)` }, status: 403 },
  ]);
  const address = `${story.simulator.control}/fieldOperations/${deleted!.id}?notify=false`;
  expect((await fetch(address, { method: 'DELETE' })).ok).toBe(true);
  expect((await story.post([operationHint(deleted!)])).status).toBe(204);
  const [, end] = await story.untilEvents(deleted!, 2, 'field-operation');
  expect(end!.type).toBe('io.tramline.field-operation.deleted.v1');

  // That no address has moved was learned a moment ago.
  expect((await story.post([operationHint(hidden)])).status).toBe(204);
  await until(async () => {
    const [waiting] = await story.tasks('postponed');
    return waiting?.code === 'relocation-incomplete';
  }, soon);
  await story.simulator.setFaults([]);
  expect(await story.untilRest()).toMatchObject({ gone: 1, quarantined: 0, lost: 0 });
  expect(await story.events()).toEqual([...before, end]);
});

test('links that move in the middle of a sync, with reads waiting, lose nothing and publish nothing twice', async () => {
  story = await beginStory({
    delivers: false,
    flags: { 'latency-ms': 40, organizations: 4, equipment: 6, 'field-operations': 12 },
    settings: { GONE_AFTER_SECONDS: '1', PROVIDER_CONCURRENCY: '2', SYNC_INTERVAL_SECONDS: '0' },
  });
  const { equipment, fieldOperations } = await story.simulator.state();
  const all = equipment.length + fieldOperations.length;
  const sync = () => story.ask<SyncView>('/api/sync');
  const untilEnded = () => until(async () => ((await sync()).state === 'running' ? null : sync()), soon);
  // The first of its calls are answered, and the others held until all has moved.
  const match = { method: 'GET' };
  await story.simulator.setFaults([
    { match, times: 6, delayMs: 0 },
    { match, held: true },
  ]);
  await story.ask('/api/sync', 'POST');
  await until(async () => (await sync()).listings.done >= 3, soon);
  const hints = fieldOperations.slice(-10).map((operation) => operationHint(operation));
  expect((await story.post(hints)).status).toBe(204);
  await story.simulator.moveLinks();
  expect((await sync()).state).toBe('running');
  await story.simulator.setFaults([]);
  // What the move took away is found again within the same sync: nobody has to act.
  const ended = await untilEnded();
  expect(ended).toMatchObject({ state: 'ended', partial: [], trouble: 'none' });
  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({ gone: 0, quarantined: 0, lost: 0 });
  const events = await story.events();
  expect(new Set(events.map(({ subject }) => subject)).size).toBe(all);
  expect(events).toHaveLength(all);
  expect(events.every(({ type }) => type.endsWith('.created.v1'))).toBe(true);
  await expectNobodyToBeCalled();
  expect(await shown('ledger')).toEqual(ledger);
  expect(await shown('sync')).toMatchObject({ state: 'ended', published: 0, changed: 0, partial: [] });
  expect(await story.events()).toEqual(events);
  await expectExitsToAgree(story, { bySync: ended.published });
  // What was asked at addresses that were there no more is told as that.
  const lost = (await story.requests()).filter(({ status }) => status === 404);
  const told = { http_response_status_code: '404' };
  expect(await story.metric('http_client_request_duration_seconds_count', told)).toBe(lost.length);
});

/** Neither by an alert, nor by a line of the log that would be looked at, nor by what the rules look at. */
async function expectNobodyToBeCalled(): Promise<void> {
  expect(await story.alerts()).toEqual([]);
  expect(await shown('alerts')).toEqual([]);
  expect([...story.log('alert'), ...story.log('organization-access'), ...story.log('fault')]).toEqual([]);
  expect(story.service.records().filter(({ level }) => level === 'error')).toEqual([]);
  for (const metric of ['tramline_alerts_active', 'tramline_quarantined_total', 'tramline_faults_total']) {
    expect([metric, await story.metric(metric)]).toEqual([metric, 0]);
  }
}

/** What a command prints, which ends well. */
async function shown(command: string): Promise<unknown> {
  const { code, out, error } = await runCommand([command, '--json'], {
    TRAMLINE_URL: story.service.operationsUrl,
  });
  expect([code, error]).toEqual([0, '']);
  return JSON.parse(out);
}

test('a machine that is notified by its id and by its ERID has one task and one sequence', async () => {
  story = await beginStory({ delivers: false });
  const [machine] = await story.equipment();
  const byId = notificationOf(machine!);
  const byErid = notificationOf(machine!, {
    targetResource: `${story.simulator.equipment}/equipment/${machine!.content.ERID}`,
  });
  const names = ['One', 'Two', 'Three', 'Four'];
  for (const [index, name] of names.entries()) {
    await story.simulator.changeEquipment(machine!.id, { name });
    expect((await story.post([index % 2 === 0 ? byErid : byId])).status).toBe(204);
    await story.untilEvents(machine!, index + 1);
  }
  // Both at once, again and again, while it changes.
  for (let round = 0; round < 10; round += 1) {
    await story.simulator.changeEquipment(machine!.id, { name: `Round ${round}` });
    await story.post([byId, byErid, byErid, byId]);
  }
  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({ accepted: 44, gone: 0, quarantined: 0, lost: 0 });
  const events = await story.eventsOf(machine!);
  expect(events.map(({ sequence }) => Number(sequence))).toEqual(events.map((_, index) => index + 1));
  expect(events.slice(0, 4).map(({ data }) => (data as { name: string }).name)).toEqual(names);
  expect(events.at(-1)!.data).toMatchObject({ name: 'Round 9' });
  expect(await story.events()).toHaveLength(events.length);
  expect(await story.tasks()).toHaveLength(1);
  await expectExitsToAgree(story);
});

test('a machine whose address first shows another one is nobody else’s: both go on', async () => {
  story = await beginStory({ delivers: false });
  const [known, unread] = await story.equipment();
  expect((await story.post([notificationOf(known!)])).status).toBe(204);
  await story.untilEvents(known!, 1);
  await story.simulator.setFaults([
    {
      match: { method: 'GET', path: new URL(unread!.uri).pathname },
      times: 1,
      status: 200,
      body: known!.content,
    },
  ]);
  expect((await story.post([notificationOf(unread!)])).status).toBe(204);
  await story.untilEvents(unread!, 1);
  for (const machine of [known!, unread!]) {
    await story.simulator.changeEquipment(machine.id, { name: `Now ${machine.id}` });
    expect((await story.post([notificationOf(machine)])).status).toBe(204);
    const [, second] = await story.untilEvents(machine, 2);
    expect(second!.data).toMatchObject({ name: `Now ${machine.id}`, source: { address: machine.uri } });
  }
  expect(await story.untilRest()).toMatchObject({ published: 4, quarantined: 0, lost: 0 });
  expect(await story.tasks()).toHaveLength(2);
});

test('a machine of the older endpoints that has moved waits while their lists are not answered, and is never deleted', async () => {
  story = await beginStory({
    delivers: false,
    flags: { organizations: 1, equipment: 3 },
    settings: { GONE_AFTER_SECONDS: '1', PROVIDER_EQUIPMENT_API: 'old' },
  });
  const [machine] = await story.equipment();
  const [organization] = (await story.simulator.state()).organizations;
  const { links } = await story.provided(`${story.simulator.catalog}organizations/${organization!.id}`);
  const machines = await story.provided(linkOf({ links }, 'machines'));
  const listed = (machines.values as Body[]).find(({ id }) => id === machine!.id);
  const older = { ...machine!, uri: linkOf(listed!, 'self') };
  expect((await story.post([notificationOf(older)])).status).toBe(204);
  expect((await story.untilRest()).published).toBe(1);
  const before = await story.events();

  await story.simulator.moveLinks();
  await story.simulator.setFaults([
    { match: { path: '/organizations/[^/]+/(machines|implements)' }, status: 503 },
    { match: { path: '^/isg/' }, status: 404 },
  ]);
  expect((await story.post([notificationOf(older)])).status).toBe(204);
  const attempts = async () => (await story.tasks())[0]!.attempts;
  await until(async () => (await attempts()) >= 2, { ...soon, what: 'two attempts' });
  await story.simulator.setFaults([]);
  expect(await story.untilRest()).toMatchObject({ gone: 0, quarantined: 0, lost: 0 });
  expect(await story.events()).toEqual(before);
});
