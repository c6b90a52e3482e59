/**
 * A connected Kafka cluster as the producer needs it: what is known of its topics, a producer epoch that is fenced by a
 * fixed transactional id, one produce request to one broker. Sequences, repetition and the meaning of answers must not
 * be here.
 */
import { bytesHashOf } from '../model/event';
import { idText } from '../model/id-text';
import type { FoundRecord, TopicEnd } from '../model/topic-end';
import { kindOf, needsSomebody } from './classify-error';
import { type ClusterTimes, clientConfig, type KafkaSettings } from './client-config';
import {
  type Broker,
  type Cluster,
  errorName,
  type Message,
  type Metadata,
  makeAdministrator,
  makeInnerCluster,
} from './kafkajs-inside';
import type { WireBatch } from './produce-body';
import type { TopicReader } from './read-topics';
import { makeSockets, type SocketRequest } from './sockets';
import type { BrokerAddress, Unread } from './target';

export type { ClusterTimes, KafkaSettings };

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
  /** Ends politely; waits as long as brokers do. */
  end(): Promise<void>;
  /** Ends at once: what was asked fails now. */
  destroy(): void;
}

const transactionCoordinator = 1;
const metadataMaxAgeMs = 60_000;

/** Throws `publish.refused` for another kafkajs; every other method throws what kafkajs throws. */
export function makeCluster(settings: KafkaSettings, times: ClusterTimes): KafkaCluster {
  const sockets = makeSockets();
  const cluster = makeInnerCluster({
    ...clientConfig(settings, times),
    socketFactory: (request) => sockets.make(request as SocketRequest),
    metadataMaxAge: metadataMaxAgeMs,
  });
  const { brokerPool } = cluster;
  let asked = 0;
  /** Who answered before, if still connected: the client calls a broker connected that has said nothing yet. */
  const answering = () =>
    brokerPool.seedBroker?.isConnected() ? brokerPool.seedBroker : brokerPool.findConnectedBroker();

  return {
    ...topicReaderOf(cluster),
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
      const { topics } = await broker.produce({
        producerId,
        producerEpoch,
        batches,
        // The broker gives up before the client does, so that its answer is heard.
        timeoutMs: Math.ceil(times.requestTimeoutMs * 0.8),
        timestampMs: Date.now(),
      });
      return topics.flatMap(({ topicName, partitions }) =>
        partitions.map(({ partition, errorCode, baseOffset }) => ({
          topic: topicName,
          partition,
          code: errorName(errorCode),
          firstOffset: baseOffset,
        })),
      );
    },
    end: () => cluster.disconnect(),
    destroy: () => sockets.destroyAll(),
  };
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

const pieceBytesMax = 1_048_576;
const noReplica = -1;
const debuggingReplica = -2;
const latest = '-1';
const earliest = '-2';

type Place = Pick<TopicEnd, 'topic' | 'partition'>;

/** Throws what kafkajs throws. */
function topicReaderOf(cluster: Cluster): TopicReader {
  const { brokerPool } = cluster;
  /** Partitions by the node that leads them. */
  const led = (topics: string[]) =>
    Map.groupBy(
      topics.flatMap((topic) => {
        const found = brokerPool.metadata?.topicMetadata.find((one) => one.topic === topic);
        return (found?.partitionMetadata ?? []).map(({ partitionId, leader }) => ({
          topic,
          partition: partitionId,
          leader,
        }));
      }),
      ({ leader }) => leader,
    );
  return {
    async leaderless(topics) {
      const missing = unled(brokerPool.metadata, topics);
      if (missing.length === 0) return missing;
      await cluster.refreshMetadata();
      return unled(brokerPool.metadata, topics);
    },
    partitionsOf: (topic) =>
      brokerPool.metadata?.topicMetadata.find((one) => one.topic === topic)?.partitionMetadata.length ?? 0,
    async offsets(topics, which) {
      await cluster.refreshMetadataIfNecessary();
      const offsets: TopicEnd[] = [];
      const asked = [...led(topics)].filter(([nodeId]) => nodeId >= 0);
      for (const [nodeId, partitions] of asked) {
        const broker = await cluster.findBroker({ nodeId });
        if (which === 'start') offsets.push(...(await listOffsets(broker, partitions, earliest, noReplica)));
        else offsets.push(...(await endsOf(broker, partitions)));
      }
      // What is not answered for has another leader by now, or one that begins.
      if (offsets.length < asked.reduce((count, [, { length }]) => count + length, 0))
        await cluster.refreshMetadata();
      return offsets;
    },
    async readPage({ topic, partition, nextOffset }, withinMs) {
      const leader = [...led([topic]).values()].flat().find((one) => one.partition === partition)?.leader;
      const broker = await cluster.findBroker({ nodeId: leader ?? -1 });
      const place = { partition, fetchOffset: nextOffset, maxBytes: pieceBytesMax };
      const { responses } = await broker.fetch({
        replicaId: noReplica,
        isolationLevel: 0,
        maxWaitTime: withinMs,
        minBytes: 1,
        maxBytes: pieceBytesMax,
        topics: [{ topic, partitions: [place] }],
      });
      const answered = responses.flatMap(({ partitions }) => partitions);
      const messages = answered
        .flatMap((one) => one.messages)
        .filter(({ offset }) => BigInt(offset) >= BigInt(nextOffset));
      const last = messages.at(-1)?.offset;
      const seen = answered.some(({ highWatermark }) => BigInt(highWatermark) > BigInt(nextOffset));
      // Compaction may leave nothing of a piece.
      const next = last === undefined && !seen ? nextOffset : String(BigInt(last ?? nextOffset) + 1n);
      return { topic, partition, nextOffset: next, records: messages.flatMap(foundOf) };
    },
  };
}

