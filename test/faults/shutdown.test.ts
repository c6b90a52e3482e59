/**
 * T1 to T4: SIGTERM. Readiness goes first, what is in flight ends, what was not begun is given back, and the process is
 * gone within its grace with 0, whatever the provider and Kafka do. What was answered 204 is there in the next life.
 */
import { existsSync, readFileSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { kafkaTargetDefaults } from '../../src/publish/kafka';
import { createTopics, type TopicDeclaration } from '../../src/publish/topics';
import { systemClock } from '../../src/tools/clock';
import { startCommand } from '../support/command';
import { evidenceOf, readTopics } from '../support/evidence';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../support/kafka';
import { checkLedger } from '../support/ledger-checker';
import { describeWithNeighbour } from '../support/neighbour';
import { temporaryFolder } from '../support/ready-process';
import { repositoryRoot } from '../support/repository';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

const graceMs = 10_000;

let story: Story;
afterEach(() => story.end());

type HeldRequest = {
  /** Sends the rest of the body; the answer's status and headers. */
  finish(): Promise<{ status: number; headers: IncomingMessage['headers'] }>;
};

/** A delivery of which the service has headers and half of the body. */
function beginRequest(notifications: unknown[], agent: Agent | false = false): Promise<HeldRequest> {
  const body = Buffer.from(JSON.stringify(notifications));
  const middle = Math.floor(body.length / 2);
  const outgoing = httpRequest(`${story.service.publicUrl}/webhooks`, {
    method: 'POST',
    agent,
    headers: {
      'content-type': 'application/json',
      'content-length': body.length,
      authorization: story.simulator.environment.WEBHOOK_AUTHORIZATION,
    },
  });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject);
  });
  answer.catch(() => {});
  const finish = async () => {
    outgoing.end(body.subarray(middle));
    const response = await answer;
    response.resume();
    return { status: response.statusCode ?? 0, headers: response.headers };
  };
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.write(body.subarray(0, middle), () => resolve({ finish }));
  });
}

/** Slow or hanging reads of one resource. */
const slow = (machine: Resource, delayMs: number) => ({
  match: { path: new URL(machine.uri).pathname },
  delayMs,
});

async function untilDraining(): Promise<void> {
  await until(
    async () => {
      const answer = await fetch(`${story.service.operationsUrl}/readyz`);
      const body = (await answer.json()) as { reason?: string };
      return answer.status === 503 && body.reason === 'draining';
    },
    { ...soon, everyMs: 5, what: 'readiness to say that it drains' },
  );
}

async function untilReading(machine: Resource): Promise<void> {
  await until(async () => (await story.readsOf(machine)).length > 0, soon);
}

test('T1: a signal that comes while the process starts ends it with 0, and the next one starts', async () => {
  story = await beginStory({ delivers: false });
  const folder = temporaryFolder();
  const file = join(folder, 'tramline.db');
  const environment = {
    ...story.simulator.environment,
    HOST: '127.0.0.1',
    PORT: '0',
    OPERATIONS_PORT: '0',
    DATABASE_URL: `sqlite:${file}`,
  };
  const command = startCommand(['serve'], environment);
  await until(() => existsSync(file), { ...soon, everyMs: 1, what: 'the store to be opened' });
  command.interrupt();
  expect(await command.ended).toMatchObject({ code: 0 });
  const next = startCommand(['serve'], environment);
  await next.untilPrinted(/"operations"/);
  next.interrupt();
  expect(await next.ended).toMatchObject({ code: 0 });
});

/** What makes a process meet a fault that nobody catches. */
const faulty = encodeURIComponent(`process.on('SIGUSR2', () => Promise.reject(new Error('not expected')))`);

/** What the metrics say of the last end by a fault. */
async function endedByFault(): Promise<string[]> {
  const metrics = await (await fetch(`${story.service.operationsUrl}/metrics`)).text();
  return metrics.split('\n').filter((line) => line.startsWith('tramline_ended_by_fault_age_seconds'));
}

