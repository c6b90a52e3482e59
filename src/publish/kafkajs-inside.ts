/**
 * The only file that imports kafkajs, and not before it is needed: it has 143 files. It opens the inside of version 2.2.4, refuses every other version, and mends three
 * things there: a timer that never rests, answers that are thrown away for the first error in them, and batches that it
 * cannot decompress. What requests
 * are made, and what their answers mean, must not be here. Why not its own producer: WHY.md.
 */
import type * as Kafkajs from 'kafkajs';
import type { Kafka, KafkaConfig, SASLOptions } from 'kafkajs';
import { Problem } from '../model/problem';
import { decompressLz4, decompressSnappy, decompressZstd } from './decompress';
import { encodeProduceBody, type ProduceBody } from './produce-body';

export type { KafkaConfig, SASLOptions };

export interface Metadata {
  brokers: { nodeId: number; host: string; port: number }[];
  topicMetadata: {
    topicErrorCode: number;
    topic: string;
    partitionMetadata: { partitionId: number; leader: number; replicas: number[]; isr: number[] }[];
  }[];
}

export interface ProduceAnswer {
  topics: {
    topicName: string;
    partitions: { partition: number; errorCode: number; baseOffset: string }[];
  }[];
  /** Milliseconds for which this connection holds back what it is asked next. */
  clientSideThrottleTime?: number;
}

export interface Message {
  offset: string;
  key: Buffer | null;
  value?: Buffer | null;
  headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined>;
  isControlRecord?: boolean;
}

export interface Broker {
  isConnected(): boolean;
  lookupRequest(apiKey: number, definition: unknown): MakeRequest;
  metadata(topics: string[]): Promise<Metadata>;
  produce(body: ProduceBody): Promise<ProduceAnswer>;
  listOffsets(request: {
    replicaId: number;
    isolationLevel: number;
    topics: { topic: string; partitions: { partition: number; timestamp: string }[] }[];
  }): Promise<{
    responses: { topic: string; partitions: { partition: number; errorCode: number; offset: string }[] }[];
  }>;
  fetch: (request: {
    replicaId: number;
    isolationLevel: number;
    maxWaitTime: number;
    minBytes: number;
    maxBytes: number;
    topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
  }) => Promise<{
    responses: { topicName: string; partitions: { highWatermark: string; messages: Message[] }[] }[];
    /** Milliseconds for which this connection holds back what it is asked next; absent in the oldest answers. */
    clientSideThrottleTime?: number;
  }>;
  findGroupCoordinator(request: { groupId: string; coordinatorType: number }): Promise<{
    coordinator: { nodeId: number };
  }>;
  describeConfigs(request: {
    resources: { type: number; name: string; configNames: string[] }[];
  }): Promise<{ resources: { configEntries: { configName: string; configValue: string | null }[] }[] }>;
  initProducerId(request: { transactionalId: string; transactionTimeout: number }): Promise<{
    producerId: string;
    producerEpoch: number;
  }>;
}

export interface Cluster {
  targetTopics: Set<string>;
  brokerPool: {
    metadata: Metadata | null;
    /** The one by which the cluster was reached. */
    seedBroker?: Broker;
    createBroker(options: unknown): Broker;
    findConnectedBroker(): Promise<Broker>;
  };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findBroker(of: { nodeId: number }): Promise<Broker>;
}

interface Answer {
  decode(raw: Buffer): Promise<unknown>;
  parse(data: unknown): Promise<unknown>;
}
interface Request {
  apiVersion: number;
  encode(): Promise<unknown>;
}
type MakeRequest = (parameters: { topicData: ProduceBody }) => { request: Request; response: Answer };

interface RequestQueue {
  pending: unknown[];
  /** What the cluster of this connection was made with. */
  instrumentationEmitter: Partial<ThrottleEmitter> | null;
  scheduleCheckPendingRequests(): void;
  maybeThrottle(forMs: number | null | undefined): void;
}

/** kafkajs tells it much that nobody asks for. */
interface ThrottleEmitter {
  emit(): void;
  heldBack(forMs: number): void;
}

interface Inside {
  makeClient(config: KafkaConfig): Kafka;
  Cluster: new (options: unknown) => Cluster;
  /** Kafka's name of an error code other than 0. */
  nameOf(errorCode: number): string;
  crc32c(bytes: Buffer): number;
}

const supportedVersion = '2.2.4';
/** Of the produce request: the newest that kafkajs knows; every broker since Kafka 2.1 takes it. */
const producedVersion = 7;
/** PRODUCER_FENCED is younger than the client's own list. */
const producerFencedCode = 90;

let inside: Inside | undefined;

