/**
 * The topics as declared in deploy/topics.json, created where they are missing and described as they are. For people who
 * set up an installation and for checks; the running service creates no topic.
 */
import { counted } from '../model/counted';
import { Problem } from '../model/problem';
import { type Clock, endsWithin } from '../tools/clock';
import { connectionLost, describeError, kindOf, timedOut } from './classify-error';
import { type ClusterTimes, clientConfig, type KafkaSettings, transactionalIdOf } from './client-config';
import type { KafkaCluster, PartitionState, TopicState } from './kafka-cluster';
import { makeAdministrator } from './kafkajs-inside';
import { reachCluster } from './reach-cluster';
import { epochFault, unreachedLeaders } from './reach-leaders';
import { unreadableTopics } from './unreadable-topics';

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

/** A declared topic as it is. */
export interface DeclaredTopic extends TopicDescription {
  /** How it is less than declared, or keeps something else; null where it does not. */
  below: string | null;
  /** How many of its partitions cannot be written now, and why; null where all can, as far as the cluster tells. */
  unwritable: string | null;
}

/** What of it the cluster has; `minInSync` is null where it does not tell us. */
export interface Copies {
  replicas: number;
  minInSync: number | null;
  brokers: number;
}

export interface TopicOptions extends ClusterTimes {
  clock: Clock;
}

