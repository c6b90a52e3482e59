/**
 * Calls that come while others of their kind are under way leave together as the next group: one transaction, a few
 * round trips, one flush, however many they are. Nobody waits for a timer, and fewer than are under way wait for those:
 * a transaction costs more than what is in it. A group that fails for another reason than availability is halved and
 * repeated until the call at fault is alone: only that one fails.
 */
import { isProblem } from '../../../model/problem';

/** A group beyond this would make its first wait for its last. */
const callsMax = 500;

export interface GroupSizes {
  /** So many groups are under way at most. */
  groupsMax: number;
  /** So many calls leave beside a group of any size. */
  besideAt: number;
}

interface Waiting<Call, Result> {
  call: Call;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * `execute` makes all or nothing of the calls, with their results in order. A group has at most 500 calls; one leaves beside
 * others once it has as many as the first of them, or as many as `besideAt`.
 */
export function makeGroups<Call, Result>(
  execute: (calls: Call[]) => Promise<Result[]>,
  { groupsMax, besideAt }: GroupSizes,
): (call: Call) => Promise<Result> {
  const waiting: Waiting<Call, Result>[] = [];
  const underWay = new Set<Waiting<Call, Result>[]>();
  let leaving = false;

  async function leave(): Promise<void> {
    const group = waiting.splice(0, callsMax);
    if (group.length === 0) return;
    underWay.add(group);
    await settle(group);
    underWay.delete(group);
    plan();
  }

  async function settle(group: Waiting<Call, Result>[]): Promise<void> {
    try {
      const results = await execute(group.map(({ call }) => call));
      for (const [index, { resolve }] of group.entries()) resolve(results[index]!);
    } catch (error) {
      if (group.length === 1 || isProblem(error, 'store.unavailable')) {
        for (const { reject } of group) reject(error);
      } else {
        const middle = group.length >> 1;
        await settle(group.slice(0, middle));
        await settle(group.slice(middle));
      }
    }
  }

  /** What is called within one turn of the event loop leaves together. */
  function plan(): void {
    if (leaving || underWay.size >= groupsMax || waiting.length === 0) return;
    const [group = []] = underWay;
    if (waiting.length < Math.min(group.length, besideAt)) return;
    leaving = true;
    setImmediate(() => {
      leaving = false;
      void leave();
      plan();
    });
  }

  return (call) =>
    new Promise((resolve, reject) => {
      waiting.push({ call, resolve, reject });
      plan();
    });
}
