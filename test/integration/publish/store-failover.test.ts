// Goal: a database that fails over to a replica that lacks the last commits is noticed by the relay that goes on leading:
// what was written and lost there is read from the topic, and no number is given twice.
// Method: one real broker and one real server. The replica is a copy of the database as it was before the last commits, and
// takes its place under the store's verbs while the relay lives; the relay is stepped by hand.
import { Problem } from '../../../src/model/problem';
import type { Store } from '../../../src/model/store';
import { kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { createTopics } from '../../../src/publish/topics';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { systemClock } from '../../../src/tools/clock';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { Hand } from '../../contract/store-hand';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { readTopic } from '../../support/read-topic';

const clock = systemClock;
const live = 'tramline.equipment.v1';
const kafkaThere = kafkaAvailable();
const neighbours = kafkaThere.available ? postgresAvailable() : kafkaThere;

describeWithNeighbour('Kafka and PostgreSQL', neighbours, 'a replica that lags takes over', () => {
  let cluster: KafkaCluster;
  let server: PostgresServer;
  let store: Store;
  let laterMs = 0;
  const nowMs = () => clock.nowMs() + laterMs;
  /** The address of the service: whichever database answers there now. */
  const served = new Proxy({} as Store, { get: (_, verb: keyof Store) => store[verb].bind(store) });
  const hand = new Hand({
    store: served,
    advance: (ms) => {
      laterMs += ms;
    },
    nowMs,
    reopen: async () => served,
    close: async () => {},
  });

  beforeAll(async () => {
    [cluster, server] = await Promise.all([startKafka(), startPostgres()]);
  }, kafkaStartsWithinMs);
  afterAll(async () => {
    await Promise.all([cluster?.stop(), server?.stop()]);
  });

  const serve = async (database: string) => {
    store = await openPostgres(postgresSettingsFor(server.url(database)), nowMs);
  };

  test('the relay that leads all the time reads on from what the replica knows, and numbers on above it', async () => {
    const kafka = { brokers: cluster.brokers, clientId: 'tramline', tls: null, sasl: null };
    const declared = [{ name: 'equipment.v1', partitions: 1, replicationFactor: 1, config: {} }];
    await createTopics(kafka, 'tramline', declared, { ...kafkaTargetDefaults, clock });
    const target = makeKafkaTarget(kafka, { ...kafkaTargetDefaults, clock, topics: [live] });
    const relay = makeRelay(served, target, { ...relayDefaults, clock, holder: 'one' });
    const sendAll = async () => {
      while ((await relay.step()) !== 'empty');
    };
    const primary = await server.createDatabase();
    await serve(primary);
    await hand.publish('1', 'a');
    await sendAll();
    await store.close();
    await server.query(`CREATE DATABASE replica TEMPLATE ${primary}`);
    await serve(primary);
    await hand.publish('1', 'b');
    await sendAll();
    await store.close();

    await serve('replica');
    laterMs += 2000;
    await hand.publish('1', 'c');
    await sendAll();
    expect(await store.behindSince()).not.toBeNull();
    laterMs += 2000;
    await hand.publish('1', 'c');
    await sendAll();
    const records = await readTopic(cluster.brokers, live);
    expect(
      records.map(({ headers, value }) => [Number(headers.ce_sequence), JSON.parse(String(value)).content]),
    ).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ]);
    await relay.close();
    await store.close();
  });

  test('what has the row of an event that was sent, and lost before it was marked, is sent as well', async () => {
    const kafka = { brokers: cluster.brokers, clientId: 'tramline', tls: null, sasl: null };
    const target = makeKafkaTarget(kafka, { ...kafkaTargetDefaults, clock, topics: [live] });
    const relay = makeRelay(served, target, { ...relayDefaults, clock, holder: 'two' });
    const sendAll = async () => {
      while ((await relay.step()) !== 'empty');
    };
    const primary = await server.createDatabase();
    await serve(primary);
    await hand.publish('11', 'a');
    await sendAll();
    await store.close();
    await server.query(`CREATE DATABASE later_replica TEMPLATE ${primary}`);
    await serve(primary);
    await hand.publish('12', 'a');
    const away = new Problem('store.unavailable', 'the server has ended');
    const ended = Object.assign(Object.create(store), { markSent: () => Promise.reject(away) });
    const primaryStore = store;
    store = ended;
    await expect(relay.step()).rejects.toBe(away);
    await primaryStore.close();

    await serve('later_replica');
    laterMs += 2000;
    await hand.publish('13', 'a');
    await sendAll();
    const records = await readTopic(cluster.brokers, live);
    expect(records.map(({ key }) => String(key).split('/').at(-1)).filter((id) => id! > '10')).toEqual([
      '11',
      '12',
      '13',
    ]);
    expect(
      (await store.explain('4711/equipment/13'))?.steps.filter(({ step }) => step === 'sent'),
    ).toHaveLength(1);
    await relay.close();
    await store.close();
  });
});
