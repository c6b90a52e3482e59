/**
 * A connected Kafka cluster as the producer needs it: what is known of its topics, a producer epoch that is fenced by a
 * fixed transactional id, one produce request to one broker. Sequences, repetition and the meaning of answers must not
 * be here; how records are read is in kafka-topic-reader.ts.
 */
import type { Clock } from '../tools/clock';
import { type ClusterTimes, clientConfig, type KafkaSettings, tlsOptions } from './client-config';
import { makeTopicReader } from './kafka-topic-reader';
import { type Broker, errorName, makeInnerCluster, type ProduceAnswer } from './kafkajs-inside';
import type { WireBatch } from './produce-body';
import type { TopicReader } from './read-topics';
import { makeSockets, type SocketRequest } from './sockets';
import type { BrokerAddress } from './target';
import { makeThrottle } from './throttle';

export interface PartitionState {
  /** A node id, -1 while there is none. */
  leader: number;
  replicas: number;
  /** Of those, how many have all that was acknowledged. */
  inSync: number;
}

/** What the cluster says about a topic; `code` is Kafka's name of the reason why it cannot be had. */
export interface TopicState {
  code: string | null;
  /** By partition number. */
  partitions: PartitionState[];
}

export interface ProducerEpoch {
  producerId: string;
  producerEpoch: number;
}

/** When the coordinator forgets the id, unless it is asked for again; null where it does not tell us. */
export interface TakenEpoch extends ProducerEpoch {
  forgottenAfterMs: number | null;
}

/** A broker's answer for one partition; `code` is null where it was written. */
export interface PartitionAnswer {
  topic: string;
  partition: number;
  code: string | null;
  firstOffset: string;
}

export interface KafkaCluster extends TopicReader {
  connect(): Promise<void>;
  /** The node that gives out epochs of the id, as another one says than `besides`, where there are several. */
  coordinatorOf(transactionalId: string, besides?: number): Promise<number>;
  /** Asks its coordinator for the next epoch of the id: older ones are refused where it has written. */
  takeEpoch(transactionalId: string, coordinator: number): Promise<TakenEpoch>;
  /** Learns the state of these topics, and asks for them with every refresh from now on. */
  learn(topics: string[]): Promise<void>;
  refresh(): Promise<void>;
  /** Refreshes what is older than a minute. */
  refreshIfOld(): Promise<void>;
  /** As last learned; null before that. */
  topicState(topic: string): TopicState | null;
  brokerCount(): number;
  /** Of these settings of a topic those that its brokers tell us. */
  settingsOf(topic: string, names: string[]): Promise<Map<string, string>>;
  /** Ends once the node has answered, whatever it says of the topic. Throws what kafkajs throws. */
  hear(node: number, topic: string): Promise<void>;
  /** Where a node is reached, as last learned. */
  addressOf(node: number): BrokerAddress | null;
  /** One request to one broker, waiting for all in-sync replicas. Throws what kafkajs throws when no answer came. */
  produce(node: number, epoch: ProducerEpoch, batches: WireBatch[]): Promise<PartitionAnswer[]>;
  /** For how long a quota holds back what is produced next, as brokers last told; 0 where none does. */
  heldBackMs(): number;
  /** Ends politely; waits as long as brokers do. */
  end(): Promise<void>;
  /** Ends at once: what was asked fails now. */
  destroy(): void;
}

const transactionCoordinator = 1;
const metadataMaxAgeMs = 60_000;

