/**
 * R4: what is out of order restarts nothing that a restart cannot cure. Liveness holds throughout; readiness fails for a
 * store that takes no writes and for nothing else, and both come back by themselves.
 */
import { spawnSync } from 'node:child_process';
import { freePort } from '../support/free-port';
import { describeWithNeighbour } from '../support/neighbour';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
afterEach(() => story.end());

const statusOf = async (path: string): Promise<number> =>
  (await fetch(`${story.service.operationsUrl}${path}`)).status;

const probes = async () => ({ healthz: await statusOf('/healthz'), readyz: await statusOf('/readyz') });

test('R4: with Kafka and the provider down it is live and ready, and accepts', async () => {
  story = await beginStory({
    delivers: false,
    settings: { KAFKA_BROKERS: `127.0.0.1:${await freePort()}` },
  });
  const [machine] = await story.equipment();
  await story.simulator.setFaults([{ match: {}, close: true }]);
  expect(await probes()).toEqual({ healthz: 200, readyz: 200 });
  for (let count = 1; count <= 20; count += 1) {
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
  }
  await until(async () => (await story.tasks('postponed')).length === 1, soon);
  expect(await probes()).toEqual({ healthz: 200, readyz: 200 });
  expect(await story.ledger()).toMatchObject({ accepted: 20, waiting: 20, lost: 0 });
  // The provider is back, Kafka is not: what is decided waits for it, and still nothing is to be restarted.
  await story.simulator.setFaults([]);
  await until(async () => (await story.metric('tramline_outbox_pending')) === 1, soon);
  expect(await story.ledger()).toMatchObject({ accepted: 20, merged: 19, waiting: 1, lost: 0 });
  expect(await probes()).toEqual({ healthz: 200, readyz: 200 });
});

const limiter = spawnSync('prlimit', ['--version'], { stdio: 'ignore' });

describeWithNeighbour(
  'prlimit',
  limiter.status === 0 ? { available: true } : { available: false, reason: 'it is not on this machine' },
  'R4 with a store that takes no writes',
  () => {
    /** Files of the service grow no further than this; `unlimited` lifts it. */
    function limitFiles(bytes: string): void {
      const words = [`--pid=${story.service.pid}`, `--fsize=${bytes}:unlimited`];
      expect(spawnSync('prlimit', words).status).toBe(0);
    }

    test('R4: readiness fails while nothing can be stored, deliveries are answered 503, and both come back', async () => {
      story = await beginStory({ delivers: false });
      const [machine] = await story.equipment();
      expect((await story.post([notificationOf(machine!)])).status).toBe(204);
      await story.untilRest();
      limitFiles('1');
      await until(async () => (await statusOf('/readyz')) === 503, soon);
      expect(await probes()).toEqual({ healthz: 200, readyz: 503 });
      const refused = await story.post([notificationOf(machine!)]);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(JSON.parse(refused.body)).toMatchObject({ code: 'webhook.unavailable' });

      limitFiles('unlimited');
      await until(async () => (await statusOf('/readyz')) === 200, soon);
      expect((await story.post([notificationOf(machine!)])).status).toBe(204);
      expect(await story.untilRest()).toMatchObject({ accepted: 2, lost: 0 });
    });
  },
);
