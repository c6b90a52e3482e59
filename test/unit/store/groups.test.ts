/**
 * Calls of the scaled store in groups: which leave together, and which wait for those that are under way.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { makeGroups } from '../../../src/store/postgres/server/groups';

describe('groups', () => {
  let groups: { calls: number; end: () => void }[];
  let join: (call: number) => Promise<number>;
  beforeEach(() => {
    groups = [];
    const execute = async (calls: number[]) => {
      await new Promise<void>((end) => groups.push({ calls: calls.length, end }));
      return calls;
    };
    join = makeGroups<number, number>(execute, { groupsMax: 2, besideAt: 25 });
  });

  const come = async (count: number) => {
    const answers = Array.from({ length: count }, (_, call) => join(call));
    await turn();
    await turn();
    return answers;
  };
  const sizes = () => groups.map(({ calls }) => calls);

  test('one that comes beside one leaves at once', async () => {
    await come(1);
    await come(1);
    expect(sizes()).toEqual([1, 1]);
  });

  test('fewer than are under way wait for those, or for as many', async () => {
    await come(4);
    await come(3);
    expect(sizes()).toEqual([4]);
    await come(1);
    expect(sizes()).toEqual([4, 4]);
    const [waits] = await come(1);
    groups[0]!.end();
    await turn();
    await turn();
    expect(sizes()).toEqual([4, 4]);
    groups[1]!.end();
    await turn();
    await turn();
    expect(sizes()).toEqual([4, 4, 1]);
    groups[2]!.end();
    expect(await waits).toBe(0);
  });

  test('twenty-five leave beside a group of any size', async () => {
    await come(200);
    await come(24);
    expect(sizes()).toEqual([200]);
    await come(1);
    expect(sizes()).toEqual([200, 25]);
  });
});
