// A real Apache Kafka for tests and benches: one to three brokers as Java processes of this machine, each of which can
// be stopped, continued, killed and started again. One suite starts one cluster. It promises that nothing is left
// behind: processes end by their own ids, also when the runner dies, and their folder is removed by `stop`.
// With several brokers the controller is a process of its own, so that any broker may fall without taking the quorum.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port';
import { Kafka, logLevel } from './kafka-client';
import {
  bringKafkaJars,
  kafkaCheckpointFile,
  kafkaClassesFile,
  kafkaJarsCached,
  mavenFound,
} from './kafka-jars';
import type { Availability } from './neighbour';
import { endWithRunner } from './reaper';
import { until } from './until';

export type KafkaOptions = {
  brokers?: 1 | 2 | 3;
  /** `min.insync.replicas` of topics that do not say; 1 when left out. */
  minInSyncReplicas?: number;
  /** Further broker properties; they win over the ones chosen here. */
  properties?: Record<string, string | number | boolean>;
  /** Each broker has one more door, that of `loginBrokers`, which opens by SASL PLAIN with these only. */
  login?: { username: string; password: string };
  /** Java's heap per broker; 384 unless a bench needs more. */
  heapMegabytes?: number;
  /** It is to be fast for minutes; one that lives for seconds compiles only what it must. */
  lasting?: boolean;
};

/** A running cluster. Brokers are counted from 0, and their node ids (as Kafka says them) from 1. */
export type KafkaCluster = {
  /** `host:port` of each broker. */
  brokers: string[];
  /** `host:port` of each broker's door that wants a login; none unless `login` was given. */
  loginBrokers: string[];
  /** Process ids of the brokers as of now; empty for a cluster that is not ours. */
  readonly pids: number[];
  /** SIGSTOP: the broker keeps its connections and says nothing. */
  pause(broker: number): void;
  /** SIGCONT. */
  resume(broker: number): void;
  /** SIGKILL, and waits for the end. What the broker had acknowledged is in its folder. */
  kill(broker: number): Promise<void>;
  /** Starts the broker again on its port and folder, killing it first when it runs. Waits until it has joined. */
  restart(broker: number): Promise<void>;
  /** Ends everything and removes the folder. May be called twice. */
  stop(): Promise<void>;
};

const startMsMax = 240_000;
/** For the hook of a suite that starts a cluster: what does not come up is told by its own words, and not by the hook's limit. */
export const kafkaStartsWithinMs = startMsMax + 60_000;

let availability: Availability | undefined;

/** Whether `startKafka` can work here: named brokers, or Java 17 and the jars or the Maven to fetch them. */
export function kafkaAvailable(): Availability {
  availability ??= findOut();
  return availability;
}

