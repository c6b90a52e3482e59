// Goal: a Kafka that is not there, or there and mute, costs a bounded time and is named in the problem.
// Method: addresses of this machine where nobody listens, or where somebody listens and says nothing.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { reachCluster } from '../../../src/publish/reach-cluster';
import { describeTopics } from '../../../src/publish/topics';
import { systemClock as clock } from '../../../src/tools/clock';
import { startAdvertisingBroker } from '../../support/advertising-broker';
import { freePort } from '../../support/free-port';
import { watchOwnDelay } from '../../support/own-delay';

const times = { connectTimeoutMs: 60, requestTimeoutMs: 400 };

const settings = (...ports: number[]) => ({
  brokers: ports.map((port) => `127.0.0.1:${port}`),
  clientId: 'unit',
  tls: null,
  sasl: null,
});

const targetOf = (...ports: number[]) =>
  makeKafkaTarget(settings(...ports), { ...kafkaTargetDefaults, ...times, clock, topics: ['t'] });

test.each([
  [
    15,
    'GROUP_COORDINATOR_NOT_AVAILABLE of the transactional id unit-relay-0: __transaction_state has no leader or too few replicas in sync, or cannot be made where transaction.state.log.replication.factor exceeds the number of brokers, 1',
  ],
  [
    51,
    'CONCURRENT_TRANSACTIONS of the transactional id unit-relay-0: what was asked for before is not written yet to enough replicas of __transaction_state',
  ],
])(
  'where brokers answer that nobody gives out epochs, code %i, that is told, with the id and the topic behind it',
  async (coordinatorCode, why) => {
    const broker = await startAdvertisingBroker({ host: '127.0.0.1', port: 1 }, { coordinatorCode });
    const settings = { brokers: [broker.address], clientId: 'unit', tls: null, sasl: null };
    const enough = { connectTimeoutMs: 1_000, requestTimeoutMs: 2_000 };
    const target = makeKafkaTarget(settings, { ...kafkaTargetDefaults, ...enough, clock, topics: [] });
    await expect(target.open()).rejects.toMatchObject({
      code: 'publish.unavailable',
      message: `Kafka cannot be used at ${broker.address}: ${why}`,
    });
    await broker.close();
  },
);

describe('of the epochs that a coordinator gives out', () => {
  let closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing) await close();
    closing = [];
  });

  /** A target whose coordinator gives out these, one after another. */
  async function given(epochs: number[], connectTimeoutMs = 2_000) {
    const coordinator = await startAdvertisingBroker({ host: '127.0.0.1', port: 1 }, { epochs });
    const port = Number(coordinator.address.split(':')[1]);
    const broker = await startAdvertisingBroker({ host: '127.0.0.1', port });
    const settings = { brokers: [broker.address], clientId: 'unit', tls: null, sasl: null };
    const enough = { connectTimeoutMs, requestTimeoutMs: 4_000 };
    const target = makeKafkaTarget(settings, { ...kafkaTargetDefaults, ...enough, clock, topics: [] });
    closing.push(() => target.close(), broker.close, coordinator.close);
    return { target, address: broker.address };
  }

  test('one that this process has had is asked for again until it is newer', async () => {
    const epochs = [3, 2, 3, 4, 9];
    const { target } = await given(epochs);
    await target.open();
    expect(epochs).toEqual([2, 3, 4, 9]);
    await target.open();
    expect(epochs).toEqual([9]);
  });

  test('those of a cluster that was made anew, which begin at 0 for the same id, are passed within one opening', async () => {
    const epochs = [70, ...Array.from({ length: 72 }, (_unused, epoch) => epoch)];
    const { target } = await given(epochs);
    await target.open();
    await target.open();
    expect(epochs).toEqual([]);
  });

  test('where none is newer that is told, and it is not asked for without a pause', async () => {
    const epochs = Array.from({ length: 1_000 }, () => 3);
    const { target, address } = await given(epochs, 1_500);
    await target.open();
    await expect(target.open()).rejects.toThrow(
      `Kafka cannot be used at ${address}: the epoch that is given out for the transactional id unit-relay-0 was taken before`,
    );
    expect(epochs.length).toBeGreaterThan(500);
  });
});

describe('a Kafka that says nothing', () => {
  let server: Server;
  const sockets = new Set<Socket>();

  beforeEach(async () => {
    server = createServer((socket) => sockets.add(socket.on('error', () => {})));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  test('is given up in time, by its address', async () => {
    const { port } = server.address() as AddressInfo;
    const [startedMs, ownDelayMs] = [clock.nowMs(), watchOwnDelay()];
    await expect(targetOf(port).open()).rejects.toMatchObject({
      code: 'publish.unavailable',
      message: `Kafka gave no answer at 127.0.0.1:${port}`,
    });
    expect(clock.nowMs() - startedMs - ownDelayMs()).toBeLessThan(1_000);
  });

  test('and is named first keeps nobody from being asked', async () => {
    const { port } = server.address() as AddressInfo;
    const answering = await startAdvertisingBroker({ host: '127.0.0.1', port });
    const brokers = [`127.0.0.1:${port}`, answering.address];
    const patient = { ...times, connectTimeoutMs: 600, requestTimeoutMs: 60_000 };
    const described = await describeTopics({ ...settings(port), brokers }, ['t'], { ...patient, clock });
    expect(described).toMatchObject([{ topic: 't', state: 'missing' }]);
    const reaching = reachCluster({ ...settings(port), brokers }, { ...patient, clock });
    await reaching.connect();
    expect(reaching.silent()).toEqual([`127.0.0.1:${port}`]);
    reaching.destroy();
    await answering.close();
  });

  test('is named by whoever describes topics, too', async () => {
    const { port } = server.address() as AddressInfo;
    await expect(describeTopics(settings(port), ['t'], { ...times, clock })).rejects.toMatchObject({
      code: 'publish.unavailable',
      message: `Kafka gave no answer at 127.0.0.1:${port}`,
    });
  });

  test('is let go at once when the service ends meanwhile', async () => {
    const { port } = server.address() as AddressInfo;
    const target = makeKafkaTarget(settings(port), { ...kafkaTargetDefaults, clock, topics: [] });
    const opening = target.open().catch((error: unknown) => error);
    await once(server, 'connection');
    await target.close();
    expect(await opening).toMatchObject({ code: 'publish.unavailable' });
    await expect(target.open()).rejects.toMatchObject({ message: 'the Kafka client is closed' });
  });
});

test('where nobody listens the address is named, by the target and by the description of topics', async () => {
  const port = await freePort();
  const refusal = {
    code: 'publish.unavailable',
    message: `Kafka cannot be used: no connection at 127.0.0.1:${port} (ECONNREFUSED)`,
  };
  const patient = { ...times, connectTimeoutMs: 1_500 };
  const target = makeKafkaTarget(settings(port), { ...kafkaTargetDefaults, ...patient, clock, topics: [] });
  await expect(target.open()).rejects.toMatchObject(refusal);
  await expect(describeTopics(settings(port), ['t'], { ...patient, clock })).rejects.toMatchObject(refusal);
});

test('before it is open, and after it was given up, a target sends nothing', async () => {
  const target = targetOf(1);
  const notOpen = { code: 'publish.unavailable', message: 'the Kafka client is not open' };
  await expect(target.send([])).rejects.toMatchObject(notOpen);
  await expect(target.partitionsOf('t')).rejects.toMatchObject(notOpen);
  expect(target.leaderOf!({ topic: 't', partition: 0 })).toBeNull();
  await target.discard();
  await target.close();
});
