// The place where figures are taken: one folder, one simulator, one generator, one broker, and the ways to start what is
// measured against them. Everything is started when first needed and ended by `leave`.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import { kafkaTargetDefaults } from '../src/publish/kafka';
import { createTopics, type TopicDeclaration } from '../src/publish/topics';
import { systemClock } from '../src/tools/clock';
import { type KafkaCluster, startKafka } from '../test/support/kafka';
import { repositoryRoot } from '../test/support/repository';
import { until } from '../test/support/until';
import { type Child, startChild } from './child';
import { type Generator, type Resource, startGenerator } from './deliveries';

/** One that takes deliveries, measured or floor. */
export interface Receiver extends Child {
  /** 0 of a worker, which takes none. */
  port: number;
  /** null where nothing reaches Kafka. */
  topic: string | null;
}

export interface Simulator extends Child {
  environment: Record<string, string>;
  control: string;
}

/** What the provider has, each organization as much as every other, and how long an answer takes it. */
export interface World {
  organizations: number;
  equipment: number;
  fieldOperations: number;
  latencyMs: number;
}

/** The command as it ships, or without what it measures of itself. */
export type ServeProgram = 'serve' | 'serve-uncounted';

export interface Place {
  folder: string;
  simulator(): Promise<Simulator>;
  /** One more, with another world. */
  simulate(world: Partial<World>): Promise<Simulator>;
  /** Where spans and metrics may be sent. */
  collector(): Promise<string>;
  generator(): Promise<Generator>;
  authorization(): Promise<string>;
  /** `serve` on a new store, unless the settings name one. With Kafka when a topic prefix is given. */
  serve(settings?: Record<string, string>, topicPrefix?: string, program?: ServeProgram): Promise<Receiver>;
  bareReceiver(): Promise<Receiver>;
  /** Reads what it is posted, through the service's own client. */
  bareReads(): Promise<Child>;
  /** Holds what is on one topic now, and sends it to another when it is posted. */
  bareSender(from: string, to: string): Promise<Child>;
  /** The bare loop on a topic of its own, with as many partitions. */
  bareLoop(topicPrefix: string, settings?: Record<string, string>): Promise<Receiver>;
  /** Makes the topics of deploy/topics.json, with these properties over those declared there. */
  createTopics(prefix: string, config?: Record<string, string>): Promise<void>;
  kafka(): Promise<Kafka>;
  /** Where the next record of each partition will stand. */
  offsets(topic: string): Promise<{ partition: number; offset: string }[]>;
  /** How many records the topic holds. */
  records(topic: string): Promise<number>;
  /** Requests that the provider had, of any kind. */
  providerRequests(): Promise<number>;
  leave(): Promise<void>;
}

const usualWorld: World = { organizations: 100, equipment: 2000, fieldOperations: 0, latencyMs: 5 };

/** With a provider of the usual world, but for what is given. */
export function arrive(world: Partial<World> = {}): Place {
  return new BenchPlace({ ...usualWorld, ...world });
}

class BenchPlace implements Place {
  readonly folder = mkdtempSync(join(tmpdir(), 'tramline-bench-'));
  #simulator: Promise<Simulator> | undefined;
  #generator: Promise<Generator> | undefined;
  #cluster: Promise<KafkaCluster> | undefined;
  #admin: Admin | undefined;
  #stores = 0;
  readonly #children: Child[] = [];
  readonly #key = `bench:${randomBytes(32).toString('base64')}`;

  constructor(private readonly world: World) {}

  simulator(): Promise<Simulator> {
    this.#simulator ??= this.simulate({});
    return this.#simulator;
  }

