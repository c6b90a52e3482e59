/**
 * The load of the proof is itself checked: whatever order its orders come in, nobody is let go who is still wanted blocked.
 */
import { makeLoad } from '../prove/load';
import { makeRandom } from '../prove/random';
import type { Sender } from '../prove/sender';
import type { Simulator } from '../support/simulator';

function provider() {
  const organizations = ['1', '2', '3'].map((id) => ({ id }));
  const equipment = organizations.flatMap(({ id: organizationId }) =>
    Array.from({ length: 40 }, (_, at) => {
      const id = `${organizationId}${at}`;
      return { id, organizationId, uri: `https://provider.test/equipment/${id}`, content: { name: id } };
    }),
  );
  const blocked = new Set<string>();
  const simulator = {
    state: async () => ({ organizations, equipment, fieldOperations: [] }),
    setFaults: async () => {},
    changeEquipment: async () => {},
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
