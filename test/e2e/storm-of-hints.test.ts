/**
 * Notifications are hints: a hundred of them for one change cost two reads and the look again that a lagging provider
 * gets, and hints that keep coming while a slow read is under way do not keep it from ending.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expectExitsToAgree } from '../support/five-exits';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

const readGapMs = 1000;

let story: Story;
afterEach(() => story.end());

test('the same change notified a hundred times in one second is at most three reads and one event', async () => {
  story = await beginStory({
    delivers: false,
    settings: { READ_GAP_MS: String(readGapMs), SETTLE_SECONDS: '1' },
  });
  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'Announced often' });
  const startedMs = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      // Half a second, so that a machine that is busy has the other half for answering.
      await delay(index * 5);
      return story.post([notificationOf(machine!)]);
    }),
  );
  const elapsedMs = performance.now() - startedMs;
  expect(answers.every(({ status }) => status === 204)).toBe(true);
  const ledger = await story.untilRest();

  // Three in one second: a read at once, one after the gap, and the settling one; one more for each further gap that they took.
  const reads = (await story.readsOf(machine!)).length;
  const gapsBeyond = Math.max(0, Math.ceil((elapsedMs - readGapMs) / readGapMs));
  expect(reads).toBeLessThanOrEqual(3 + gapsBeyond);
  expect((await story.eventsOf(machine!)).map(({ data }) => data)).toMatchObject([
    { name: 'Announced often' },
  ]);
  // The last hint of each read is told by that read, the others are merged into it.
  expect(ledger).toMatchObject({ accepted: 100, published: 1, lost: 0 });
  expect(ledger.unchanged).toBeLessThan(reads);
  expect(ledger.merged).toBe(100 - ledger.published - ledger.unchanged);
  expect(await story.metric('tramline_notifications_total', { received: 'hint' })).toBe(100);
  expect(await story.tasks()).toHaveLength(1);
  await expectExitsToAgree(story);
});

test('a hint every 5 ms during reads of 50 ms does not keep the task from finishing', async () => {
  story = await beginStory({
    delivers: false,
    flags: { 'latency-ms': 50 },
    settings: { READ_GAP_MS: '0' },
  });
  const [machine] = await story.equipment();
  let isHinting = true;
  let sent = 0;
  const sender = (async () => {
    const posts: ReturnType<Story['post']>[] = [];
    while (isHinting) {
      posts.push(story.post([notificationOf(machine!)]));
      sent += 1;
      await delay(5);
    }
    return new Set((await Promise.all(posts)).map(({ status }) => status));
  })();
  // Two events while the hints go on: a first read and a later one both end.
  await story.untilEvents(machine!, 1);
  await story.simulator.changeEquipment(machine!.id, { name: 'Changed under fire' });
  const events = await story.untilEvents(machine!, 2);
  await until(() => sent > 100, soon);
  expect(isHinting).toBe(true);
  isHinting = false;
  expect(await sender).toEqual(new Set([204]));
  expect(events.at(-1)!.data).toMatchObject({ name: 'Changed under fire' });
  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({ accepted: sent, published: 2, lost: 0 });
  expect(await story.eventsOf(machine!)).toHaveLength(2);
  await expectExitsToAgree(story);
});