/** Throws `publish.refused` for another version than the one this was written against. */
function openInside(): Inside {
  if (inside !== undefined) return inside;
  const { version } = require('kafkajs/package.json') as { version: string };
  if (version !== supportedVersion) {
    throw new Problem(
      'publish.refused',
      `kafkajs ${version} is installed where ${supportedVersion} is needed`,
    );
  }
  const kafkajs = require('kafkajs') as typeof Kafkajs;
  // Rooms do not log: what matters is returned or thrown.
  const silent = { logLevel: kafkajs.logLevel.NOTHING, logCreator: () => () => {} };
  const queue = (require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue }).prototype;
  mendIdleTimer(queue);
  tellThrottles(queue);
  addCodecs((require('kafkajs/src/protocol/message/compression') as { Codecs: Codecs }).Codecs);
  const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
    createErrorFromCode(code: number): { type: string };
  };
  inside = {
    makeClient: (config) => new kafkajs.Kafka({ ...config, ...silent }),
    Cluster: require('kafkajs/src/cluster') as Inside['Cluster'],
    nameOf: (code) => (code === producerFencedCode ? 'PRODUCER_FENCED' : createErrorFromCode(code).type),
    crc32c: require('kafkajs/src/protocol/recordBatch/crc32C') as Inside['crc32c'],
  };
  return inside;
}

/** By the number in a batch's attributes. */
type Codecs = Record<number, () => { decompress(bytes: Buffer): Promise<Buffer> }>;

/** Of the codecs it names it has gzip; a topic whose batches brokers compress otherwise could not be read. */
function addCodecs(codecs: Codecs): void {
  codecs[2] = () => ({ decompress: async (bytes) => decompressSnappy(bytes) });
  codecs[3] = () => ({ decompress: async (bytes) => decompressLz4(bytes) });
  codecs[4] = () => ({ decompress: decompressZstd });
}

/**
 * The queue looks after waiting requests by a timer that it arms again for ever, one millisecond after the other, also
 * when nothing waits. Whoever adds to the queue arms it as well, so an empty one needs none.
 */
function mendIdleTimer(queue: RequestQueue): void {
  const { scheduleCheckPendingRequests } = queue;
  queue.scheduleCheckPendingRequests = function whenAnyWaits(this: RequestQueue) {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}

/** For how long an answer holds back what is asked next on its connection: the queue obeys, and tells nobody else. */
function tellThrottles(queue: RequestQueue): void {
  const { maybeThrottle } = queue;
  queue.maybeThrottle = function andTell(this: RequestQueue, forMs) {
    maybeThrottle.call(this, forMs);
    if (forMs) this.instrumentationEmitter?.heldBack?.(forMs);
  };
}

/**
 * kafkajs throws the first error that it finds in an answer and drops the rest: one topic that is denied hides every
 * other topic of the metadata, one partition that is refused hides the offsets of those that were written, and one that
 * has a new leader the ends of all others. A broker changed by this hands these answers over as they came, and writes produce
 * requests with our encoder, which makes the same bytes for a fifth of the time.
 */
function mendBroker(broker: Broker, { crc32c }: Inside): Broker {
  const { listOffsets, metadata, produce } = broker as unknown as Record<
    'listOffsets' | 'metadata' | 'produce',
    (of: unknown) => never
  >;
  const reading = withRequests(broker, (request) => request);
  const writing = withRequests(broker, (request, { topicData }) => {
    if (request.apiVersion !== producedVersion) {
      throw new Problem('publish.refused', 'these brokers are older than Kafka 2.1');
    }
    // What kafkajs takes for one of its encoders.
    const encode = async () => {
      const buffer = encodeProduceBody(topicData, crc32c);
      return { buf: buffer, buffer };
    };
    return { ...request, encode };
  });
  broker.metadata = (topics) => metadata.call(reading, topics);
  broker.listOffsets = (request) => listOffsets.call(reading, request);
  broker.produce = (body) => produce.call(writing, { topicData: body });
  return broker;
}

/** The same broker, but its requests are changed and its answers are not judged. */
function withRequests(
  broker: Broker,
  change: (request: Request, parameters: { topicData: ProduceBody }) => Request,
): Broker {
  const lookupRequest: Broker['lookupRequest'] = (apiKey, definition) => {
    const make = broker.lookupRequest(apiKey, definition);
    return (parameters) => {
      const { request, response } = make(parameters);
      const answer = { decode: response.decode, parse: async (data: unknown) => data };
      return { request: change(request, parameters), response: answer };
    };
  };
  return Object.create(broker, { lookupRequest: { value: lookupRequest } });
}

/**
 * A cluster that is not connected yet and whose brokers are mended. `heldBack` hears for how many milliseconds each answer holds
 * back what is asked next on its connection. Throws `publish.refused` for another kafkajs.
 */
export function makeInnerCluster(
  config: KafkaConfig & { metadataMaxAge: number },
  heldBack: (forMs: number) => void = () => {},
): Cluster {
  const inner = openInside();
  const cluster = new inner.Cluster({
    ...config,
    logger: inner.makeClient(config).logger(),
    allowAutoTopicCreation: false,
    maxInFlightRequests: null,
    instrumentationEmitter: { emit() {}, heldBack } satisfies ThrottleEmitter,
  });
  const { createBroker } = cluster.brokerPool;
  cluster.brokerPool.createBroker = (options) => mendBroker(createBroker(options), inner);
  return cluster;
}

/** kafkajs's administration client, as it is. Throws `publish.refused` for another kafkajs. */
export function makeAdministrator(config: KafkaConfig) {
  return openInside().makeClient(config).admin();
}

/** Kafka's name of an error code; null for 0. Throws `publish.refused` for another kafkajs. */
export function errorName(errorCode: number): string | null {
  return errorCode === 0 ? null : openInside().nameOf(errorCode);
}