/** Throws `publish.refused` for another kafkajs; every other method throws what kafkajs throws. */
export function makeCluster(
  settings: KafkaSettings,
  times: ClusterTimes & { clock: Pick<Clock, 'steadyMs'> },
): KafkaCluster {
  const sockets = makeSockets();
  const config = {
    ...clientConfig(settings, times),
    // The client gives each of its connections the certificates that it was made with, though it lives for months.
    socketFactory: (request: unknown) =>
      sockets.make({ ...(request as SocketRequest), ssl: tlsOptions(settings) }),
    metadataMaxAge: metadataMaxAgeMs,
  };
  const cluster = makeInnerCluster(config, times.heldBack);
  const { brokerPool } = cluster;
  let asked = 0;
  const throttle = makeThrottle(times.clock);
  /** Who answered before, if still connected: the client calls a broker connected that has said nothing yet. */
  const answering = () =>
    brokerPool.seedBroker?.isConnected() ? brokerPool.seedBroker : brokerPool.findConnectedBroker();

  return {
    ...makeTopicReader(cluster),
    connect: () => cluster.connect(),
    async coordinatorOf(transactionalId, besides) {
      const others = (brokerPool.metadata?.brokers ?? []).filter(({ nodeId }) => nodeId !== besides);
      const other = besides === undefined ? undefined : others[asked++ % others.length];
      const broker = await (other === undefined ? answering() : cluster.findBroker(other));
      const { coordinator } = await broker.findGroupCoordinator({
        groupId: transactionalId,
        coordinatorType: transactionCoordinator,
      });
      return coordinator.nodeId;
    },
    async takeEpoch(transactionalId, coordinator) {
      const broker = await cluster.findBroker({ nodeId: coordinator });
      // No transaction is ever begun; brokers want a time below their own bound all the same.
      const epoch = await broker.initProducerId({ transactionalId, transactionTimeout: 60_000 });
      return {
        ...epoch,
        forgottenAfterMs: await toldExpiry(broker, coordinator),
      };
    },
    async learn(topics) {
      for (const topic of topics) cluster.targetTopics.add(topic);
      await cluster.refreshMetadata();
    },
    refresh: () => cluster.refreshMetadata(),
    refreshIfOld: () => cluster.refreshMetadataIfNecessary(),
    topicState(name) {
      const found = brokerPool.metadata?.topicMetadata.find(({ topic }) => topic === name);
      if (found === undefined) return null;
      const partitions: TopicState['partitions'] = [];
      for (const { partitionId, leader, replicas, isr } of found.partitionMetadata) {
        partitions[partitionId] = { leader, replicas: replicas.length, inSync: isr.length };
      }
      return { code: errorName(found.topicErrorCode), partitions };
    },
    brokerCount: () => brokerPool.metadata?.brokers.length ?? 0,
    async settingsOf(topic, names) {
      const broker = await answering();
      return toldSettings(broker, topicResource, topic, names);
    },
    async hear(node, topic) {
      const broker = await cluster.findBroker({ nodeId: node });
      await broker.metadata([topic]);
    },
    addressOf(node) {
      const found = brokerPool.metadata?.brokers.find(({ nodeId }) => nodeId === node);
      return found === undefined ? null : { host: found.host, port: found.port };
    },
    async produce(node, { producerId, producerEpoch }, batches) {
      const broker = await cluster.findBroker({ nodeId: node });
      const answer = await broker.produce({
        producerId,
        producerEpoch,
        batches,
        // The broker gives up before the client does, so that its answer is heard.
        timeoutMs: Math.ceil(times.requestTimeoutMs * 0.8),
        timestampMs: Date.now(),
      });
      // Such an answer comes at once, and what follows it on its connection is not read before (KIP-219).
      throttle.told(answer.clientSideThrottleTime ?? 0);
      return answersOf(answer);
    },
    heldBackMs: throttle.leftMs,
    end: () => cluster.disconnect(),
    destroy: () => sockets.destroyAll(),
  };
}

function answersOf({ topics }: ProduceAnswer): PartitionAnswer[] {
  return topics.flatMap(({ topicName, partitions }) =>
    partitions.map(({ partition, errorCode, baseOffset }) => ({
      topic: topicName,
      partition,
      code: errorName(errorCode),
      firstOffset: baseOffset,
    })),
  );
}

const topicResource = 2;
const brokerResource = 4;
const expirySetting = 'transactional.id.expiration.ms';

async function toldExpiry(broker: Broker, node: number): Promise<number | null> {
  const told = await toldSettings(broker, brokerResource, String(node), [expirySetting]);
  const expiryMs = Number(told.get(expirySetting));
  return expiryMs > 0 ? expiryMs : null;
}

/** Whoever may not ask for settings, as most may not for a broker's, is refused; the connection stays. */
async function toldSettings(
  broker: Broker,
  type: number,
  name: string,
  settings: string[],
): Promise<Map<string, string>> {
  const resources = [{ type, name, configNames: settings }];
  const answer = await broker.describeConfigs({ resources }).catch(() => null);
  const entries = answer?.resources.flatMap(({ configEntries }) => configEntries) ?? [];
  return new Map(
    entries.flatMap(({ configName, configValue }) =>
      configValue === null || !settings.includes(configName) ? [] : [[configName, configValue]],
    ),
  );
}