test('T2: requests on kept connections during the drain are answered and close them, and none is lost; an end by a fault is told by the next life', async () => {
  story = await beginStory({ delivers: false });
  const machines = await story.equipment();
  // Something to drain for, so that the process is there while the requests come.
  await story.simulator.setFaults([{ ...slow(machines[0]!, 1_500), times: 1 }]);
  expect((await story.post([notificationOf(machines[0]!)])).status).toBe(204);
  await untilReading(machines[0]!);
  const agent = new Agent({ keepAlive: true, maxSockets: 3 });
  const warm = await Promise.all(
    machines.slice(1).map((machine) => beginRequest([notificationOf(machine)], agent)),
  );
  for (const held of warm) {
    const { status, headers } = await held.finish();
    expect({ status, connection: headers.connection }).toEqual({ status: 204, connection: 'keep-alive' });
  }
  await story.untilEvents(machines[3]!, 1);
  const held = await Promise.all(
    machines.slice(1).map((machine) => beginRequest([notificationOf(machine)], agent)),
  );

  const stopped = story.service.stop('SIGTERM', graceMs);
  await untilDraining();
  let accepted = 1 + warm.length;
  for (const one of held) {
    const { status, headers } = await one.finish();
    expect([204, 503]).toContain(status);
    expect(headers.connection).toBe('close');
    if (status === 503) expect(headers['retry-after']).toBeDefined();
    if (status === 204) accepted += 1;
  }
  expect(await stopped).toEqual({ code: 0, signal: null });
  agent.destroy();
  await expect(story.post([notificationOf(machines[0]!)])).rejects.toThrow(/ECONNREFUSED/);

  await story.serve({ settings: { NODE_OPTIONS: `--import=data:text/javascript,${faulty}` } });
  expect(await story.untilRest()).toMatchObject({ accepted, lost: 0, waiting: 0 });
  expect(accepted).toBeGreaterThan(1 + warm.length);

  // An end that was asked for is none by a fault. What ends the next life has nobody who could still read its counters.
  expect(await endedByFault()).toEqual([]);
  expect(await story.service.stop('SIGUSR2')).toEqual({ code: 1, signal: null });
  expect(story.log('fault')).toMatchObject([{ place: 'process', detail: 'not expected' }]);
  await story.serve();
  expect(await endedByFault()).toEqual([expect.stringMatching(/\{place="process"\} [\d.]+$/)]);
});

test('T2: after readiness went red deliveries are taken for DRAIN_SECONDS, over new connections and over kept ones, which they close', async () => {
  story = await beginStory({ delivers: false, settings: { DRAIN_SECONDS: '3' } });
  const [cold, kept, pooled] = await story.equipment();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect(await (await beginRequest([notificationOf(kept!)], agent)).finish()).toMatchObject({
    status: 204,
    headers: { connection: 'keep-alive' },
  });
  const startedMs = performance.now();
  const stopped = story.service.stop('SIGTERM', graceMs);
  await untilDraining();
  // A balancer sends on until its next probe.
  const answered = [
    await (await beginRequest([notificationOf(pooled!)], agent)).finish(),
    await (await beginRequest([notificationOf(cold!)])).finish(),
  ];
  for (const { status, headers } of answered)
    expect({ status, connection: headers.connection }).toEqual({ status: 204, connection: 'close' });
  expect(await stopped).toEqual({ code: 0, signal: null });
  expect(performance.now() - startedMs).toBeGreaterThan(3_000);
  expect(performance.now() - startedMs).toBeLessThan(graceMs);
  expect(story.log('stopped')).toMatchObject([{ clean: true }]);
  agent.destroy();

  // Whoever ends it by hand sends nothing more: an interrupt does not wait.
  await story.serve({ settings: { DRAIN_SECONDS: '9' } });
  expect(await story.untilRest()).toMatchObject({ accepted: 3, published: 3, lost: 0 });
  expect(await story.service.stop('SIGINT', 6_000)).toEqual({ code: 0, signal: null });

  // Nor does the end of its terminal, which shell and system tell of: what is in flight ends all the same.
  await story.serve({ settings: { DRAIN_SECONDS: '9' } });
  await story.simulator.setFaults([{ ...slow(cold!, 1000), times: 1 }]);
  await story.post([notificationOf(cold!)]);
  await until(async () => (await story.tasks('taken')).length > 0, soon);
  setTimeout(() => process.kill(story.service.pid, 'SIGHUP'), 300);
  expect(await story.service.stop('SIGHUP', 6_000)).toEqual({ code: 0, signal: null });
  expect(story.log('stopped')).toMatchObject([{ clean: true }]);
});

test('a signal at which Node would open its debugger, to everybody on the machine, opens nothing', async () => {
  story = await beginStory({ delivers: false });
  const { pid, operationsUrl, lines } = story.service;
  process.kill(pid, 'SIGUSR1');
  expect((await fetch(`${operationsUrl}/healthz`)).status).toBe(200);
  expect((await story.service.stop()).code).toBe(0);
  expect(lines().filter((line) => /debugger|inspector/i.test(line))).toEqual([]);
});

test('T4: a second signal ends it at once, and what was accepted is there in the next life', async () => {
  story = await beginStory({ delivers: false, settings: { DRAIN_SECONDS: '9' } });
  const [machine] = await story.equipment();
  await story.simulator.setFaults([{ ...slow(machine!, 30_000), times: 1 }]);
  expect((await story.post([notificationOf(machine!)])).status).toBe(204);
  await untilReading(machine!);
  const startedMs = performance.now();
  process.kill(story.service.pid, 'SIGTERM');
  await untilDraining();
  expect((await story.service.stop('SIGTERM')).code).toBe(130);
  expect(performance.now() - startedMs).toBeLessThan(graceMs / 2);
  await story.serve();
  await story.untilEvents(machine!, 1);
  expect(await story.untilRest()).toMatchObject({ accepted: 1, published: 1, lost: 0 });
});

