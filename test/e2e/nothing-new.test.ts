/**
 * What is notified is not always new, and what is new may look the same: unchanged content publishes nothing, a provider
 * that shows old content for a while does not have the last word, and equal bodies with a change between are two events.
 */
import { expectExitsToAgree } from '../support/five-exits';
import { beginStory, notificationOf, type Story } from '../support/story';

let story: Story;
afterEach(() => story.end());

test('a notification of unchanged content publishes nothing and costs one read and one look again', async () => {
  story = await beginStory({ settings: { SETTLE_SECONDS: '1' } });
  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'As it stays' });
  await story.untilEvents(machine!, 1);
  await story.untilRest();
  const before = (await story.readsOf(machine!)).length;

  await story.simulator.notify(notificationOf(machine!));
  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({ accepted: 2, published: 1, unchanged: 1, lost: 0 });
  expect((await story.readsOf(machine!)).length - before).toBe(2);
  expect(await story.events()).toHaveLength(1);
  expect(await story.metric('tramline_attempts_total', { outcome: 'published' })).toBe(1);
  expect((await story.explain(machine!.uri)).steps.length).toBeGreaterThan(0);
  await expectExitsToAgree(story);
});

test.each(['equipment', 'field-operation'] as const)(
  'where the provider shows old content of %s for a while, the last event is the truth',
  async (kind) => {
    story = await beginStory({ settings: { SETTLE_SECONDS: '1' } });
    const state = await story.simulator.state();
    const resource = kind === 'equipment' ? state.equipment[0]! : state.fieldOperations[0]!;
    const change = (text: string): Promise<unknown> =>
      kind === 'equipment'
        ? story.simulator.changeEquipment(resource.id, { name: text })
        : story.simulator.changeFieldOperation(resource.id, { cropSeason: text });
    await change('2040');
    await story.untilEvents(resource, 1, kind);
    await story.untilRest();
    // Equipment is read again in any case; an operation only where its first read finds the old content, however late.
    const body = (await story.simulator.state()).fieldOperations[0]!.content;
    const shown = kind === 'equipment' ? { lagMs: 600 } : { body };
    await story.simulator.setFaults([
      { match: { path: new URL(resource.uri).pathname }, ...shown, times: 1 },
    ]);
    const before = (await story.readsOf(resource)).length;
    await change('2041');
    const events = await story.untilEvents(resource, 2, kind);
    await story.untilRest();
    expect((await story.readsOf(resource)).length - before).toBeGreaterThan(1);
    expect(JSON.stringify(events[0]!.data)).toContain('2040');
    expect(JSON.stringify(events.at(-1)!.data)).toContain('2041');
    expect(await story.eventsOf(resource, kind)).toHaveLength(2);
    await expectExitsToAgree(story);
  },
);

test('what is there again after it was gone for certain is published, though it is announced before it is shown', async () => {
  story = await beginStory({ settings: { SETTLE_SECONDS: '1' } });
  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'There' });
  await story.untilEvents(machine!, 1);
  const truth = `${story.simulator.control}/equipment/${machine!.id}`;
  expect((await fetch(`${truth}?gone=true`, { method: 'DELETE' })).ok).toBe(true);
  await story.untilEvents(machine!, 2);
  await story.untilRest();
  await story.simulator.setFaults([
    { match: { path: new URL(machine!.uri).pathname }, lagMs: 600, times: 1 },
  ]);
  expect((await fetch(`${truth}/restore`, { method: 'POST' })).ok).toBe(true);
  const events = await story.untilEvents(machine!, 3);
  expect(events.map(({ type }) => type.split('.').at(-2))).toEqual(['created', 'deleted', 'created']);
  expect(await story.untilRest()).toMatchObject({ published: 2, gone: 1, lost: 0 });
  await expectExitsToAgree(story);
});

test('a time of modification that has not come yet does not keep out the changes after it', async () => {
  story = await beginStory({ settings: { SETTLE_SECONDS: '0' } });
  const operation = (await story.simulator.state()).fieldOperations[0]!;
  const changes = [
    { cropSeason: '2040' },
    { cropSeason: '2041', modifiedTime: '9999-12-31T23:59:59.000Z' },
    { cropSeason: '2042', modifiedTime: new Date().toISOString() },
    { cropSeason: '2039', modifiedTime: '2025-01-01T00:00:00.000Z' },
  ];
  for (const [at, change] of changes.entries()) {
    await story.simulator.changeFieldOperation(operation.id, change);
    // The last one is older than what was published, and stays out.
    if (at < 3) await story.untilEvents(operation, at + 1, 'field-operation');
    await story.untilRest();
  }
  const events = await story.eventsOf(operation, 'field-operation');
  expect(events.map(({ data }) => (data as { cropSeason: string }).cropSeason)).toEqual([
    '2040',
    '2041',
    '2042',
  ]);
  expect(await story.untilRest()).toMatchObject({ accepted: 4, published: 3, unchanged: 1, lost: 0 });
});

test('the same body twice, byte for byte, with a change between is two events', async () => {
  story = await beginStory({ delivers: false });
  const [machine] = await story.equipment();
  const body = JSON.stringify([notificationOf(machine!)]);
  await story.simulator.changeEquipment(machine!.id, { name: 'First' });
  expect((await story.post(body)).status).toBe(204);
  await story.untilEvents(machine!, 1);
  await story.simulator.changeEquipment(machine!.id, { name: 'Second' });
  expect((await story.post(body)).status).toBe(204);
  const events = await story.untilEvents(machine!, 2);
  expect(events.map(({ data }) => (data as { name: string }).name)).toEqual(['First', 'Second']);
  expect(await story.untilRest()).toMatchObject({ accepted: 2, published: 2, merged: 0, lost: 0 });
  expect(await story.metric('tramline_duplicate_deliveries_total')).toBe(0);
  await expectExitsToAgree(story);
});
