/**
 * Topics as a connected cluster shows them to a reader: where each partition begins and ends, which have no leader, and a
 * piece of one from a place on. Which piece is wanted, and what it means, must not be here: that is in read-topics.ts.
 */
import { bytesHashOf } from '../model/event';
import { idText } from '../model/id-text';
import type { FoundRecord, TopicEnd, TopicPlace } from '../model/topic-end';
import { kindOf, needsSomebody } from './classify-error';
import { type Broker, type Cluster, errorName, type Message, type Metadata } from './kafkajs-inside';
import { placeName } from './place-name';
import type { TopicReader } from './read-topics';
import type { Unread } from './target';

const pieceBytesMax = 1_048_576;
/** So often a piece is asked for while a quota holds this client back; others may use it up. */
const throttledMax = 10;
const noReplica = -1;
const debuggingReplica = -2;
const noLeader = -1;
const latest = '-1';
const earliest = '-2';

/**
 * Every method throws what kafkajs throws. A piece has at most 1 MiB, unless one batch is larger; a record whose key has more
 * than 2,048 bytes is none of ours. While a quota holds this client back a piece is asked for 10 times at most.
 */
export function makeTopicReader(cluster: Cluster): TopicReader {
  const { brokerPool } = cluster;
  return {
    async leaderless(topics) {
      const missing = leaderlessOf(brokerPool.metadata, topics);
      if (missing.length === 0) return missing;
      await cluster.refreshMetadata();
      return leaderlessOf(brokerPool.metadata, topics);
    },
    partitionsOf: (topic) => partitionsOf(brokerPool.metadata, topic).length,
    async offsets(topics, which) {
      await cluster.refreshMetadataIfNecessary();
      const led = ledPlaces(brokerPool.metadata, topics);
      const offsets: TopicEnd[] = [];
      for (const [nodeId, places] of Map.groupBy(led, ({ leader }) => leader)) {
        const broker = await cluster.findBroker({ nodeId });
        if (which === 'start') offsets.push(...(await listOffsets(broker, places, earliest, noReplica)));
        else offsets.push(...(await endsOf(broker, places)));
      }
      // What is not answered for has another leader by now, or one that begins.
      if (offsets.length < led.length) await cluster.refreshMetadata();
      return offsets;
    },
    async readPage({ topic, partition, nextOffset }, withinMs) {
      const led = partitionsOf(brokerPool.metadata, topic).find(
        ({ partitionId }) => partitionId === partition,
      );
      const broker = await cluster.findBroker({ nodeId: led?.leader ?? noLeader });
      const answered = await fetchPiece(broker, { topic, partition, nextOffset }, withinMs);
      if (answered === null) return { topic, partition, nextOffset, records: [], heldBack: true };
      const messages = answered
        .flatMap((one) => one.messages)
        .filter(({ offset }) => BigInt(offset) >= BigInt(nextOffset));
      const last = messages.at(-1)?.offset;
      const seen = answered.some(({ highWatermark }) => BigInt(highWatermark) > BigInt(nextOffset));
      // Compaction may leave nothing of a piece.
      const next = last === undefined && !seen ? nextOffset : String(BigInt(last ?? nextOffset) + 1n);
      return { topic, partition, nextOffset: next, records: messages.flatMap(foundIn) };
    },
  };
}

/**
 * A broker tells a client that is over its quota (`consumer_byte_rate`) how long to wait, and nothing of what it asked for: taken for an
 * answer, what is there would be called unseen. kafkajs holds back what is asked next for so long. null where it never answers.
 */
async function fetchPiece(broker: Broker, { topic, partition, nextOffset }: TopicEnd, withinMs: number) {
  const piece = { partition, fetchOffset: nextOffset, maxBytes: pieceBytesMax };
  for (let asked = 1; ; asked += 1) {
    const { responses, clientSideThrottleTime = 0 } = await broker.fetch({
      replicaId: noReplica,
      isolationLevel: 0,
      maxWaitTime: withinMs,
      minBytes: 1,
      maxBytes: pieceBytesMax,
      topics: [{ topic, partitions: [piece] }],
    });
    const answered = responses.flatMap(({ partitions }) => partitions);
    if (answered.length > 0 || clientSideThrottleTime <= 0) return answered;
    if (asked === throttledMax) return null;
  }
}

type PartitionMetadata = Metadata['topicMetadata'][number]['partitionMetadata'];

function partitionsOf(metadata: Metadata | null, topic: string): PartitionMetadata {
  return metadata?.topicMetadata.find((one) => one.topic === topic)?.partitionMetadata ?? [];
}

/** The partitions that have a leader, each with it. */
function ledPlaces(metadata: Metadata | null, topics: string[]): (TopicPlace & { leader: number })[] {
  return topics.flatMap((topic) =>
    partitionsOf(metadata, topic)
      .filter(({ leader }) => leader >= 0)
      .map(({ partitionId, leader }) => ({ topic, partition: partitionId, leader })),
  );
}

/**
 * A topic that is not there, or that we may not see, may have records once it can be had: whoever may not describe one is not
 * told which of both it is. It is one place until then.
 */
function leaderlessOf(metadata: Metadata | null, topics: string[]): Unread[] {
  return topics.flatMap((topic) => {
    const partitions = partitionsOf(metadata, topic);
    if (partitions.length === 0) {
      const found = metadata?.topicMetadata.find((one) => one.topic === topic);
      const code = errorName(found?.topicErrorCode ?? 0);
      const refused = code !== null && needsSomebody(kindOf(code)) ? { refused: code } : {};
      return [{ topic, partition: 0, partitions: 1, ...refused }];
    }
    return partitions
      .filter(({ leader }) => leader < 0)
      .map(({ partitionId }) => ({ topic, partition: partitionId, partitions: partitions.length }));
  });
}

/**
 * Consumers are told of the end that all replicas in sync have. What a leader has taken beyond it is seen by nobody yet and
 * keeps its place when it is: of that end it tells what asks as a debugging replica does, with the right to describe alone.
 */
async function endsOf(broker: Broker, places: TopicPlace[]): Promise<TopicEnd[]> {
  // The first is refused by a broker that does not lead, the second by none.
  const seen = await listOffsets(broker, places, latest, noReplica);
  const written = await listOffsets(broker, places, latest, debuggingReplica);
  const of = new Map(written.map((end) => [placeName(end), end.nextOffset]));
  return seen.map((end) => {
    const further = of.get(placeName(end)) ?? end.nextOffset;
    return BigInt(further) > BigInt(end.nextOffset) ? { ...end, nextOffset: further } : end;
  });
}

/** Of those that the broker leads, and has led for long enough to know what can be seen. */
async function listOffsets(
  broker: Broker,
  places: TopicPlace[],
  timestamp: string,
  replicaId: number,
): Promise<TopicEnd[]> {
  const topics = [...Map.groupBy(places, ({ topic }) => topic)].map(([topic, of]) => ({
    topic,
    partitions: of.map(({ partition }) => ({ partition, timestamp })),
  }));
  const { responses } = await broker.listOffsets({ replicaId, isolationLevel: 0, topics });
  return responses.flatMap(({ topic, partitions }) =>
    partitions.flatMap(({ partition, errorCode, offset }) =>
      errorCode === 0 ? [{ topic, partition, nextOffset: offset }] : [],
    ),
  );
}

/** Two ids and a kind have no more, and what stores index no less. */
const keyBytesMax = 2048;

/**
 * None where a record is not one of ours: somebody else may write there too, and what no store could keep would be met by
 * each leader again, which would send nothing.
 */
function foundIn({ key, headers, value, offset, isControlRecord }: Message): FoundRecord[] {
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
