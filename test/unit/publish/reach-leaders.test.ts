// Goal: topics that look well are not called so where their leader is not to be reached, or nobody gives out an epoch.
// Method: a broker that tells of one topic, and where it and its leader are said to be.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { kafkaTargetDefaults } from '../../../src/publish/kafka';
import type { KafkaCluster } from '../../../src/publish/kafka-cluster';
import { epochFault } from '../../../src/publish/reach-leaders';
import { describeDeclared } from '../../../src/publish/topics';
import { type Clock, systemClock } from '../../../src/tools/clock';
import { type Advertised, startAdvertisingBroker } from '../../support/advertising-broker';
import { freePort } from '../../support/free-port';
import { makeHandClock } from '../../support/hand-clock';

let closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
});

async function mutePort(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** By it only passes what was waited for to the end: a busy machine adds nothing. */
function makeWaitedClock(): Clock {
  let passedMs = 0;
  return {
    nowMs: systemClock.nowMs,
    steadyMs: () => passedMs,
    async wait(ms, signal) {
      const untilMs = passedMs + ms;
      await systemClock.wait(ms, signal);
      if (!signal?.aborted) passedMs = Math.max(passedMs, untilMs);
    },
  };
}

/** What is told of `tramline.one` by a broker that says that its leader listens there. */
async function lookAt(
  port: number,
  advertised: Advertised = {},
  before: string[] = [],
  { clock = systemClock, withinMs = 4000 } = {},
) {
  const broker = await startAdvertisingBroker(
    { host: '127.0.0.1', port },
    { topic: 'tramline.one', ...advertised },
  );
  closing.push(() => broker.close());
  const settings = { brokers: [...before, broker.address], clientId: 'unit', tls: null, sasl: null };
  const declared = [{ name: 'one', partitions: 1, replicationFactor: 1, config: {} }];
  const options = { ...kafkaTargetDefaults, connectTimeoutMs: 300, clock, withinMs };
  return describeDeclared(settings, 'tramline', declared, options);
}

const fault = (why: string) => `the broker that leads 1 of 1 partitions is not reached: ${why}`;

test('a leader that advertises where nobody listens is told by that address', async () => {
  const port = await freePort();
  const { topics, faults } = await lookAt(port);
  expect(topics).toMatchObject([{ state: 'present', below: null, unwritable: null }]);
  expect(faults).toEqual([fault(`no connection at 127.0.0.1:${port} (ECONNREFUSED)`)]);
});

test('a leader that takes the connection and says nothing is told, in bounded time', async () => {
  const port = await mutePort();
  expect((await lookAt(port)).faults).toEqual([fault(`no answer at 127.0.0.1:${port}`)]);
});

test('a leader that answers is no fault, and a named broker that does not is told beside it', async () => {
  const [leader, port] = [await startAdvertisingBroker({ host: '127.0.0.1', port: 1 }), await mutePort()];
  closing.push(() => leader.close());
  const found = await lookAt(Number(leader.address.split(':')[1]), {}, [`127.0.0.1:${port}`]);
  expect(found).toMatchObject({ silent: [`127.0.0.1:${port}`], faults: [] });
});

test.each([
  [
    15,
    'GROUP_COORDINATOR_NOT_AVAILABLE of the transactional id unit-relay-0: __transaction_state has no leader',
  ],
  [53, 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED of the transactional id unit-relay-0'],
])('that nobody gives out epochs, code %i, is told with the id', async (coordinatorCode, said) => {
  const { faults } = await lookAt(await freePort(), { coordinatorCode });
  expect(faults).toEqual([expect.stringContaining('no connection'), expect.stringContaining(said)]);
});

test.each([15, 0])(
  'what one broker knows of the epoch, code %i, is told though the leader and those named before say nothing, in the time that is left',
  async (coordinatorCode) => {
    const [leader, first, second] = [await mutePort(), await mutePort(), await mutePort()];
    const clock = makeWaitedClock();
    const before = [first, second].map((port) => `127.0.0.1:${port}`);
    const { silent, faults } = await lookAt(leader, { coordinatorCode }, before, { clock, withinMs: 2_000 });
    expect(clock.steadyMs()).toBeLessThanOrEqual(2_000);
    expect(silent).toEqual(before);
    const epoch = coordinatorCode === 0 ? [] : [expect.stringContaining('GROUP_COORDINATOR_NOT_AVAILABLE')];
    expect(faults).toEqual([fault(`no answer at 127.0.0.1:${leader}`), ...epoch]);
  },
);

test('an answer that is not there in time leaves what brokers said before', async () => {
  const clock = makeHandClock(0);
  const notAvailable = Object.assign(new Error('no coordinator'), {
    type: 'GROUP_COORDINATOR_NOT_AVAILABLE',
  });
  let asked = 0;
  const cluster = {
    brokerCount: () => 1,
    coordinatorOf() {
      asked += 1;
      return asked < 3 ? Promise.reject(notAvailable) : new Promise(() => {});
    },
  } as unknown as KafkaCluster;
  const told = epochFault(cluster, 'unit-relay-0', 350, clock);
  for (let passed = 0; passed < 350; passed += 50) await clock.advance(50);
  expect(await told).toContain('GROUP_COORDINATOR_NOT_AVAILABLE of the transactional id unit-relay-0');
  expect(asked).toBe(3);
});
