/**
 * Making due what was postponed, page by page, so that others have their turn between two of them, however much waits.
 * Nothing of it is kept: a process that dies, or closes its store, between two pages leaves the rest to its own time.
 */

/** What ended: by this, the condition on a postponed task that waits for it, as the indexes of either store have it. */
export const hastenedBy = {
  outage: 'NOT own',
  refusal: "code = 'client-refused'",
};

export interface HastenedPage {
  by: keyof typeof hastenedBy;
  /** When the first page was made. What was postponed since waits: it failed after that which ended. */
  beganMs: number;
  count: number;
  /** The due time from which on the next page looks; null after the last one. */
  fromMs: number | null;
}

/**
 * Resolves to how many became due; `next` makes the page after one, or null when nobody goes on. Ends, since what became
 * due fails after the first page if it fails again.
 */
export async function hastenRest(
  first: HastenedPage,
  next: (page: HastenedPage) => Promise<HastenedPage | null>,
): Promise<number> {
  let count = 0;
  for (let page: HastenedPage | null = first; page !== null; ) {
    count += page.count;
    page = page.fromMs === null ? null : await next(page);
  }
  return count;
}
