/**
 * A probe on demand is answered with what was found, whichever process of the store made it. Two workers and a receiver
 * share one PostgreSQL; one of the workers is kept busy with probes that the provider does not answer, so that whatever is
 * asked of it besides is asked by the other one.
 */
import { runCommand } from '../support/command';
import { freePort } from '../support/free-port';
import { describeWithNeighbour } from '../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { type Service, startService, temporaryFolder } from '../support/service';
import { type SimulatorFault, startSimulator } from '../support/simulator';
import { Story, soon } from '../support/story';
import { until } from '../support/until';

/** So many probes a worker makes at a time. */
const atATime = 4;

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'a probe of several processes', () => {
  let server: PostgresServer;
  let story: Story;
  let busy: Service;
  let free: Service;
  let id = '';
  let kept: SimulatorFault[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    const world = { organizations: atATime + 1, equipment: 1, 'field-operations': 0, 'heartbeat-ms': 0 };
    const simulator = await startSimulator(world);
    const port = await freePort();
    const settings = {
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      DATABASE_URL: server.url(await server.createDatabase()),
      ROLE: 'receiver',
      PROVIDER_TIMEOUT_MS: '60000',
      LEASE_SECONDS: '120',
    };
    story = new Story(simulator, { delivers: false, settings }, temporaryFolder());
    const environment = story.settings({ ROLE: 'worker' });
    busy = await startService({ environment });
    await story.serve();
    await story.untilLearned();
    const organizations = (await simulator.state()).organizations.map((organization) => organization.id);
    id = organizations.pop()!;
    kept = organizations.map((other) => ({ match: { path: `/organizations/${other}/` }, delayMs: 60_000 }));
    await simulator.setFaults(kept);
    const from = (await story.requests()).length;
    for (const other of organizations)
      void fetch(`${busy.operationsUrl}/api/organizations/${other}/probe`, { method: 'POST' }).catch(
        () => {},
      );
    const isKept = async () => {
      const since = (await story.requests()).slice(from);
      return organizations.every((other) => since.some(({ path }) => path.includes(`/${other}/`)));
    };
    await until(isKept, { ...soon, what: 'the worker to be busy' });
    free = await startService({ environment });
  });

  afterAll(async () => {
    await busy.kill();
    await free.kill();
    await story.end();
    await server.stop();
  });

  const probe = async ({ operationsUrl }: Service) => {
    const environment = story.settings({ TRAMLINE_URL: operationsUrl });
    const { code, out, error } = await runCommand(['organizations', 'probe', id], environment);
    return [code, /^access +(\S+)$/m.exec(out)?.[1], error];
  };
  const active = [0, 'active', ''];
  const blocked = [5, 'terms-required', ''];
  const accept = (termsAccepted: boolean) =>
    story.simulator.setOrganization(id, { termsAccepted, notify: false });

  test('that is asked of one worker ends with what the other one found', async () => {
    const found: unknown[] = [];
    for (const termsAccepted of [false, true]) {
      await accept(termsAccepted);
      found.push(await probe(busy));
    }
    expect(found).toEqual([blocked, active]);
  });

  test('that is asked for while the other worker asks ends with what is found after it', async () => {
    await accept(false);
    expect(await probe(free)).toEqual(blocked);
    await story.simulator.setFaults([...kept, { match: { path: '/' }, times: 1, delayMs: 1500 }]);
    const from = (await story.requests()).length;
    const before = probe(free);
    await until(async () => (await story.requests()).length > from, { ...soon, everyMs: 10 });
    await accept(true);
    const after = probe(busy);
    expect([(await before)[1], await after]).toEqual([expect.any(String), active]);
  });

  test('that is asked of the receiver while the provider is away is not told as answered', async () => {
    await story.simulator.setFaults([...kept, { match: { path: '/' }, status: 503 }]);
    const [code, access, error] = await probe(story.service);
    expect([code, access]).toEqual([1, 'active']);
    const said = /^The provider did not say \((transient|left-alone)\): this is what was known before\.\n$/;
    expect(error).toMatch(said);
    await story.simulator.setFaults(kept);
    const answered = async () => (await probe(story.service))[0] === 0;
    await until(answered, { ...soon, what: 'the provider to be asked again' });
  });
});