  async simulate(world: Partial<World>) {
    const options = { ...this.world, ...world, heartbeatMs: 0 };
    const child = await this.#start('bench/programs/simulate', {
      SIMULATOR_OPTIONS: JSON.stringify(options),
    });
    return Object.assign(child, {
      environment: child.ready.environment as Record<string, string>,
      control: child.ready.control as string,
    });
  }

  async collector(): Promise<string> {
    return (await this.#start('bench/programs/collector', {})).ready.url as string;
  }

  generator(): Promise<Generator> {
    this.#generator ??= this.simulator()
      .then(equipmentOf)
      .then((resources) => startGenerator(resources, this.folder));
    return this.#generator;
  }

  async authorization(): Promise<string> {
    const { WEBHOOK_AUTHORIZATION } = (await this.simulator()).environment;
    return WEBHOOK_AUTHORIZATION as string;
  }

  async serve(
    settings: Record<string, string> = {},
    topicPrefix?: string,
    program: ServeProgram = 'serve',
  ): Promise<Receiver> {
    const child = await this.#start(`bench/programs/${program}`, {
      ...(await this.#settings()),
      ...(topicPrefix === undefined
        ? {}
        : {
            KAFKA_BROKERS: await this.#brokers(),
            KAFKA_TOPIC_PREFIX: topicPrefix,
            KAFKA_CLIENT_ID: topicPrefix,
          }),
      ...settings,
    });
    return receiver(child, topicPrefix === undefined ? null : `${topicPrefix}.equipment.v1`);
  }

  async bareReceiver(): Promise<Receiver> {
    return receiver(await this.#start('bench/programs/bare-receiver', await this.#settings()), null);
  }

  async bareReads(): Promise<Child> {
    return this.#start('bench/programs/bare-reads', await this.#settings());
  }

  async bareSender(from: string, to: string): Promise<Child> {
    const environment = { BROKERS: await this.#brokers(), FROM: from, TO: to };
    return this.#start('bench/programs/bare-sender', environment);
  }

  async bareLoop(topicPrefix: string, settings: Record<string, string> = {}): Promise<Receiver> {
    const { environment } = await this.simulator();
    const [connection] = JSON.parse(environment.PROVIDER_TOKENS as string) as { token: string }[];
    const topic = `${topicPrefix}.equipment.v1`;
    const child = await this.#start('bench/programs/bare-loop', {
      BROKERS: await this.#brokers(),
      TOPIC: topic,
      TOKEN: connection?.token as string,
      ...settings,
    });
    return receiver(child, topic);
  }

  async createTopics(prefix: string, config: Record<string, string> = {}): Promise<void> {
    const file = readFileSync(join(repositoryRoot(), 'deploy/topics.json'), 'utf8');
    const { topics } = JSON.parse(file) as { topics: TopicDeclaration[] };
    const settings = {
      brokers: (await this.#brokers()).split(','),
      clientId: 'bench',
      tls: null,
      sasl: null,
    };
    const wanted = topics.map((topic) => ({ ...topic, config: { ...topic.config, ...config } }));
    await createTopics(settings, prefix, wanted, { ...kafkaTargetDefaults, clock: systemClock });
  }

  async kafka(): Promise<Kafka> {
    return new Kafka({ brokers: (await this.#brokers()).split(','), logLevel: logLevel.NOTHING });
  }

  async offsets(topic: string): Promise<{ partition: number; offset: string }[]> {
    const offsets = await (await this.#administrator()).fetchTopicOffsets(topic);
    return offsets.map(({ partition, high }) => ({ partition, offset: high }));
  }

  async records(topic: string): Promise<number> {
    const offsets = await (await this.#administrator()).fetchTopicOffsets(topic);
    return offsets.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  }

  async providerRequests(): Promise<number> {
    const { control } = await this.simulator();
    const counts = (await (await fetch(new URL('counts', control))).json()) as { requests: number };
    return counts.requests;
  }

  async leave(): Promise<void> {
    await this.#admin?.disconnect().catch(() => {});
    await (await this.#generator?.catch(() => undefined))?.stop();
    await Promise.all(this.#children.map((child) => child.kill()));
    await (await this.#cluster?.catch(() => undefined))?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #start(entry: string, environment: Record<string, string>): Promise<Child> {
    const child = await startChild(entry, this.folder, environment);
    this.#children.push(child);
    return child;
  }

  /** What ships, but for what a bench must name: the neighbours, no settling, no pause at the end, as many reads as the floor has. */
  async #settings(): Promise<Record<string, string>> {
    this.#stores += 1;
    return {
      ...(await this.simulator()).environment,
      HOST: '127.0.0.1',
      PORT: '0',
      OPERATIONS_PORT: '0',
      DATABASE_URL: `sqlite:${join(this.folder, `store-${this.#stores}`, 'tramline.db')}`,
      ENCRYPTION_KEYS: this.#key,
      SETTLE_SECONDS: '0',
      DRAIN_SECONDS: '0',
      PROVIDER_CONCURRENCY: '50',
    };
  }

  async #brokers(): Promise<string> {
    this.#cluster ??= startKafka({ heapMegabytes: 512, lasting: true });
    return (await this.#cluster).brokers.join(',');
  }

  async #administrator(): Promise<Admin> {
    if (this.#admin !== undefined) return this.#admin;
    const admin = (await this.kafka()).admin();
    await admin.connect();
    this.#admin = admin;
    return admin;
  }
}

function receiver(child: Child, topic: string | null): Receiver {
  const address = child.ready.public as string | null;
  return Object.assign(child, { port: address === null ? 0 : Number(new URL(address).port), topic });
}

/** All equipment there is, organization after organization in turn, as a provider with many customers would notify. */
export async function equipmentOf({ control }: Simulator): Promise<Resource[]> {
  const response = await fetch(new URL('state?content=false', control));
  const { equipment } = (await response.json()) as { equipment: { organizationId: string; uri: string }[] };
  const byOrganization = [...Map.groupBy(equipment, ({ organizationId }) => organizationId).values()];
  const most = Math.max(...byOrganization.map(({ length }) => length));
  return Array.from({ length: most }, (_, index) => index).flatMap((index) =>
    byOrganization.flatMap((ofOne): Resource[] => {
      const one = ofOne[index];
      return one === undefined ? [] : [[one.organizationId, one.uri]];
    }),
  );
}

/** Waits until the topic holds so many records, and sees it within 10 ms. */
export async function drained(place: Place, topic: string, records: number, withinMs: number): Promise<void> {
  await until(async () => (await place.records(topic)) >= records, {
    withinMs,
    everyMs: 10,
    what: `${records} records on ${topic}`,
  });
}

/** Waits until the provider has had no request for `quietMs`; answers how many it had since its start. */
export async function providerQuiet(place: Place, quietMs: number): Promise<number> {
  let requests = -1;
  await until(
    async () => {
      const before = requests;
      requests = await place.providerRequests();
      return requests === before;
    },
    { withinMs: 60_000, everyMs: quietMs, what: 'the provider to be left alone' },
  );
  return requests;
}
