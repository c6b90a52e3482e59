/**
 * Fairness between organizations: whoever was served least goes first, and nobody gets more than a share while others wait.
 */
import { Lanes } from '../../../src/store/sqlite/lanes';

const always = () => true;
const grantsOf = (lanes: Lanes, limit: number, open: (id: string) => boolean = always) =>
  Object.fromEntries(lanes.grants(limit, 100, open).map(({ lane, limit: granted }) => [lane.id, granted]));

test('nothing due grants nothing', () => {
  const lanes = new Lanes();
  lanes.expect('a', 101);
  expect(grantsOf(lanes, 10)).toEqual({});
  expect(lanes.nextDueMs(always)).toBe(101);
});

test('two organizations get half each, and what one cannot use is left for the next round', () => {
  const lanes = new Lanes();
  lanes.expect('a', 0);
  lanes.expect('b', 0);
  expect(grantsOf(lanes, 10)).toEqual({ a: 5, b: 5 });
});

test('what is in flight counts against the share', () => {
  const lanes = new Lanes();
  lanes.expect('a', 0);
  lanes.served(lanes.lane('a'), 8);
  lanes.expect('b', 0);
  expect(grantsOf(lanes, 2)).toEqual({ b: 2 });
});

test('a closed organization is passed over', () => {
  const lanes = new Lanes();
  lanes.expect('a', 0);
  lanes.expect('b', 50);
  expect(grantsOf(lanes, 4, (id) => id !== 'a')).toEqual({ b: 4 });
  expect(lanes.nextDueMs((id) => id !== 'a')).toBe(50);
});

test('with less to give than lanes, those served least come first', () => {
  const lanes = new Lanes();
  for (const id of ['a', 'b', 'c']) lanes.expect(id, 0);
  lanes.served(lanes.lane('a'), 3);
  expect(Object.keys(grantsOf(lanes, 2))).toEqual(['b', 'c']);
});

test('a lane that was idle does not get what it did not ask for', () => {
  const lanes = new Lanes();
  lanes.expect('busy', 0);
  for (let round = 0; round < 10; round += 1) {
    lanes.grants(1, 100, always);
    lanes.served(lanes.lane('busy'), 1);
  }
  lanes.expect('new', 0);
  expect(lanes.lane('new').turn).toBeGreaterThanOrEqual(9);
});

test('half-open lets one, then two, then four through, and ends after 64', () => {
  const lanes = new Lanes();
  lanes.expect('a', 0);
  lanes.narrow('a');
  expect(grantsOf(lanes, 100)).toEqual({ a: 1 });
  lanes.served(lanes.lane('a'), 1);
  expect(grantsOf(lanes, 100)).toEqual({});
  expect(lanes.nextDueMs(always)).toBeNull();
  lanes.returned('a');
  lanes.widen('a');
  expect(grantsOf(lanes, 100)).toEqual({ a: 2 });
  for (let round = 0; round < 7; round += 1) lanes.widen('a');
  expect(grantsOf(lanes, 100)).toEqual({ a: 100 });
  lanes.widen('unknown');
});

test('a lane with nothing in it is forgotten', () => {
  const lanes = new Lanes();
  const lane = lanes.lane('a');
  lanes.served(lane, 1);
  lanes.returned('a');
  lanes.returned('a');
  expect(lanes.lane('a')).not.toBe(lane);
});