/** The declared topics, and what else keeps events from them. */
export interface DeclaredKafka {
  topics: DeclaredTopic[];
  /** Named brokers that said nothing until another answered. */
  silent: string[];
  /** A sentence for each leader that is not reached, for each topic that may not be read, and for an epoch that nobody gives out. */
  faults: string[];
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
): Promise<(DeclaredTopic & { created: boolean })[]> {
  const names = declarations.map(({ name }) => `${prefix}.${name}`);
  return withCluster(settings, options, async ({ cluster, describe, answering }) => {
    const before = await describe(names);
    const missing = declarations.filter((_, index) => before[index]?.state === 'missing');
    if (missing.length > 0) {
      const topics = missing.map((declaration) => topicRequest(prefix, declaration, cluster.brokerCount()));
      const administrator = makeAdministrator(clientConfig(answering, options));
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
    const measured = await measure(after, declarations, cluster);
    return measured.map((topic, index) => ({ ...topic, created: before[index]?.state === 'missing' }));
  });
}

const faultMsMax = 1_500;
const faultMsMin = 200;

/**
 * The declared topics as they are, and whether a producer in this role could write to them: its epoch, the leaders and the right to read are
 * asked side by side, for what is left of `withinMs`, 200 ms at least and 1500 ms at most. Throws `publish.unavailable` or
 * `publish.refused`.
 */
export async function describeDeclared(
  settings: KafkaSettings,
  prefix: string,
  declarations: TopicDeclaration[],
  options: TopicOptions & { role: string; withinMs: number },
): Promise<DeclaredKafka> {
  const { clock, role } = options;
  const untilMs = clock.steadyMs() + options.withinMs;
  const names = declarations.map(({ name }) => `${prefix}.${name}`);
  return withCluster(settings, options, async ({ cluster, describe, silent }) => {
    const topics = await measure(await describe(names), declarations, cluster);
    const leftMs = Math.max(faultMsMin, Math.min(faultMsMax, untilMs - clock.steadyMs()));
    const [epoch, leaders, unreadable] = await Promise.all([
      epochFault(cluster, transactionalIdOf(settings, role), leftMs, clock),
      unreachedLeaders(cluster, names, leftMs, clock),
      unreadableTopics(cluster, names, leftMs, clock),
    ]);
    return { topics, silent, faults: [...leaders, ...unreadable, ...(epoch === null ? [] : [epoch])] };
  });
}

/** The topics as they are, in the order asked for. Throws `publish.unavailable` or `publish.refused`. */
export async function describeTopics(
  settings: KafkaSettings,
  names: string[],
  options: TopicOptions,
): Promise<TopicDescription[]> {
  return withCluster(settings, options, ({ describe }) => describe(names));
}

interface Reached {
  cluster: KafkaCluster;
  describe(names: string[]): Promise<TopicDescription[]>;
  /** The same settings, those brokers last that were asked and said nothing. */
  answering: KafkaSettings;
  silent: string[];
}

async function withCluster<T>(
  settings: KafkaSettings,
  options: TopicOptions,
  work: (reached: Reached) => Promise<T>,
): Promise<T> {
  const reaching = reachCluster(settings, options);
  const where = ` at ${settings.brokers.join(', ')}`;
  try {
    const connecting = reaching.connect();
    if (!(await endsWithin(connecting, 3 * options.connectTimeoutMs, options.clock)))
      throw new Problem('publish.unavailable', `Kafka gave no answer${where}`);
    const cluster = await connecting;
    const describe = async (names: string[]) => {
      await cluster.learn(names);
      return names.map((topic) => describeTopic(topic, cluster.topicState(topic)));
    };
    const silent = reaching.silent();
    const brokers = [...settings.brokers.filter((one) => !silent.includes(one)), ...silent];
    return await work({ cluster, describe, answering: { ...settings, brokers }, silent });
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { code, detail } = describeError(error);
    const problem = kindOf(code) === 'denied' ? 'publish.refused' : 'publish.unavailable';
    // What was answered was answered by one that is well.
    const isUnheard = code === connectionLost || code === timedOut;
    const place = isUnheard && !detail.includes(' at ') ? where : '';
    throw new Problem(problem, `Kafka cannot be used: ${detail}${place}`, error);
  } finally {
    reaching.destroy();
  }
}

async function measure(
  topics: TopicDescription[],
  declarations: TopicDeclaration[],
  cluster: KafkaCluster,
): Promise<DeclaredTopic[]> {
  const brokers = cluster.brokerCount();
  return Promise.all(
    topics.map(async (topic, index) => {
      if (topic.state !== 'present') return { ...topic, below: null, unwritable: null };
      const told = await cluster.settingsOf(topic.topic, comparedSettings);
      const minInSync = Number(told.get(inSyncSetting)) || null;
      const copies = { replicas: topic.replicas, minInSync, brokers };
      const declared = declarations[index] as TopicDeclaration;
      const below = [unlikeDeclared(told, declared.config), belowDeclared(copies, declared)];
      return {
        ...topic,
        below: below.filter((one) => one !== null).join(' and ') || null,
        unwritable: unwritable(cluster.topicState(topic.topic)?.partitions ?? [], minInSync),
      };
    }),
  );
}

/** Why partitions of a topic take no record that all replicas in sync are to have; null where all of them take it. */
export function unwritable(partitions: PartitionState[], minInSync: number | null): string | null {
  const led = partitions.filter(({ leader }) => leader >= 0);
  const leaderless = partitions.length - led.length;
  const few = led.filter(({ inSync }) => inSync < (minInSync ?? 0));
  const of = (count: number) => `${count} of ${counted(partitions.length, 'partition')}`;
  const why = [
    ...(leaderless > 0 ? [`${of(leaderless)} without a leader`] : []),
    ...(few.length > 0
      ? [
          `${of(few.length)} with ${Math.min(...few.map(({ inSync }) => inSync))} in sync, where a write waits for ${minInSync}`,
        ]
      : []),
  ];
  return why.length === 0 ? null : why.join(' and ');
}

/**
 * How a topic has fewer copies, or waits for fewer, than is declared: then an acknowledged record is lost with fewer disks.
 * null where it has as many. More than declared is well.
 */
export function belowDeclared(
  { replicas, minInSync, brokers }: Copies,
  { replicationFactor, config }: Pick<TopicDeclaration, 'replicationFactor' | 'config'>,
): string | null {
  const declaredInSync = Number(config[inSyncSetting] ?? 1);
  const few = [
    ...(replicas < replicationFactor
      ? [`${counted(replicas, 'replica')} of ${replicationFactor} declared`]
      : []),
    ...(minInSync !== null && minInSync < declaredInSync
      ? [`min.insync.replicas ${minInSync} of ${declaredInSync} declared`]
      : []),
  ];
  if (few.length === 0) return null;
  const reason = brokers < replicationFactor ? `: the cluster has ${counted(brokers, 'broker')}` : '';
  return `${few.join(' and ')}${reason}`;
}

/**
 * How a topic takes less at once than is declared, keeps another part of it, or may lose what was acknowledged; null where it does not,
 * or does not tell.
 */
export function unlikeDeclared(
  told: ReadonlyMap<string, string>,
  config: TopicDeclaration['config'],
): string | null {
  const [size, declaredSize] = [told.get(sizeSetting), config[sizeSetting]];
  const [cleanup, declaredCleanup] = [told.get(cleanupSetting), config[cleanupSetting]];
  const mayLose = told.get(uncleanSetting) === 'true' && config[uncleanSetting] === 'false';
  const unlike = [
    ...(Number(size) < Number(declaredSize) ? [`${sizeSetting} ${size} of ${declaredSize} declared`] : []),
    ...(cleanup !== undefined && declaredCleanup !== undefined && cleanup !== declaredCleanup
      ? [`${cleanupSetting} ${cleanup} where ${declaredCleanup} is declared`]
      : []),
    ...(mayLose ? [`${uncleanSetting} true where false is declared`] : []),
  ];
  return unlike.length === 0 ? null : unlike.join(' and ');
}

const inSyncSetting = 'min.insync.replicas';
const sizeSetting = 'max.message.bytes';
const cleanupSetting = 'cleanup.policy';
const uncleanSetting = 'unclean.leader.election.enable';
const comparedSettings = [inSyncSetting, sizeSetting, cleanupSetting, uncleanSetting];

function topicRequest(prefix: string, declaration: TopicDeclaration, brokers: number) {
  const replicationFactor = Math.min(declaration.replicationFactor, Math.max(1, brokers));
  const config = { ...declaration.config };
  const inSync = config[inSyncSetting];
  if (inSync !== undefined && Number(inSync) > replicationFactor) {
    config[inSyncSetting] = String(replicationFactor);
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
