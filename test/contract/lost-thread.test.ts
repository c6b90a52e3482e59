/**
 * The embedded store as `serve` has it, on a thread of its own that can be lost while those live on who asked it.
 */
import type { Store } from '../../src/model/store';
import { openServed, type ServedStore } from './open-served';
import { draftOf, Hand, hintOf } from './store-hand';

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

test('a list whose first pages a thread took with it is not gone on with, but read again from where it is stored', async () => {
  await hand.publish('1', 'old');
  await store.ready();
  const wanted = { organizationId: '4711', full: false };
  const listed = [{ scope: '4711/equipment', organizationId: '4711' }];
  const { run } = await store.beginRun(wanted);
  const begun = await store.openListings(run, listed);
  const page = {
    run,
    listingId: begun.listings[0]!.id,
    connectionId: 'c1',
    from: null,
    drafts: [],
    hints: [],
  };
  const next = 'https://provider.example/platform/equipment?page=2';
  const { revision } = await store.finishPage({
    ...page,
    revision: begun.revision,
    drafts: [draftOf('1', 'new')],
    after: { next },
  });
  await under.loseThread();
  const changeToken = { token: 't', asked: 'units' };
  const end = { end: true, whole: false, changeToken } as const;
  await expect(store.finishPage({ ...page, from: next, revision, after: end })).rejects.toMatchObject({
    code: 'store.refused',
  });
  expect(await store.beginRun(wanted)).toMatchObject({ run, resumed: true });
  const again = await store.openListings(run, listed);
  expect(again.listings[0]).toMatchObject({ ended: false, nextAddress: null, changeToken: null });
  await store.finishPage({ ...page, revision: again.revision, drafts: [draftOf('1', 'new')], after: end });
  expect(await hand.events()).toEqual(['4711 1 created', '4711 2 updated']);
});
