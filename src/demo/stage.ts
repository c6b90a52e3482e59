/**
 * What the demonstration stands on: simulator and service in this process, on embedded defaults in a folder of their
 * own, and the means to move the provider and to look at the result through the interfaces that everybody has. No
 * sentences here, and no shortcut into the service.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AlertSink } from '../alert/sink';
import { loadSettings, type Settings } from '../config';
import { type Service, startService } from '../main';
import type { FoundRecord } from '../model/topic-end';
import type { PublishTarget } from '../publish/target';
import { type Simulator, startSimulator } from '../simulator/simulator';

export interface StageOptions {
  /** `host:port` of a real Kafka; null for the embedded event log. */
  kafka: string | null;
  /** Where pages go. */
  sink: AlertSink;
  /** Creates the declared topics where brokers are named; none otherwise. */
  createTopics(settings: Settings): Promise<MadeTopic[]>;
}

/** `below`: how it has fewer copies than declared; null where it does not. */
interface MadeTopic {
  topic: string;
  state: string;
  code: string | null;
  below: string | null;
}

export interface Stage {
  service: Service;
  simulator: Simulator;
  /** Calls one of the simulator's controls. Throws when it is refused. */
  control<Answer>(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Reads one of the service's own routes, as a command does. Throws when it is refused. */
  ask<Answer>(path: string): Promise<Answer>;
  /** Asks until `holds`, every 25 ms. Throws with the sentence after `withinMs`. */
  until<Answer>(path: string, holds: (answer: Answer) => boolean, sentence: string): Promise<Answer>;
  /** How topics of Kafka have fewer copies than declared, each way once, with the topics of which it holds. */
  fewCopies: string[];
  /** Every record that stands on the topics of Kafka, partition by partition; null without Kafka. */
  recordsOnTopics(): Promise<(FoundRecord & { topic: string; partition: number })[] | null>;
  close(): Promise<void>;
}

const untilMsMax = 15_000;
/** The store's thread may be writing there until the last moment. */
const removalsMax = 5;

/**
 * Starts both; when a part of it fails, everything that was started is ended again, and it throws what that part threw.
 * Each thing that it waits for may take 15 s. Its folder is removed with its end, or with that of the process, in at most
 * 5 attempts.
 */
export async function setStage(options: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-demo-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: removalsMax });
  // However the process ends before its time.
  process.once('exit', remove);
  const simulator = await startSimulator({
    organizations: 3,
    equipment: 8,
    fieldOperations: 6,
    latencyMs: 5,
  });
  const end = async (service: Service | null): Promise<void> => {
    await service?.stop();
    await simulator.close();
    process.off('exit', remove);
    remove();
  };
  let service: Service;
  let topics: MadeTopic[];
  let target: PublishTarget | null = null;
  try {
    const loaded = loadSettings('serve', environmentFor(simulator, folder, options.kafka));
    topics = await options.createTopics(loaded.settings);
    const absent = topics.filter(({ state }) => state !== 'present');
    if (absent.length > 0) throw new Error(absentTopics(absent, options.kafka));
    service = await startService(loaded, {
      worker(doors) {
        target = options.kafka === null ? null : doors.target;
        return { ...doors, sinks: [options.sink] };
      },
    });
  } catch (error) {
    await end(null);
    throw error;
  }
  const { control: controls } = simulator;
  const { operations } = service.ready;
  const ask = <Answer>(path: string) => call<Answer>('GET', `${operations}${path}`);
  return {
    service,
    simulator,
    control: (method, path, body) => call(method, new URL(path, controls).href, body),
    ask,
    async until(path, holds, sentence) {
      const untilMs = Date.now() + untilMsMax;
      for (;;) {
        const answer = await ask<Parameters<typeof holds>[0]>(path);
        if (holds(answer)) return answer;
        if (Date.now() > untilMs) throw new Error(`${sentence}: not within ${untilMsMax / 1000} s`);
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    },
    fewCopies: fewCopiesOf(topics),
    recordsOnTopics: async () => (target === null ? null : readRecords(target)),
    close: () => end(service),
  };
}

function absentTopics(absent: { topic: string; code: string | null }[], kafka: string | null): string {
  const names = absent.map(({ topic, code }) => (code === null ? topic : `${topic} (${code})`));
  return `Kafka at ${kafka} does not have, and did not create: ${names.join(', ')}`;
}

function fewCopiesOf(topics: MadeTopic[]): string[] {
  const few = topics.filter(({ below }) => below !== null);
  return [...Map.groupBy(few, ({ below }) => below)].map(
    ([below, alike]) => `${alike.map(({ topic }) => topic).join(', ')}: ${below}`,
  );
}

async function readRecords(target: PublishTarget) {
  const records: (FoundRecord & { topic: string; partition: number })[] = [];
  await target.readOn([], async (page) => {
    const { topic, partition } = page;
    records.push(...page.records.map((record) => ({ ...record, topic, partition })));
    return true;
  });
  return records;
}

/** The simulator's settings, the embedded defaults, and times short enough to be watched. */
function environmentFor(simulator: Simulator, folder: string, kafka: string | null): Record<string, string> {
  return {
    ...simulator.environment,
    HOST: '127.0.0.1',
    PORT: '0',
    OPERATIONS_PORT: '0',
    DATABASE_URL: `sqlite:${join(folder, 'tramline.db')}`,
    ENCRYPTION_KEYS: `demo:${randomBytes(32).toString('base64')}`,
    LOG_LEVEL: 'silent',
    READ_GAP_MS: '300',
    SETTLE_SECONDS: '1',
    PROBE_SECONDS: '1',
    ALERT_RESEND_SECONDS: '1',
    ...(kafka === null
      ? {}
      : { KAFKA_BROKERS: kafka, KAFKA_TOPIC_PREFIX: `demo-${randomBytes(3).toString('hex')}` }),
  };
}

async function call<Answer>(method: string, address: string, body?: unknown): Promise<Answer> {
  const response = await fetch(address, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${new URL(address).pathname} was answered ${response.status}`);
  return (text === '' ? null : JSON.parse(text)) as Answer;
}
