// Goal: the controls that stories use do what they say, and a misspelt one is told.
// Method: a simulator in this process, asked over HTTP.
import { startSimulatorHere } from '../support/simulator';

let simulator: Awaited<ReturnType<typeof startSimulatorHere>>;

beforeAll(async () => {
  simulator = await startSimulatorHere({
    organizations: 1,
    equipment: 2,
    fieldOperations: 1,
    heartbeatMs: 0,
  });
});

afterAll(() => simulator.close());

test('the state is the truth as it stands, also after a change', async () => {
  const before = await simulator.state();
  expect(before.organizations).toHaveLength(1);
  expect(before.equipment).toHaveLength(2);
  const { id } = before.organizations[0] as { id: string };
  await simulator.setOrganization(id, { termsAccepted: false });
  expect((await simulator.state()).organizations[0]).toMatchObject({ id, termsAccepted: false });
});

test('changed content is in the state and asks for no delivery when it is kept quiet', async () => {
  const { id } = (await simulator.state()).equipment[0] as { id: string };
  await simulator.changeEquipment(id, { notify: false, name: 'Seeder 9' });
  const changed = (await simulator.state()).equipment.find((one) => one.id === id);
  expect(JSON.stringify(changed?.content)).toContain('Seeder 9');
  expect(await simulator.counts()).toMatchObject({ deliveries: 0, notificationsPending: 0 });
});

test('an unsigned request is recorded with the verdict on it', async () => {
  const response = await fetch(simulator.catalog);
  await response.text();
  const requests = await simulator.requests();
  expect(requests.at(-1)).toMatchObject({
    verdict: { scheme: 'none', valid: false },
    status: response.status,
  });
});

test('a misspelt control is refused with a sentence', async () => {
  await expect(simulator.setFaults([{ match: {}, tims: 1 } as never])).rejects.toThrow(/PUT faults: 400/);
});