describeWithNeighbour('Kafka', kafkaAvailable(), 'with a real Kafka', () => {
  const declared = JSON.parse(readFileSync(join(repositoryRoot(), 'deploy', 'topics.json'), 'utf8')) as {
    topics: TopicDeclaration[];
  };
  let cluster: KafkaCluster;
  let prefix = '';
  let stories = 0;

  beforeAll(async () => {
    cluster = await startKafka({ properties: {} });
  }, kafkaStartsWithinMs);
  afterAll(() => cluster?.stop());

  beforeEach(async () => {
    stories += 1;
    prefix = `stop-${stories}`;
    const settings = { brokers: cluster.brokers, clientId: 'stops', tls: null, sasl: null };
    await createTopics(settings, prefix, declared.topics, { ...kafkaTargetDefaults, clock: systemClock });
    story = await beginStory({
      delivers: false,
      settings: {
        KAFKA_BROKERS: cluster.brokers.join(','),
        KAFKA_TOPIC_PREFIX: prefix,
        SHUTDOWN_SECONDS: String(graceMs / 1000),
      },
    });
  });

  const records = () =>
    readTopics(
      cluster.brokers,
      declared.topics.map(({ name }) => `${prefix}.${name}`),
    );

  /** Tasks and leases that a process still holds, as the stopped store's tables say. */
  function held(): unknown[] {
    const database = new DatabaseSync(join(story.dataFolder, 'tramline.db'), { readOnly: true });
    try {
      return [
        ...database.prepare("SELECT id FROM tasks WHERE state = 'taken'").all(),
        ...database.prepare('SELECT name, until FROM leases WHERE until > ?').all(Date.now()),
      ];
    } finally {
      database.close();
    }
  }

  /** Ends the present life and holds sender, store and topics against each other. */
  async function reckon(accepted: number) {
    await story.service.stop();
    const onTopics = await records();
    const evidence = await evidenceOf(join(story.dataFolder, 'tramline.db'), accepted, onTopics);
    expect(checkLedger(evidence)).toEqual([]);
    return onTopics;
  }

  test('T1: a delivery, a read and a send in flight end, the rest is given back, and it exits 0 within its grace', async () => {
    const [warm, sent, read, posted] = await story.equipment();
    expect((await story.post([notificationOf(warm!)])).status).toBe(204);
    await story.untilEvents(warm!, 1);
    // The broker says nothing: the send stays in flight. The provider is slow: the read does, too.
    cluster.pause(0);
    expect((await story.post([notificationOf(sent!)])).status).toBe(204);
    await until(async () => (await story.metric('tramline_outbox_pending')) === 1, soon);
    await story.simulator.setFaults([{ ...slow(read!, 1_000), times: 1 }]);
    expect((await story.post([notificationOf(read!)])).status).toBe(204);
    await untilReading(read!);
    const delivery = await beginRequest([notificationOf(posted!)]);

    const startedMs = performance.now();
    const stopped = story.service.stop('SIGTERM', graceMs);
    await untilDraining();
    expect((await fetch(`${story.service.operationsUrl}/healthz`)).status).toBe(200);
    const { status, headers } = await delivery.finish();
    expect({ status, connection: headers.connection }).toEqual({ status: 204, connection: 'close' });
    cluster.resume(0);
    expect(await stopped).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedMs).toBeLessThan(graceMs);
    expect(story.log('stopped')).toMatchObject([{ clean: true }]);
    expect(story.log('fault')).toEqual([]);

    expect(held()).toEqual([]);
    // What was being read is decided, and what was being sent is on the topic, before the next life.
    const keyOf = ({ organizationId, id }: Resource) => `${organizationId}/equipment/${id}`;
    const before = await records();
    expect(before.map(({ key }) => key)).toEqual(
      expect.arrayContaining([warm, sent].map((one) => keyOf(one!))),
    );
    await story.serve();
    expect(await story.untilRest()).toMatchObject({ accepted: 4, published: 4, lost: 0 });
    expect((await story.readsOf(read!)).map((request) => request.status)).toEqual([200]);
    const onTopics = await reckon(4);
    expect(new Set(onTopics.map(({ key }) => key)).size).toBe(4);
    expect(onTopics).toHaveLength(4);
  });

  test('T3: while the provider and the broker hang it exits within its grace, and nothing is lost', async () => {
    const [warm, sent, read] = await story.equipment();
    expect((await story.post([notificationOf(warm!)])).status).toBe(204);
    await story.untilEvents(warm!, 1);
    cluster.pause(0);
    expect((await story.post([notificationOf(sent!)])).status).toBe(204);
    await until(async () => (await story.metric('tramline_outbox_pending')) === 1, soon);
    await story.simulator.setFaults([{ ...slow(read!, 60_000), times: 1 }]);
    expect((await story.post([notificationOf(read!)])).status).toBe(204);
    await untilReading(read!);

    const startedMs = performance.now();
    expect(await story.service.stop('SIGTERM', graceMs + 2_000)).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedMs).toBeLessThan(graceMs);
    expect(story.log('fault')).toEqual([]);
    expect(held()).toEqual([]);

    cluster.resume(0);
    await story.serve();
    expect(await story.untilRest()).toMatchObject({ accepted: 3, published: 3, lost: 0 });
    const onTopics = await reckon(3);
    expect(new Set(onTopics.map(({ key }) => key)).size).toBe(3);
  }, 90_000);
});
