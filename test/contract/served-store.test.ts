/**
 * The embedded store as `serve` has it, on a thread of its own that can be lost while those live on who asked it.
 */
import type { Store } from '../../src/model/store';
import { openServed, type ServedStore } from './open-served';
import { address, draftOf, Hand, hintOf } from './store-hand';

let under: ServedStore;
let store: Store;
let hand: Hand;
beforeEach(async () => {
  under = await openServed();
  store = under.store;
  hand = new Hand(under);
});
afterEach(() => under.close());

test('of two that were given one task, the first by a thread that was lost, only the second is believed', async () => {
  await hand.put([hintOf('1')]);
  const first = await hand.take();
  await under.loseThread();
  const second = await hand.take();
  expect(second.taskId).toBe(first.taskId);
  expect(await hand.finish(first, draftOf('1', 'old'))).toEqual({ outcome: 'refused', reason: 'fenced' });
  expect(await hand.finish(second, draftOf('1', 'new'))).toMatchObject({ outcome: 'published' });
});

test('a page that was asked for before a thread was lost is older than every read that is accepted after it', async () => {
  await hand.put(['1', '2', '3', '4'].map((id) => hintOf(id)));
  const { run } = await store.beginRun({ organizationId: '4711', full: false });
  const tasks = await store.take(4);
  for (const task of tasks) await hand.finish(task, draftOf(task.address.slice(-1), 'old'));
  const { listings, revision } = await store.openListings(run, [
    { scope: '4711/equipment', organizationId: '4711' },
  ]);
  await under.loseThread();
  await hand.finish(await hand.takeAt(address('1')), draftOf('1', 'new'));
  await store.finishPage({
    run,
    revision,
    listingId: listings[0]!.id,
    connectionId: 'c1',
    drafts: [draftOf('1', 'old')],
    hints: [],
    after: { end: true, whole: true, changeToken: null },
  });
  expect(await hand.events()).toEqual(['4711 1 created']);
});
