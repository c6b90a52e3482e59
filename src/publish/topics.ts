/**
 * The topics as declared in deploy/topics.json, created where they are missing and described as they are. For people who
 * set up an installation and for checks; the running service creates no topic.
 */
import { Problem } from '../model/problem';
import type { Clock } from '../tools/clock';
import { describeError, kindOf } from './classify-error';
import type { ClusterTimes, KafkaSettings } from './client-config';
import { administrate, makeCluster, type TopicState } from './kafka-cluster';

/** One entry of deploy/topics.json; the topic's name is the prefix, a dot and `name`. */
export interface TopicDeclaration {
  name: string;
  partitions: number;
  replicationFactor: number;
  /** Kafka's own topic settings, as text. */
  config: Record<string, string>;
}

export interface TopicDescription {
  topic: string;
  state: 'present' | 'missing' | 'denied' | 'unknown';
  partitions: number;
  /** Of the partition that has the fewest. */
  replicas: number;
  /** Partitions that cannot be written now. */
  leaderless: number[];
  /** Kafka's name of the reason when it is not present. */
  code: string | null;
}

export interface TopicOptions extends ClusterTimes {
  clock: Clock;
}

const leaderWaitMsMax = 10_000;
const leaderPauseMs = 100;

/**
 * Creates what is missing and changes nothing that is there; safe to repeat and to run twice at once. On a cluster with
 * fewer brokers than replicas are declared, as many as there are brokers are made, and as many are asked to be in sync.
 * Answers when all have leaders, or after 10 s. Throws `publish.unavailable` or `publish.refused`.
 */
export async function createTopics(
  settings: KafkaSettings,
  prefix: string,
  declarations: TopicDeclaration[],
  options: TopicOptions,
): Promise<(TopicDescription & { created: boolean })[]> {
  const names = declarations.map(({ name }) => `${prefix}.${name}`);
  return withCluster(settings, options, async (describe, brokerCount) => {
    const before = await describe(names);
    const missing = declarations.filter((_, index) => before[index]?.state === 'missing');
    if (missing.length > 0) {
      const topics = missing.map((declaration) => topicRequest(prefix, declaration, brokerCount()));
      const administrator = administrate(settings, options);
      try {
        await administrator.connect();
        // Answers false when another one was quicker: then they are there as well.
        await administrator.createTopics({ topics, waitForLeaders: false });
      } finally {
        await administrator.disconnect();
      }
    }
    const untilMs = options.clock.steadyMs() + leaderWaitMsMax;
    let after = await describe(names);
    while (after.some(isNotReadyYet) && options.clock.steadyMs() < untilMs) {
      await options.clock.wait(leaderPauseMs);
      after = await describe(names);
    }
    return after.map((topic, index) => ({ ...topic, created: before[index]?.state === 'missing' }));
  });
}

/** The topics as they are, in the order asked for. Throws `publish.unavailable` or `publish.refused`. */
export async function describeTopics(
  settings: KafkaSettings,
  names: string[],
  options: TopicOptions,
): Promise<TopicDescription[]> {
  return withCluster(settings, options, (describe) => describe(names));
}

async function withCluster<T>(
  settings: KafkaSettings,
  options: TopicOptions,
  work: (describe: (names: string[]) => Promise<TopicDescription[]>, brokerCount: () => number) => Promise<T>,
): Promise<T> {
  const cluster = makeCluster(settings, options);
  const describe = async (names: string[]) => {
    await cluster.learn(names);
    return names.map((topic) => describeTopic(topic, cluster.topicState(topic)));
  };
  try {
    await cluster.connect();
    return await work(describe, cluster.brokerCount);
  } catch (error) {
    const { code, detail } = describeError(error);
    const problem = kindOf(code) === 'denied' ? 'publish.refused' : 'publish.unavailable';
    throw new Problem(problem, `Kafka cannot be used: ${detail}`, error);
  } finally {
    cluster.destroy();
  }
}

function topicRequest(prefix: string, declaration: TopicDeclaration, brokers: number) {
  const replicationFactor = Math.min(declaration.replicationFactor, Math.max(1, brokers));
  const config = { ...declaration.config };
  const inSync = config['min.insync.replicas'];
  if (inSync !== undefined && Number(inSync) > replicationFactor) {
    config['min.insync.replicas'] = String(replicationFactor);
  }
  return {
    topic: `${prefix}.${declaration.name}`,
    numPartitions: declaration.partitions,
    replicationFactor,
    configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
  };
}

function describeTopic(topic: string, state: TopicState | null): TopicDescription {
  const code = state === null ? 'UNKNOWN_TOPIC_OR_PARTITION' : state.code;
  const partitions = state?.partitions ?? [];
  const replicas =
    partitions.length === 0 ? 0 : Math.min(...partitions.map((partition) => partition.replicas));
  const leaderless = partitions.flatMap(({ leader }, number) => (leader < 0 ? [number] : []));
  return { topic, state: stateOf(code), partitions: partitions.length, replicas, leaderless, code };
}

function stateOf(code: string | null): TopicDescription['state'] {
  if (code === null) return 'present';
  const kind = kindOf(code);
  return kind === 'missing' || kind === 'denied' ? kind : 'unknown';
}

function isNotReadyYet({ state, leaderless }: TopicDescription): boolean {
  return state !== 'denied' && (state !== 'present' || leaderless.length > 0);
}
