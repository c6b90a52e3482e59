/**
 * T6: two replicas on one PostgreSQL are replaced one after the other while deliveries come in, the new one before the
 * old one goes. Whoever spreads the load sends nothing more to the old one, and does not wait for what it has sent
 * there: all of that is answered, 2xx or 503 with a time to wait, and everything that was answered 2xx comes to its end.
 */
import { describeWithNeighbour } from '../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { notificationOf, type Posted, Story, soon } from '../support/story';
import { until } from '../support/until';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'T6: a rolling update', () => {
  let server: PostgresServer;
  const replicas: Story[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
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
    const settings = { DATABASE_URL: server.url(await server.createDatabase()), SHUTDOWN_SECONDS: '5' };
    const start = async (): Promise<Story> => {
      const replica = new Story(simulator, { delivers: false, settings }, temporaryFolder());
      replicas.push(replica);
      await replica.serve();
      return replica;
    };
    /** Those that a balancer would send to. */
    let ready = [await start(), await start()];
    await ready[0]!.untilLearned();
    const machines = await ready[0]!.equipment();

    const answers: Posted[] = [];
    const unanswered: unknown[] = [];
    const leaving = new Map<Story, Set<Promise<void>>>();
    /** Kept in `leaving` until the system has all of it. */
    const post = (replica: Story, notification: unknown): Promise<void> => {
      const { promise: sent, resolve } = Promise.withResolvers<void>();
      const others = leaving.get(replica) ?? new Set();
      leaving.set(replica, others.add(sent));
      void sent.then(() => others.delete(sent));
      return replica.post([notification], {}, resolve).then(
        (answer) => void answers.push(answer),
        (error: unknown) => {
          unanswered.push(error);
          resolve();
        },
      );
    };
    let going = true;
    const send = async (sender: number): Promise<void> => {
      for (let turn = sender; going; turn += 1) {
        const machine = machines[turn % machines.length]!;
        await simulator.changeEquipment(machine.id, { name: `Turn ${turn}`, notify: false });
        await post(ready[turn % ready.length]!, notificationOf(machine));
      }
    };
    const senders = [0, 1, 2].map(send);
    for (const old of [...ready]) {
      const before = answers.length;
      await until(async () => answers.length > before + 20, soon);
      const fresh = await start();
      ready = [...ready.filter((one) => one !== old), fresh];
      await Promise.all(leaving.get(old) ?? []);
      expect((await old.service.stop()).code).toBe(0);
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
    const ledger = await ready[0]!.untilRest();
    // What was stored and could not be answered any more may be there as well.
    expect(ledger.accepted).toBeGreaterThanOrEqual(accepted.length);
    expect(ledger).toMatchObject({ waiting: 0, parked: 0, quarantined: 0, lost: 0 });
  });
});
