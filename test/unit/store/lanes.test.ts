/**
 * Fairness between organizations: whoever was served least goes first, and nobody gets more than a share while others wait.
 */
import { type KeepWindow, Lanes, type OpenAt } from '../../../src/store/sqlite/lanes';
import fc from '../../support/properties';

const always = () => 0;
const grantsOf = (lanes: Lanes, limit: number, openAt: OpenAt = always) =>
  Object.fromEntries(lanes.grants(limit, 100, openAt).map(({ lane, limit: granted }) => [lane.id, granted]));

/** Lanes whose changes can be taken back to where they were at the last call of `keep`. */
function undoable() {
  const undone: (() => void)[] = [];
  const lanes = new Lanes(
    (action) => void undone.push(action),
    () => {},
  );
  return {
    lanes,
    keep: () => void undone.splice(0),
    takeBack: () => {
      for (const action of undone.splice(0).reverse()) action();
    },
  };
}

const makeLanes = (keep: KeepWindow = () => {}) => new Lanes(() => {}, keep);

test('nothing due grants nothing', () => {
  const lanes = makeLanes();
  lanes.expect('a', 101);
  expect(grantsOf(lanes, 10)).toEqual({});
  expect(lanes.nextDueMs(always)).toBe(101);
});

test('two organizations get half each, and what one cannot use is left for the next round', () => {
  const lanes = makeLanes();
  lanes.expect('a', 0);
  lanes.expect('b', 0);
  expect(grantsOf(lanes, 10)).toEqual({ a: 5, b: 5 });
});

test('what is in flight counts against the share', () => {
  const lanes = makeLanes();
  lanes.expect('a', 0);
  lanes.served(lanes.lane('a'), 8, 0);
  lanes.expect('b', 0);
  expect(grantsOf(lanes, 2)).toEqual({ b: 2 });
});

test('a closed organization is passed over', () => {
  const lanes = makeLanes();
  lanes.expect('a', 0);
  lanes.expect('b', 50);
  const blocked: OpenAt = (id) => (id === 'a' ? null : 0);
  expect(grantsOf(lanes, 4, blocked)).toEqual({ b: 4 });
  expect(lanes.nextDueMs(blocked)).toBe(50);
});

test('an organization that is held is due when it is let go', () => {
  const lanes = makeLanes();
  lanes.expect('a', 0);
  const held: OpenAt = () => 300;
  expect(grantsOf(lanes, 4, held)).toEqual({});
  expect(lanes.nextDueMs(held)).toBe(300);
});

test('with less to give than lanes, those served least come first', () => {
  const lanes = makeLanes();
  for (const id of ['a', 'b', 'c']) lanes.expect(id, 0);
  lanes.served(lanes.lane('a'), 3, 0);
  expect(Object.keys(grantsOf(lanes, 2))).toEqual(['b', 'c']);
});

test('a lane that was idle does not get what it did not ask for', () => {
  const lanes = makeLanes();
  lanes.expect('busy', 0);
  for (let round = 0; round < 10; round += 1) {
    lanes.grants(1, 100, always);
    lanes.served(lanes.lane('busy'), 1, 0);
  }
  lanes.expect('new', 0);
  expect(lanes.lane('new').turn).toBeGreaterThanOrEqual(9);
});

test('half-open lets one, then two, then four through, and ends after 64', () => {
  const lanes = makeLanes();
  lanes.expect('a', 0);
  lanes.narrow('a');
  expect(grantsOf(lanes, 100)).toEqual({ a: 1 });
  lanes.served(lanes.lane('a'), 1, 0);
  expect(grantsOf(lanes, 100)).toEqual({});
  expect(lanes.nextDueMs(always)).toBeNull();
  lanes.returned('a');
  for (const window of [1, 2, 4, 8, 16, 32, 64]) {
    expect(grantsOf(lanes, 100)).toEqual({ a: window });
    for (let succeeded = 0; succeeded < window; succeeded += 1) lanes.widen('a');
  }
  expect(grantsOf(lanes, 100)).toEqual({ a: 100 });
  lanes.widen('unknown');
  lanes.returned('unknown');
});

test('each width of a half-open lane is written down once, and from any of them it goes on', () => {
  const kept: (number | null)[] = [];
  const lanes = makeLanes((_id, window) => void kept.push(window));
  lanes.expect('a', 0);
  lanes.narrow('a');
  for (let reads = 0; reads < 200; reads += 1) lanes.widen('a');
  expect(kept).toEqual([1, 2, 4, 8, 16, 32, 64, null]);
  const later = makeLanes();
  later.expect('a', 0);
  later.restore('a', 16);
  expect(grantsOf(later, 100)).toEqual({ a: 16 });
  for (let reads = 0; reads < 16; reads += 1) later.widen('a');
  expect(grantsOf(later, 100)).toEqual({ a: 32 });
});

test('a lane with nothing in it is forgotten', () => {
  const lanes = makeLanes();
  const lane = lanes.lane('a');
  lanes.served(lane, 1, null);
  lanes.returned('a');
  expect(lanes.lane('a')).not.toBe(lane);
  lanes.expect('b', 0);
  const empty = lanes.lane('b');
  lanes.served(empty, 0, null);
  expect(lanes.lane('b')).not.toBe(empty);
});

test('whatever is done to lanes can be taken back exactly', () => {
  const id = fc.constantFrom('a', 'b', 'c');
  const action = fc.oneof(
    fc.tuple(fc.constant('expect' as const), id, fc.nat(200)),
    fc.tuple(fc.constantFrom('narrow' as const, 'widen' as const, 'returned' as const), id),
    fc.tuple(fc.constant('take' as const), fc.integer({ min: 1, max: 9 }), fc.option(fc.nat(200))),
  );
  type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;
  const act = (lanes: Lanes, what: Action): void => {
    if (what[0] === 'expect') lanes.expect(what[1], what[2]);
    else if (what[0] === 'take') {
      for (const { lane, limit } of lanes.grants(what[1], 100, always)) lanes.served(lane, limit, what[2]);
    } else lanes[what[0]](what[1]);
  };
  const shown = (lanes: Lanes) =>
    lanes.grants(50, 100, always).map(({ lane, limit }) => [{ ...lane }, limit]);
  fc.assert(
    fc.property(fc.array(action), fc.array(action), fc.array(action), (before, between, after) => {
      const { lanes, keep, takeBack } = undoable();
      const same = makeLanes();
      for (const what of before) {
        act(lanes, what);
        act(same, what);
      }
      keep();
      for (const what of between) act(lanes, what);
      takeBack();
      for (const what of after) {
        expect(shown(lanes)).toEqual(shown(same));
        expect(lanes.nextDueMs(always)).toBe(same.nextDueMs(always));
        act(lanes, what);
        act(same, what);
      }
      const all = (of: Lanes) => [...'abc'].map((wanted) => ({ ...of.lane(wanted) }));
      expect(all(lanes)).toEqual(all(same));
    }),
  );
});
