/**
 * What the client key was refused, each until it is read again: a scope or licence is missing for something, whatever
 * else succeeds. Memory alone, of at most 1,000 things, each until it should have been seen again. What syncs are refused is
 * in the store.
 */

/** What asks for it again: whatever makes due what waits, or its asker alone. */
export type AskedAgain = 'due' | 'soon';

export interface ClientRefusals {
  /** `thing`: what was asked, as its asker calls it each time. */
  refused(thing: string, detail: string, nowMs: number, again: AskedAgain): void;
  /** It was read, or is known not to be there: true when it is remembered as refused. */
  served(thing: string): boolean;
  /** What waited at that time was made due: what is still refused is seen again. */
  hastened(atMs: number): void;
  /** Since when, and what was said last; null where nothing is refused. */
  lasting(nowMs: number): { sinceMs: number; detail: string } | null;
  /** The clock was set back by so much: what was refused was so much before. */
  setBack(byMs: number): void;
}

interface Refusal {
  lastMs: number;
  detail: string;
  again: AskedAgain;
}

/** Longer than the longest back-off: what is still refused is seen again before that. */
const rememberedMs = 900_000;
/** Of more the first are forgotten: those that are still refused are seen again. */
const thingsMax = 1000;

/** Remembers at most 1,000 refused things. */
export function makeClientRefusals(): ClientRefusals {
  /** The last refused stand last. */
  const things = new Map<string, Refusal>();
  let sinceMs = 0;

  function forgetOld(nowMs: number): void {
    for (const [thing, { lastMs }] of things) if (nowMs - lastMs >= rememberedMs) things.delete(thing);
  }

  return {
    refused(thing, detail, nowMs, again) {
      forgetOld(nowMs);
      if (things.size === 0) sinceMs = nowMs;
      things.delete(thing);
      things.set(thing, { lastMs: nowMs, detail, again });
      const [first] = things.keys();
      if (things.size > thingsMax) things.delete(first!);
    },
    served: (thing) => things.delete(thing),
    hastened(atMs) {
      for (const [thing, { lastMs, again }] of things)
        if (again === 'due' && lastMs < atMs) things.delete(thing);
    },
    lasting(nowMs) {
      forgetOld(nowMs);
      const last = [...things.values()].at(-1);
      return last === undefined ? null : { sinceMs, detail: last.detail };
    },
    setBack(byMs) {
      sinceMs -= byMs;
      for (const refusal of things.values()) refusal.lastMs -= byMs;
    },
  };
}
