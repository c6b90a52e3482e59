// How a claim is divided: each lane its share first, in the order given, and what is then left to whoever can use it.
import { divide, type ReadyLane } from '../../../src/store/divide';

const lane = (inFlight = 0, window: number | null = null): ReadyLane => ({ inFlight, window });
/** What each is granted; 0 for one that is left out. */
function granted(ready: ReadyLane[], limit: number, inFlight: number): number[] {
  const grants = divide(ready, limit, inFlight);
  return ready.map((one) => grants.find((grant) => grant.lane === one)?.limit ?? 0);
}

test('where there is less to give than lanes the first of them get one each', () => {
  expect(granted([lane(), lane(), lane()], 2, 0)).toEqual([1, 1, 0]);
});

test('what the shares leave goes to the first that can use it', () => {
  expect(granted([lane(), lane()], 5, 0)).toEqual([3, 2]);
  expect(granted([lane(9), lane(), lane(0, 1)], 6, 9)).toEqual([0, 5, 1]);
  expect(granted([lane(9), lane(1, 1)], 6, 10)).toEqual([6, 0]);
});

test('a lane that is half open gets no more than its window, whatever is left', () => {
  expect(granted([lane(0, 3), lane(2, 3)], 8, 2)).toEqual([3, 1]);
});

test('whoever gets nothing is left out', () => {
  expect(divide([lane(5, 5), lane()], 1, 5)).toEqual([{ lane: lane(), limit: 1 }]);
  expect(divide([lane()], 0, 0)).toEqual([]);
});