function findOut(): Availability {
  if (namedBrokers().length > 0) return { available: true };
  const java = spawnSync('java', ['-version'], { encoding: 'utf8' });
  const version = Number(/version "(\d+)/.exec(java.stderr ?? '')?.[1] ?? 0);
  if (version < 17) return { available: false, reason: 'Java 17 or later is not installed' };
  if (!kafkaJarsCached() && !mavenFound()) {
    return { available: false, reason: 'its jars are not cached and Maven is not installed' };
  }
  return { available: true };
}

function namedBrokers(): string[] {
  return (process.env.TEST_KAFKA_BROKERS ?? '')
    .split(',')
    .map((broker) => broker.trim())
    .filter((broker) => broker !== '');
}

/**
 * Starts a cluster (about 6 s on an idle machine) and answers when every broker has joined. A single broker, asked for
 * without properties and a login of its own, is the one of TEST_KAFKA_BROKERS when that is set. Throws with the end of every
 * node's log when it does not come up within 90 s.
 */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaCluster> {
  const count = options.brokers ?? 1;
  const isAny = options.properties === undefined && options.login === undefined;
  if (count === 1 && isAny && namedBrokers().length > 0) return namedCluster();
  return startCluster(options, virtualMachineOf(options));
}

/**
 * For whoever starts a broker after this: one is started, and ended in peace, since Java writes the archive at its end. What
 * its storage was formatted with is kept as well.
 */
export async function archiveKafkaClasses(): Promise<void> {
  const partial = `${kafkaClassesFile()}.partial`;
  const cluster = await startCluster({}, [...virtualMachineOf({}), `-XX:ArchiveClassesAtExit=${partial}`]);
  await cluster.leave(kafkaCheckpointFile());
  renameSync(partial, kafkaClassesFile());
}

function virtualMachineOf({ lasting = false }: KafkaOptions): string[] {
  const archive = kafkaClassesFile();
  return [
    ...(lasting ? [] : ['-XX:TieredStopAtLevel=1']),
    // One of another Java is left aside.
    ...(existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`] : []),
  ];
}

async function startCluster(options: KafkaOptions, virtualMachine: string[]): Promise<LocalCluster> {
  const jars = await bringKafkaJars();
  const folder = mkdtempSync(join(tmpdir(), 'tramline-kafka-'));
  const nodes = await layOut(folder, options.brokers ?? 1, options);
  const heap = options.heapMegabytes ?? 384;
  const cluster = new LocalCluster(folder, join(jars, '*'), nodes, heap, virtualMachine);
  try {
    await cluster.start();
  } catch (error) {
    const logs = cluster.lastLines();
    await cluster.stop();
    throw new Error(`Kafka did not start: ${(error as Error).message}\n${logs}`, { cause: error });
  }
  return cluster;
}

function namedCluster(): KafkaCluster {
  const refuse = (): never => {
    throw new Error('The brokers of TEST_KAFKA_BROKERS are not ours to stop.');
  };
  return {
    brokers: namedBrokers(),
    loginBrokers: [],
    pids: [],
    pause: refuse,
    resume: refuse,
    kill: refuse,
    restart: refuse,
    stop: async () => {},
  };
}

type Node = {
  id: number;
  port: number;
  loginPort: number | null;
  isBroker: boolean;
  folder: string;
  settings: string;
};

async function layOut(folder: string, count: number, options: KafkaOptions): Promise<Node[]> {
  const controllerPort = await freePort();
  const controllerId = count === 1 ? 1 : 100;
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  if (count > 1) ids.unshift(controllerId);
  const nodes: Node[] = [];
  for (const id of ids) {
    const isController = id === controllerId;
    const isBroker = id !== 100;
    const port = isBroker ? await freePort() : controllerPort;
    const loginPort = isBroker && options.login !== undefined ? await freePort() : null;
    const listeners: string[] = [];
    if (isBroker) listeners.push(`PLAINTEXT://127.0.0.1:${port}`);
    if (loginPort !== null) listeners.push(`LOGIN://127.0.0.1:${loginPort}`);
    const advertised = listeners.join(',');
    if (isController) listeners.push(`CONTROLLER://127.0.0.1:${controllerPort}`);
    const nodeFolder = join(folder, `node-${id}`);
    mkdirSync(nodeFolder);
    const properties = {
      'process.roles': [isBroker ? 'broker' : '', isController ? 'controller' : ''].filter(Boolean).join(','),
      'node.id': id,
      'controller.quorum.voters': `${controllerId}@127.0.0.1:${controllerPort}`,
      listeners: listeners.join(','),
      ...(isBroker ? { 'advertised.listeners': advertised } : {}),
      'log.dirs': dataOf({ folder: nodeFolder }),
      ...commonProperties(count, options.minInSyncReplicas ?? 1),
      ...(options.login === undefined ? {} : loginProperties(options.login)),
      ...options.properties,
    };
    const settings = join(nodeFolder, 'server.properties');
    writeFileSync(settings, linesOf(properties));
    nodes.push({ id, port, loginPort, isBroker, folder: nodeFolder, settings });
  }
  return nodes;
}

const dataOf = ({ folder }: Pick<Node, 'folder'>): string => join(folder, 'data');

const linesOf = (properties: Record<string, string | number | boolean>): string =>
  Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

function loginProperties({ username, password }: { username: string; password: string }) {
  const plain = 'org.apache.kafka.common.security.plain.PlainLoginModule';
  return {
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT',
    'listener.name.login.sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.login.plain.sasl.jaas.config': `${plain} required user_${username}="${password}";`,
  };
}

function commonProperties(count: number, minInSyncReplicas: number): Record<string, string | number> {
  return {
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'auto.create.topics.enable': 'false',
    'default.replication.factor': count,
    'min.insync.replicas': minInSyncReplicas,
    'offsets.topic.replication.factor': count,
    'offsets.topic.num.partitions': 3,
    'transaction.state.log.replication.factor': count,
    // A coordinator that outlives its neighbour, whatever the topics under test demand.
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 3,
    'group.initial.rebalance.delay.ms': 0,
    // A stopped broker is found out in 3 s instead of 9, and thrown out of the in-sync replicas then.
    'broker.heartbeat.interval.ms': 500,
    'broker.session.timeout.ms': 3000,
    'replica.lag.time.max.ms': 3000,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'log.cleaner.dedupe.buffer.size': 4_194_304,
  };
}

class LocalCluster implements KafkaCluster {
  readonly brokers: string[];
  readonly loginBrokers: string[];
  private readonly processes = new Map<Node, ChildProcess>();
  private stopped = false;

  constructor(
    private readonly folder: string,
    private readonly classPath: string,
    private readonly nodes: Node[],
    private readonly heapMegabytes: number,
    private readonly virtualMachine: string[],
  ) {
    this.brokers = this.brokerNodes().map((node) => `127.0.0.1:${node.port}`);
    this.loginBrokers = this.brokerNodes().flatMap(({ loginPort }) =>
      loginPort === null ? [] : [`127.0.0.1:${loginPort}`],
    );
  }

  get pids(): number[] {
    return this.brokerNodes().flatMap((node) => this.processes.get(node)?.pid ?? []);
  }

  async start(): Promise<void> {
    await Promise.all(this.nodes.map((node) => this.format(node)));
    for (const node of this.nodes) this.launch(node);
    await this.joined(this.brokerNodes());
  }

  pause(broker: number): void {
    this.running(broker).kill('SIGSTOP');
  }

  resume(broker: number): void {
    this.running(broker).kill('SIGCONT');
  }

  async kill(broker: number): Promise<void> {
    await end(this.processes.get(this.brokerNode(broker)));
  }

  async restart(broker: number): Promise<void> {
    await this.kill(broker);
    const node = this.brokerNode(broker);
    this.launch(node);
    await this.joined([node]);
  }

  async stop(): Promise<void> {
    if (this.stopped) return;
    this.stopped = true;
    await Promise.all([...this.processes.values()].map(end));
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** SIGTERM, and waits until every node has ended by itself. */
  async leave(checkpointFile: string): Promise<void> {
    const nodes = [...this.processes.values()];
    for (const node of nodes) node.kill('SIGTERM');
    await Promise.all(nodes.map(exited));
    copyFileSync(join(dataOf(this.nodes[0]!), checkpointName), checkpointFile);
    await this.stop();
  }

  /** The end of each node's log, for the error of a cluster that does not come up. */
  lastLines(): string {
    const ends = this.nodes.map((node) => {
      const lines = readFileSync(join(node.folder, 'log'), 'utf8').trimEnd().split('\n');
      return [`node ${node.id}:`, ...lines.slice(-15)].join('\n');
    });
    return ends.join('\n');
  }

  private brokerNodes(): Node[] {
    return this.nodes.filter((node) => node.isBroker);
  }

  private brokerNode(broker: number): Node {
    const node = this.brokerNodes()[broker];
    if (node === undefined) throw new Error(`There is no broker ${broker}; the first is 0.`);
    return node;
  }

  private running(broker: number): ChildProcess {
    const child = this.processes.get(this.brokerNode(broker));
    if (child === undefined || hasEnded(child)) throw new Error(`Broker ${broker} does not run.`);
    return child;
  }

  /** A Java of its own for each node, where nobody has kept what it writes: the same for all, and their names. */
  private async format(node: Node): Promise<void> {
    const data = dataOf(node);
    if (existsSync(kafkaCheckpointFile())) {
      mkdirSync(data);
      copyFileSync(kafkaCheckpointFile(), join(data, checkpointName));
      const directoryId = randomBytes(16).toString('base64url');
      const names = { version: 1, 'cluster.id': clusterId, 'node.id': node.id, 'directory.id': directoryId };
      writeFileSync(join(data, 'meta.properties'), linesOf(names));
      return;
    }
    const tool = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', node.settings];
    const child = this.java(node, ['-Xmx64m'], tool);
    if ((await exited(child)) !== 0) throw new Error(`the storage of node ${node.id} could not be formatted`);
  }

  private launch(node: Node): void {
    const heap = node.isBroker ? this.heapMegabytes : 128;
    this.processes.set(node, this.java(node, [`-Xmx${heap}m`], ['kafka.Kafka', node.settings]));
  }

  private java(node: Node, memory: string[], program: string[]): ChildProcess {
    const log = openSync(join(node.folder, 'log'), 'a');
    const options = [
      ...memory,
      ...this.virtualMachine,
      '-XX:+UseSerialGC',
      '-Xshare:auto',
      '-XX:-UsePerfData',
    ];
    const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';
    const child = spawn('java', [...options, logging, '-cp', this.classPath, ...program], {
      cwd: node.folder,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    child.once('error', () => {});
    endWithRunner(child);
    return child;
  }

  /** Waits until these brokers accept connections and say themselves that they belong to the cluster. */
  private async joined(nodes: Node[]): Promise<void> {
    const living = (): true => {
      const ended = nodes.find((node) => hasEnded(this.processes.get(node) as ChildProcess));
      if (ended !== undefined) throw new EndedByItself(`node ${ended.id} ended by itself`);
      return true;
    };
    const every = { withinMs: startMsMax, everyMs: 100, unless: EndedByItself };
    await until(async () => living() && (await Promise.all(nodes.map(accepts))).every(Boolean), {
      ...every,
      what: 'every broker to accept connections',
    });
    const brokers = nodes.map((node) => `127.0.0.1:${node.port}`);
    const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 0 } });
    const admin = kafka.admin();
    const whole = async (): Promise<boolean> => {
      await admin.connect();
      const known = (await admin.describeCluster()).brokers.map((broker) => broker.nodeId);
      return nodes.every((node) => known.includes(node.id));
    };
    try {
      await until(() => living() && whole(), { ...every, what: 'every broker to join' });
    } finally {
      await admin.disconnect();
    }
  }
}

class EndedByItself extends Error {}

// Any 16 bytes in URL-safe base64; each cluster has its own ports and folder, so they may share it.
const clusterId = 'dHJhbWxpbmUtdGVzdHMtMQ';

/** Where a formatted storage says which features its cluster begins with. */
const checkpointName = 'bootstrap.checkpoint';

function accepts(node: Node): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(node.port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function exited(child: ChildProcess): Promise<number | null> {
  if (hasEnded(child)) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once('exit', (code) => resolve(code)));
}

/** Kills the process, also when it is stopped, and waits until it is gone. */
async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || hasEnded(child)) return;
  const gone = exited(child);
  child.kill('SIGKILL');
  await gone;
}
