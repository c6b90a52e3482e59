/**
 * Work on many things with so many at once. Nothing is started that was not asked for before it, and nothing after a
 * failure.
 */

/** Runs work when a place is free, in the order of asking. */
export type Slots = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** `limit` places. */
export function makeSlots(limit: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return async (work) => {
    if (taken >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else taken += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) taken -= 1;
      else next();
    }
  };
}

/**
 * Works through a stream with at most `limit` at once, and has the next one ready meanwhile; rejects as the first that
 * failed, when all begun have ended.
 */
export async function eachOf<Thing>(
  things: AsyncIterable<Thing>,
  limit: number,
  work: (thing: Thing) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const thing of things) {
    if (running.size >= limit) await Promise.race(running);
    if (failures.length > 0) break;
    const one = work(thing).catch((error: unknown) => void failures.push(error));
    running.add(one);
    void one.then(() => running.delete(one));
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}
