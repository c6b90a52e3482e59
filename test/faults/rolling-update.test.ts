/**
 * T6: two replicas on one PostgreSQL are replaced one after the other while deliveries come in, the new one before the
 * old one goes. Whoever spreads the load asks each replica every second whether it is ready, and hears of an end in no
 * other way: all that it sends is answered, 2xx or 503 with a time to wait, and what was answered 2xx comes to its end.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describeWithNeighbour } from '../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { notificationOf, type Posted, Story, soon } from '../support/story';
import { until } from '../support/until';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'T6: a rolling update', () => {
  let server: PostgresServer;
  const replicas: Story[] = [];
  let probes = true;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    probes = false;
    for (const replica of replicas) await replica.end();
    await server?.stop();
  });

  test('under load answers every delivery with 2xx or 503 and Retry-After, and loses none that it accepted', async () => {
    const simulator = await startSimulator({
      organizations: 2,
      equipment: 12,
      'field-operations': 0,
      'heartbeat-ms': 0,
    });
    const settings = {
      DATABASE_URL: server.url(await server.createDatabase()),
      SHUTDOWN_SECONDS: '8',
      DRAIN_SECONDS: '3',
    };
    const started: Story[] = [];
    const start = async (): Promise<Story> => {
      const replica = new Story(simulator, { delivers: false, settings }, temporaryFolder());
      replicas.push(replica);
      await replica.serve();
      started.push(replica);
      return replica;
    };
    const first = [await start(), await start()];
    await first[0]!.untilLearned();
    const machines = await first[0]!.equipment();

    /** Those to which the balancer sends, as their last probes said. */
    let ready: Story[] = first;
    const isReady = async ({ service }: Story) =>
      (await fetch(`${service.operationsUrl}/readyz`).catch(() => null))?.status === 200;
    // One round after the other: what was heard last is what holds.
    void (async () => {
      for (; probes; await delay(1_000)) {
        const asked = [...started];
        const answered = await Promise.all(asked.map(isReady));
        // Where nobody answers in time, it sends on as before.
        if (answered.includes(true)) ready = asked.filter((_replica, index) => answered[index]);
      }
    })();

    const answers: Posted[] = [];
    const unanswered: unknown[] = [];
    let going = true;
    const send = async (sender: number): Promise<void> => {
      for (let turn = sender; going; turn += 1) {
        const machine = machines[turn % machines.length]!;
        await simulator.changeEquipment(machine.id, { name: `Turn ${turn}`, notify: false });
        const posted = ready[turn % ready.length]!.post([notificationOf(machine)]);
        await posted.then(
          (answer) => answers.push(answer),
          (error: unknown) => unanswered.push(error),
        );
      }
    };
    const senders = [0, 1, 2].map(send);
    for (const old of first) {
      const before = answers.length;
      await until(async () => answers.length > before + 20, soon);
      const fresh = await start();
      await until(() => ready.includes(fresh), soon);
      expect((await old.service.stop()).code).toBe(0);
      expect(unanswered).toEqual([]);
    }
    const before = answers.length;
    await until(async () => answers.length > before + 20, soon);
    going = false;
    await Promise.all(senders);

    const accepted = answers.filter(({ status }) => status === 204);
    const others = answers.filter(({ status }) => status !== 204);
    expect(others.filter(({ status, headers }) => status !== 503 || !headers['retry-after'])).toEqual([]);
    expect(accepted.length).toBeGreaterThan(60);
    expect(unanswered).toEqual([]);
    const ledger = await replicas.at(-1)!.untilRest();
    // What was stored and could not be answered any more may be there as well.
    expect(ledger.accepted).toBeGreaterThanOrEqual(accepted.length);
    expect(ledger).toMatchObject({ waiting: 0, parked: 0, quarantined: 0, lost: 0 });
  }, 150_000);
});
