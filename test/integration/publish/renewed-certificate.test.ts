// Goal: a client certificate that is renewed on disk is used by each connection that is made from then on, whoever makes it:
// the relay, a check, a replay. Nothing is restarted.
// Method: a real broker that takes only clients of one authority, and after a restart only those of another; the files are
// replaced meanwhile.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings } from '../../../src/config';
import type { Trouble } from '../../../src/observe/lines';
import type { KafkaSettings } from '../../../src/publish/client-config';
import { kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { makeRelay, type Relay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { PublishTarget } from '../../../src/publish/target';
import { createTopics, describeDeclared } from '../../../src/publish/topics';
import { systemClock as clock } from '../../../src/tools/clock';
import { kafkaSettings } from '../../../src/wire/kafka-settings';
import { makeAuthority } from '../../support/certificates';
import { makeHandClock } from '../../support/hand-clock';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { describeWithNeighbour } from '../../support/neighbour';
import { readTopic } from '../../support/read-topic';
import { until } from '../../support/until';

const declared = [{ name: 'renewed', partitions: 1, replicationFactor: 1, config: {} }];
const topic = 'tramline.renewed';
const ofBrokers = makeAuthority('An authority of brokers');
const [former, later] = [makeAuthority('An authority of clients'), makeAuthority('Another one of clients')];

describeWithNeighbour('Kafka', kafkaAvailable(), 'a client whose certificate is renewed', () => {
  let folder: string;
  let cluster: KafkaCluster;
  let relay: Relay;
  const open: PublishTarget[] = [];
  const told: Trouble[] = [];
  const filesClock = makeHandClock(0);

  const write = (name: string, ...pem: string[]) => {
    const path = join(folder, name);
    writeFileSync(path, pem.join(''));
    return path;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tramline-renewed-'));
    const { cert, key } = ofBrokers.issue({ names: ['127.0.0.1'] });
    const properties = {
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SSL',
      'ssl.client.auth': 'required',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': write('broker.pem', key, cert),
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': write('clients.pem', former.cert),
    };
    cluster = await startKafka({ login: { username: 'nobody', password: 'of-no-use' }, properties });
  }, kafkaStartsWithinMs);

  afterAll(async () => {
    await relay?.close();
    for (const target of open) await target.close();
    await cluster?.stop();
    rmSync(folder, { recursive: true });
  });

  function settingsOf(): KafkaSettings {
    const { cert, key } = former.issue({});
    const { settings } = loadSettings('command', {
      KAFKA_BROKERS: cluster.loginBrokers[0],
      KAFKA_TLS: 'true',
      KAFKA_CA_FILE: write('ca.pem', ofBrokers.cert),
      KAFKA_CERT_FILE: write('client.pem', cert),
      KAFKA_KEY_FILE: write('client.key', key),
    });
    return kafkaSettings(settings, (trouble) => told.push(trouble), filesClock)!;
  }

  function targetOf(kafka: KafkaSettings, role: string): PublishTarget {
    const target = makeKafkaTarget(kafka, { ...kafkaTargetDefaults, clock, topics: [topic], role });
    open.push(target);
    return target;
  }

  const check = (kafka: KafkaSettings) =>
    describeDeclared(kafka, 'tramline', declared, { ...kafkaTargetDefaults, clock, withinMs: 3_000 });
  const soon = { withinMs: 30_000, everyMs: 50 };

  test('goes on with the new one where the former is taken no more', async () => {
    const kafka = settingsOf();
    const before = kafka.tls!.now();
    await createTopics(kafka, 'tramline', declared, { ...kafkaTargetDefaults, clock });
    const outbox = makeMemoryOutbox(clock);
    relay = makeRelay(outbox, targetOf(kafka, 'relay-0'), { ...relayDefaults, clock, holder: 'renewed' });
    const published = async (key: string) => {
      outbox.add({ topic, key });
      await until(async () => (await relay.step()) === 'empty' && (await outbox.unsentCount()) === 0, soon);
    };
    await published('before');

    const renewed = later.issue({});
    write('client.pem', renewed.cert);
    write('client.key', renewed.key);
    write('clients.pem', later.cert);
    await cluster.restart(0);
    await filesClock.advance(5_000);
    const asBefore = { ...kafka, tls: { now: () => before, unfit: () => null } };
    // The broker closes behind its alert, which may then not be read any more: the reason is one or the other.
    await expect(targetOf(asBefore, 'replay').open()).rejects.toThrow(
      /^Kafka cannot be used: no connection at .* \((.*ALERT_CERTIFICATE_.*|ECONNRESET|EPIPE|closed by the broker)\)/,
    );

    await published('after');
    expect(await readTopic(cluster.brokers, topic)).toHaveLength(2);
    expect(await check(kafka)).toMatchObject({ topics: [{ topic, state: 'present' }], faults: [] });
    await targetOf(kafka, 'replay').open();
    expect(told).toEqual([]);
  }, 120_000);
});
