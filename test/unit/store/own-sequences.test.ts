/**
 * Where the embedded store keeps the last number of a key makes no difference to its events: in the row of its resource,
 * or, of keys that are no row's, beside them.
 */
import { openSqlite } from '../../contract/open-sqlite';
import { type DamageableStore, draftOf, goneBy, Hand, hintOf } from '../../contract/store-hand';

/** As an older version left it, which kept every key's number in one table. */
const asBefore = `INSERT INTO sequences (key, sequence)
    SELECT organization_id || '/' || kind || '/' || resource_id, sequence FROM tasks WHERE sequence IS NOT NULL
    ON CONFLICT (key) DO UPDATE SET sequence = excluded.sequence;
  UPDATE tasks SET sequence = NULL;`;
const nothing = 'SELECT 1';
const nothingCounted = { listed: 0, changed: 0, unchanged: 0, published: 0, left: 0, pages: 0, calls: 0 };

describe.each([
  ['in their rows', nothing],
  ['as an older version left them', asBefore],
])('sequences %s', (_where, sql) => {
  let under: DamageableStore;
  let hand: Hand;
  beforeEach(async () => {
    under = await openSqlite();
    hand = new Hand(under);
  });
  afterEach(() => under.close());

  const left = async () => {
    hand.store = await under.damage(sql);
  };
  const numbers = async () => (await hand.records()).map(({ key, sequence }) => `${key} ${sequence}`);
  const found = (key: string, sequence: number) => ({ key, sequence, offset: '9', eventId: `x${sequence}` });

  test('each key goes on in its own, however often its resource moves', async () => {
    for (const organizationId of ['4711', '99', '4711', '99']) {
      await hand.publish('1', `of ${organizationId}`, { organizationId });
      await left();
    }
    expect(await numbers()).toEqual([
      '4711/equipment/1 1',
      '4711/equipment/1 2',
      '99/equipment/1 1',
      '99/equipment/1 2',
      '4711/equipment/1 3',
      '4711/equipment/1 4',
      '99/equipment/1 3',
    ]);
  });

  test('one that was deleted and is created with another owner leaves its number behind', async () => {
    await hand.publish('1', 'a');
    await left();
    await hand.put([hintOf('1')]);
    await hand.store.finishGone(goneBy(await hand.take()));
    under.advance(1000);
    await left();
    await hand.publish('1', 'b', { organizationId: '99' });
    await left();
    await hand.publish('1', 'c', { organizationId: '4711' });
    expect((await numbers()).filter((number) => number.startsWith('4711'))).toEqual([
      '4711/equipment/1 1',
      '4711/equipment/1 2',
      '4711/equipment/1 3',
    ]);
  });

  test('a number found on a topic counts for the key that has it, not for the resource’s present one', async () => {
    await hand.publish('1', 'a');
    await hand.publish('1', 'b', { organizationId: '99' });
    await hand.sendAll();
    await left();
    const page = { topic: 'tramline.equipment.v1', partition: 0, nextOffset: '10' };
    const known = [found('4711/equipment/1', 2), found('99/equipment/1', 1)];
    expect(await hand.store.noteFound({ ...page, records: known })).toBe(0);
    expect(await hand.store.noteFound({ ...page, records: [found('99/equipment/1', 7)] })).toBe(1);
    await hand.store.allFound();
    await left();
    await hand.publish('1', 'b', { organizationId: '99' });
    await hand.publish('1', 'c', { organizationId: '4711' });
    expect(await numbers()).toEqual(['99/equipment/1 8', '99/equipment/1 9', '4711/equipment/1 3']);
  });

  test('what is newest of its key is told of former keys as well', async () => {
    await hand.publish('1', 'a');
    await hand.publish('1', 'b');
    await hand.publish('1', 'c', { organizationId: '99' });
    const rows = (await hand.records()).map(({ row }) => row);
    await hand.store.markSent(rows.map((row) => ({ row, partition: 0, offset: String(row) })));
    await left();
    const selection = { events: null, keys: null, organizationId: null, topic: null };
    const { events } = await hand.store.selectReplay(selection, 0, rows.length, 100);
    expect(events.map(({ newest }) => newest)).toEqual([false, false, true, true]);
  });

  test('a sync and reads number one after the other', async () => {
    const listed = async (content: string) => {
      const { run } = await hand.store.beginRun({ organizationId: null, full: false });
      const wanted = [{ scope: '4711/equipment', organizationId: '4711' }];
      const { listings, revision } = await hand.store.openListings(run, wanted);
      const asked = { run, revision, listingId: listings[0]!.id, connectionId: 'c1', hints: [] };
      const after = { end: true, whole: true, changeToken: null } as const;
      await hand.store.finishPage({ ...asked, drafts: [draftOf('1', content)], after });
      await hand.store.endRun(run, nothingCounted, true);
      under.advance(1000);
      await left();
    };
    await listed('a');
    await hand.publish('1', 'b');
    await listed('c');
    await hand.publish('1', 'd');
    expect(await numbers()).toEqual([1, 2, 3, 4].map((number) => `4711/equipment/1 ${number}`));
  });
});
