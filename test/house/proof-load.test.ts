/**
 * The load of the proof is itself checked: whatever order its orders come in, nobody is let go who is still wanted blocked, and
 * however long it lasts, no organization loses so much that an operator would have to say that it may.
 */
import { makeLoad } from '../prove/load';
import { makeRandom } from '../prove/random';
import type { Sender } from '../prove/sender';
import type { Simulator } from '../support/simulator';

function provider(resources = 40) {
  const organizations = ['1', '2', '3'].map((id) => ({ id }));
  const equipment = organizations.flatMap(({ id: organizationId }) =>
    Array.from({ length: resources }, (_, at) => {
      const id = `${organizationId}${at}`;
      return { id, organizationId, uri: `https://provider.test/equipment/${id}`, content: { name: id } };
    }),
  );
  const blocked = new Set<string>();
  const simulator = {
    state: async () => ({ organizations, equipment, fieldOperations: [] }),
    setFaults: async () => {},
    changeEquipment: async () => {},
    remove: async () => {},
    async setOrganization(id: string, { termsAccepted }: { termsAccepted: boolean }) {
      if (termsAccepted) blocked.delete(id);
      else blocked.add(id);
    },
  };
  const sender = { send: () => {}, sendAsStranger: () => {} };
  return { blocked, simulator: simulator as unknown as Simulator, sender: sender as unknown as Sender };
}

test('terms that are to end wait for the organization that is held, and end when it is let go', async () => {
  const { blocked, simulator, sender } = provider();
  const load = await makeLoad(simulator, sender, makeRandom(7));
  await load.hold();
  const [held] = blocked;
  load.endTerms();
  for (let steps = 0; steps < 20; steps += 1) await load.step();
  expect(blocked).toContain(held);
  await load.release();
  expect(blocked).not.toContain(held);
  await load.step();
  expect(load.termsAreEnded()).toBe(true);
  expect(load.blocks.filter(({ toMs }) => toMs === null)).toHaveLength(1);
  expect(blocked).not.toContain(held);
});

test('however long it lasts, no organization loses twenty resources', async () => {
  const { simulator, sender } = provider(200);
  const load = await makeLoad(simulator, sender, makeRandom(7));
  const now = jest.spyOn(Date, 'now');
  for (let steps = 0; steps < 4000; steps += 1) {
    now.mockReturnValue(steps * 5000);
    await load.step();
  }
  now.mockRestore();
  const lost = Map.groupBy(load.removed, ({ organizationId }) => organizationId);
  expect([...lost.values()].map(({ length }) => length)).toEqual([15, 15, 15]);
});