/**
 * Consumers are told of the end that all replicas in sync have. What a leader has taken beyond it is seen by nobody yet and
 * keeps its place when it is: of that end it tells what asks as a debugging replica does, with the right to describe alone.
 */
async function endsOf(broker: Broker, partitions: Place[]): Promise<TopicEnd[]> {
  // The first is refused by a broker that does not lead, the second by none.
  const seen = await listOffsets(broker, partitions, latest, noReplica);
  const written = await listOffsets(broker, partitions, latest, debuggingReplica);
  const of = new Map(
    written.map(({ topic, partition, nextOffset }) => [`${topic}/${partition}`, nextOffset]),
  );
  return seen.map((end) => {
    const further = of.get(`${end.topic}/${end.partition}`) ?? end.nextOffset;
    return BigInt(further) > BigInt(end.nextOffset) ? { ...end, nextOffset: further } : end;
  });
}

/** Of those that the broker leads, and has led for long enough to know what can be seen. */
async function listOffsets(
  broker: Broker,
  partitions: Place[],
  timestamp: string,
  replicaId: number,
): Promise<TopicEnd[]> {
  const topics = [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, of]) => ({
    topic,
    partitions: of.map(({ partition }) => ({ partition, timestamp })),
  }));
  const { responses } = await broker.listOffsets({ replicaId, isolationLevel: 0, topics });
  return responses.flatMap(({ topic, partitions: answered }) =>
    answered.flatMap(({ partition, errorCode, offset }) =>
      errorCode === 0 ? [{ topic, partition, nextOffset: offset }] : [],
    ),
  );
}

/**
 * A topic that is not there, or that we may not see, may have records once it can be had: whoever may not describe one is not
 * told which of both it is. It is one place until then.
 */
function unled(metadata: Metadata | null, topics: string[]): Unread[] {
  return topics.flatMap((topic) => {
    const found = metadata?.topicMetadata.find((one) => one.topic === topic);
    const partitions = found?.partitionMetadata ?? [];
    if (partitions.length === 0) {
      const code = errorName(found?.topicErrorCode ?? 0);
      const refused = code !== null && needsSomebody(kindOf(code)) ? { refused: code } : {};
      return [{ topic, partition: 0, partitions: 1, ...refused }];
    }
    return partitions
      .filter(({ leader }) => leader < 0)
      .map(({ partitionId }) => ({ topic, partition: partitionId, partitions: partitions.length }));
  });
}

/** Two ids and a kind have no more, and what stores index no less. */
const keyBytesMax = 2048;

/**
 * None where a record is not one of ours: somebody else may write there too, and what no store could keep would be met by
 * each leader again, which would send nothing.
 */
function foundOf({ key, headers, value, offset, isControlRecord }: Message): FoundRecord[] {
  const sequence = String(headers?.ce_sequence);
  const eventId = idText(String(headers?.ce_id ?? ''));
  if (isControlRecord || key === null || key.length > keyBytesMax || key.includes(0) || eventId === null)
    return [];
  if (!/^\d+$/.test(sequence) || !Number.isSafeInteger(Number(sequence))) return [];
  const listed = Object.entries(headers ?? {}).map(([name, of]) => [name, String(of)]);
  const bytesHash = bytesHashOf(JSON.stringify(listed), value?.toString() ?? '');
  const deleted = value === null || String(headers?.ce_type).split('.').at(-2) === 'deleted';
  return [{ key: key.toString(), sequence: Number(sequence), eventId, bytesHash, deleted, offset }];
}

/** The administration client for these settings. */
export function administrate(settings: KafkaSettings, times: ClusterTimes) {
  return makeAdministrator(clientConfig(settings, times));
}
