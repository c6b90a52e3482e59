/**
 * What the client key was refused, each until it is read again: a scope or licence is missing for something, whatever
 * else succeeds. Memory alone, of at most 1,000 things, each until it should have been seen again.
 */

/** What asks for it again: whatever makes due what waits, its asker within minutes, or the next sync alone. */
export type AskedAgain = 'due' | 'soon' | 'sync';

export interface ClientRefusals {
  /** `thing`: what was asked, as its asker calls it each time; `organizationId`: whose it is, as far as known. */
  refused(
    thing: string,
    detail: string,
    nowMs: number,
    again: AskedAgain,
    organizationId?: string | null,
  ): void;
  /** It was read, or is known not to be there: true when it is remembered as refused. */
  served(thing: string): boolean;
  /** What waited at that time was made due: what is still refused is seen again. */
  hastened(atMs: number): void;
  /** Is anything remembered that only a sync asks for again? */
  awaitSync(): boolean;
  /**
   * A sync of all that began then has ended, in whichever process: what is still refused was seen again in it. `unread`: the
   * organizations of which syncs left a listing unread, each as far as a sync came to it; nothing of theirs is over.
   */
  synced(beganMs: number, unread: ReadonlySet<string>): void;
  /** Since when, and what was said last; null where nothing is refused. */
  lasting(nowMs: number): { sinceMs: number; detail: string } | null;
}

interface Refusal {
  lastMs: number;
  detail: string;
  again: AskedAgain;
  organizationId: string | null;
}

/** Longer than the longest back-off: what is still refused is seen again before that. A sync is due whenever it is set to be. */
const rememberedMs: Record<AskedAgain, number> = { due: 900_000, soon: 900_000, sync: 86_400_000 };
/** Of more the first are forgotten: those that are still refused are seen again. */
const thingsMax = 1000;

/** Remembers at most 1,000 refused things. */
export function makeClientRefusals(): ClientRefusals {
  /** The last refused stand last. */
  const things = new Map<string, Refusal>();
  let sinceMs = 0;

  function forgetOld(nowMs: number): void {
    for (const [thing, { lastMs, again }] of things) {
      if (nowMs - lastMs >= rememberedMs[again]) things.delete(thing);
    }
  }

  return {
    refused(thing, detail, nowMs, again, organizationId = null) {
      forgetOld(nowMs);
      if (things.size === 0) sinceMs = nowMs;
      things.delete(thing);
      things.set(thing, { lastMs: nowMs, detail, again, organizationId });
      const [first] = things.keys();
      if (things.size > thingsMax) things.delete(first!);
    },
    served: (thing) => things.delete(thing),
    hastened(atMs) {
      for (const [thing, { lastMs, again }] of things)
        if (again === 'due' && lastMs < atMs) things.delete(thing);
    },
    awaitSync: () => [...things.values()].some(({ again }) => again === 'sync'),
    synced(beganMs, unread) {
      const mayBeUnread = (of: string | null) => (of === null ? unread.size > 0 : unread.has(of));
      for (const [thing, { lastMs, again, organizationId }] of things)
        if (again === 'sync' && lastMs < beganMs && !mayBeUnread(organizationId)) things.delete(thing);
    },
    lasting(nowMs) {
      forgetOld(nowMs);
      const last = [...things.values()].at(-1);
      return last === undefined ? null : { sinceMs, detail: last.detail };
    },
  };
}
