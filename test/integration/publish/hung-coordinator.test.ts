// Goal: a broker that hangs keeps no producer from its epoch for longer than it takes the others to do its work.
// Method: two real brokers, of which the one that is named first is stopped; producers of so many ids that both give out
// epochs of some.
import { kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import type { PublishTarget } from '../../../src/publish/target';
import { systemClock as clock } from '../../../src/tools/clock';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { describeWithNeighbour } from '../../support/neighbour';
import { until } from '../../support/until';

/** Opening takes at most three times the first, and others take over in a fifth of that; a request has no end in it. */
const patient = { connectTimeoutMs: 5_000, requestTimeoutMs: 60_000 };

describeWithNeighbour('Kafka', kafkaAvailable(), 'a coordinator that hangs', () => {
  let cluster: KafkaCluster;
  let targets: PublishTarget[] = [];

  beforeAll(async () => {
    cluster = await startKafka({ brokers: 2 });
  }, kafkaStartsWithinMs);

  afterAll(async () => {
    cluster?.resume(0);
    for (const target of targets) await target.close();
    await cluster?.stop();
  });

  test('is left as soon as another broker gives out its epochs', async () => {
    const settings = (clientId: string) => ({ brokers: cluster.brokers, clientId, tls: null, sasl: null });
    const target = (clientId: string) =>
      makeKafkaTarget(settings(clientId), { ...kafkaTargetDefaults, ...patient, clock, topics: [] });
    // The first producer of all makes the coordinators' topic.
    const first = target('first');
    await until(() => first.open().then(() => true), { withinMs: 60_000, everyMs: 100 });
    await first.close();
    targets = Array.from({ length: 6 }, (_, number) => target(`hung-${number}`));
    cluster.pause(0);
    await Promise.all(targets.map((one) => one.open()));
  }, 90_000);
});
