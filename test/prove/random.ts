// Chance that can be had again: everything that the driver decides comes from one seed. Only the moments at which other
// processes get around to things are not.

export type Random = {
  /** In [0, 1). */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number;
  /** True in this share of the cases. */
  chance(share: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
};

/** Mulberry32: one 32-bit state, good enough to choose what to break. */
export function makeRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    chance: (share) => next() < share,
    pick: (items) => {
      if (items.length === 0) throw new Error('There is nothing to pick from.');
      return items[between(0, items.length - 1)]!;
    },
  };
}
