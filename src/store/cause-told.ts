/**
 * Which of the words that failures came with is told. Several verbs fail side by side, each with words of its own, and of a
 * connection that broke the driver tells less than the server does of the next one. Pure.
 */

export interface Words {
  firstMs: number;
  lastMs: number;
  /** The driver's own, which the server or the system said nothing of. */
  isDrivers: boolean;
}

/** Of one verb, by the words. Those that were said last are last. */
export type Said = Map<string, Words>;

/** Words that name a file or a place may be others each time. */
const keptMax = 8;
/** For so long nobody else may say anything: what is said again after it begins anew, and the driver's words count beside no older ones. */
const recentMs = 10_000;
/** What is new is told once it has been said for so long, and what was told before it no more. */
const settleMs = 1000;

/** Of one verb the eight that were said last are kept. */
export function say(said: Said, words: string, isDrivers: boolean, nowMs: number): void {
  const before = said.get(words);
  const goesOn = before !== undefined && nowMs - before.lastMs < recentMs;
  said.delete(words);
  said.set(words, { firstMs: goesOn ? before.firstMs : nowMs, lastMs: nowMs, isDrivers });
  if (said.size > keptMax) said.delete(said.keys().next().value!);
}

interface Told {
  words: string;
  /** They are no driver's, and were said lately. */
  isServersNow: boolean;
}

/**
 * Chooses the words to tell of what failing verbs said, of which there is one at least. What was told stays as long as it is
 * said: two causes that take turns are no news each time.
 */
export function makeChoice(): (failing: { said: Said }[], nowMs: number) => Told {
  let told: string | null = null;
  return (failing, nowMs) => {
    const pool = worthTelling(together(failing), nowMs);
    const before = told === null ? undefined : pool.get(told);
    const news = [...pool].filter(
      ([, { firstMs }]) => before === undefined || (firstMs > before.lastMs && nowMs - firstMs >= settleMs),
    );
    const newest = news.toSorted((left, right) => left[1].lastMs - right[1].lastMs).at(-1);
    const words = newest?.[0] ?? (told as string);
    told = words;
    const of = pool.get(words) as Words;
    return { words, isServersNow: isRecent(of, nowMs) && !of.isDrivers };
  };
}

function together(failing: { said: Said }[]): Said {
  const all: Said = new Map();
  for (const { said } of failing) {
    for (const [words, one] of said) {
      const twin = all.get(words) ?? one;
      const [firstMs, lastMs] = [Math.min(one.firstMs, twin.firstMs), Math.max(one.lastMs, twin.lastMs)];
      all.set(words, { ...one, firstMs, lastMs });
    }
  }
  return all;
}

/** What was said lately, by the server where it said anything. */
function worthTelling(all: Said, nowMs: number): Said {
  const recent = [...all].filter(([, words]) => isRecent(words, nowMs));
  const servers = recent.filter(([, { isDrivers }]) => !isDrivers);
  if (servers.length > 0) return new Map(servers);
  return recent.length > 0 ? new Map(recent) : all;
}

function isRecent({ lastMs }: Words, nowMs: number): boolean {
  return nowMs - lastMs < recentMs;
}
