// Goal: of the workers on one store none publishes to the embedded log what belongs behind events that went to Kafka.
// Method: both real stores, relays as processes join them, stepped by hand; Kafka is a target that acknowledges everything.
import type { Settings } from '../../../src/config';
import type { Observer } from '../../../src/observe/observer';
import { makeEventLogTarget } from '../../../src/publish/event-log';
import type { Relay } from '../../../src/publish/relay';
import type { PublishTarget } from '../../../src/publish/target';
import { checkLogAlone, guardRelay, refuseLogAlone } from '../../../src/wire/log-alone';
import { relayOf } from '../../../src/wire/relay';
import { startPostgresStores } from '../../contract/open-postgres';
import { openSqlite } from '../../contract/open-sqlite';
import { Hand, type StoreUnderTest, sentTo } from '../../contract/store-hand';
import { type HandClock, makeHandClock } from '../../support/hand-clock';
import { describeWithNeighbour } from '../../support/neighbour';
import { postgresAvailable } from '../../support/postgres';
import { makeScriptedTarget } from '../../support/scripted-target';

const leaseMs = 60_000;
const live = 'tramline.equipment.v1';

function suite(open: () => Promise<StoreUnderTest>): void {
  let under: StoreUnderTest;
  let hand: Hand;
  let clock: HandClock;
  let kafka: ReturnType<typeof makeScriptedTarget>;
  beforeEach(async () => {
    under = await open();
    hand = new Hand(under);
    clock = makeHandClock(under.nowMs());
    kafka = makeScriptedTarget();
  });
  afterEach(() => under.close());

  async function advance(ms: number) {
    under.advance(ms);
    await clock.advance(ms);
  }

  /** A worker's relay and its guard, joined as a process joins them. */
  function start(target: PublishTarget, holder: string) {
    const { store } = under;
    const guard = guardRelay(store, target, clock);
    const settings = { leaseSeconds: leaseMs / 1000, kafkaClientId: 'tramline' } as Settings;
    const untraced = { startSend: () => ({ end: () => {} }) };
    const observer = { sent: () => {}, ...untraced } as unknown as Observer;
    const relay = relayOf(settings, { store, outbox: guard.outbox, target }, observer, clock, holder);
    return { guard, relay };
  }

  async function sendAll(relay: Relay): Promise<void> {
    for (;;) if ((await relay.step()) !== 'worked') return;
  }

  /** One event on Kafka, by a worker that has ended; another event waits. */
  async function publishOneOfTwo(): Promise<void> {
    await hand.publish('1', 'a');
    const { relay } = start(kafka, 'kafka-1');
    await sendAll(relay);
    await relay.close();
    await hand.publish('2', 'a');
  }

  const sequences = () => kafka.written.map(({ sequence }) => sequence);

  test('what is decided after events went to Kafka waits for a worker that has brokers', async () => {
    await publishOneOfTwo();
    const alone = start(makeEventLogTarget(), 'log');
    expect(await alone.relay.step()).toBe('waiting');
    expect(await hand.store.unsentCount()).toBe(1);
    const next = start(kafka, 'kafka-2');
    await sendAll(next.relay);
    expect(await hand.store.unsentCount()).toBe(0);
    expect(kafka.written.map(({ topic, key }) => [topic, key])).toEqual([
      [live, '4711/equipment/1'],
      [live, '4711/equipment/2'],
    ]);
  });

  test('without an event in Kafka the log is published to, and what it has goes out first once another has brokers', async () => {
    const alone = start(makeEventLogTarget(), 'log');
    await hand.publish('1', 'a');
    await sendAll(alone.relay);
    expect(await hand.store.unsentCount()).toBe(0);
    expect(alone.guard.conditions()).toEqual([]);
    await hand.publish('2', 'a');
    const next = start(kafka, 'kafka');
    await advance(leaseMs);
    await sendAll(next.relay);
    expect(kafka.written.map(({ key }) => key)).toEqual(['4711/equipment/1', '4711/equipment/2']);
    // The one with brokers is gone without a word, and its lease with it: the log is no way out any more.
    await advance(leaseMs);
    await hand.publish('3', 'a');
    expect(await alone.relay.step()).toBe('waiting');
    expect(await hand.store.unsentCount()).toBe(1);
  });

  test('what the log alone has does not go out under numbers that stand in Kafka', async () => {
    for (const content of ['a', 'b']) await hand.publish('1', content);
    const rows = await hand.records();
    await sendAll(start(makeEventLogTarget(), 'log').relay);
    // Another life of the store has sent as many of the same key.
    const theirs = rows.map((row) => ({ ...row, eventId: `another-${row.eventId}` }));
    kafka.write([{ topic: live, partition: 0, partitions: 1, rows: theirs }]);
    await advance(leaseMs);
    const { relay } = start(kafka, 'kafka');
    await sendAll(relay);
    expect(sequences()).toEqual([1, 2]);
    await hand.publish('1', 'c');
    await sendAll(relay);
    expect(sequences()).toEqual([1, 2, 3]);
  });

  test('what was sent, and marked by a worker without brokers alone, is not sent behind what came after it', async () => {
    for (const content of ['a', 'b']) await hand.publish('1', content);
    const rows = await hand.records();
    kafka.write([{ topic: live, partition: 0, partitions: 1, rows }]);
    await hand.store.markSent([sentTo(rows[0]!, null, null)]);
    await sendAll(start(kafka, 'kafka').relay);
    expect(sequences()).toEqual([1, 2]);
    expect(await hand.store.unsentCount()).toBe(0);
  });

  test('that nobody with brokers leads is told after a quarter of a minute, since then, until one does', async () => {
    await publishOneOfTwo();
    const freeSinceMs = clock.nowMs() - 1000;
    const { relay, guard } = start(makeEventLogTarget(), 'log');
    await advance(1000);
    await relay.step();
    expect(guard.conditions()).toEqual([]);
    await advance(15_000);
    await relay.step();
    const [condition, ...others] = guard.conditions();
    expect(others).toEqual([]);
    expect(condition).toMatchObject({
      name: 'kafka-unavailable',
      detail: expect.stringMatching(/^KAFKA_BROKERS is not set .*tramline\.equipment\.v1/),
      firstStep: expect.stringContaining('Set KAFKA_BROKERS'),
    });
    expect(Math.abs(condition!.sinceMs - freeSinceMs)).toBeLessThanOrEqual(1000);
    // A time that changed by a millisecond would be another state, to be shared anew.
    await advance(500);
    await relay.step();
    expect(guard.conditions()).toEqual([condition]);
    await sendAll(start(kafka, 'kafka-2').relay);
    await advance(500);
    await relay.step();
    expect(guard.conditions()).toEqual([]);
  });

  test('a process without brokers is refused by what the store knows, and so a check says', async () => {
    await hand.publish('1', 'a');
    await sendAll(start(makeEventLogTarget(), 'log').relay);
    await refuseLogAlone(null, hand.store);
    expect(await checkLogAlone(hand.store, clock)).toEqual({
      skipped: 'KAFKA_BROKERS is not set: events go to the embedded log',
    });
    await advance(leaseMs);
    await sendAll(start(kafka, 'kafka').relay);
    await refuseLogAlone(['broker:9092'], hand.store);
    await expect(refuseLogAlone(null, hand.store)).rejects.toMatchObject({
      code: 'settings.invalid',
      message: expect.stringMatching(/^KAFKA_BROKERS must .*\(tramline\.equipment\.v1\).*DATABASE_URL/),
    });
    await expect(checkLogAlone(hand.store, clock)).rejects.toMatchObject({
      message: expect.stringContaining('knows of events in Kafka (tramline.equipment.v1)'),
      next: expect.stringContaining('Set KAFKA_BROKERS'),
    });
  });
}

describe('a worker without brokers on the embedded store', () => suite(openSqlite));

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'a worker without brokers on PostgreSQL', () => {
  let stores: Awaited<ReturnType<typeof startPostgresStores>>;
  beforeAll(async () => {
    stores = await startPostgresStores();
  });
  afterAll(() => stores.stop());

  suite(() => stores.openPostgres());
});
