/**
 * Forgetting an organization page by page, so that others have their turn between two of them, however much waits for it.
 * The first page ends its access, and what is being read of it. While the rest is given up it stands in `meta` how much was so
 * far: until the last page nobody probes it, and nothing makes it active. Whoever is broken off between two pages leaves it so;
 * who asks again goes on from there.
 */
import type { Forgotten, Observed } from '../model/organization';
import { Problem } from '../model/problem';

/** Names of `meta` that hold, by organization and its epoch, how many resources' work was given up so far. */
export const forgettingPrefix = 'forgetting:';

/** A version that does not heed it may go on with the organization: then it has another epoch, and the row says nothing any more. */
export const forgettingName = (organizationId: string, epoch: number) =>
  `${forgettingPrefix}${epoch}:${organizationId}`;

export interface ForgettingPage {
  organizationId: string;
  /** Of the organization since the first page: who asks again raises it, and goes on instead. */
  epoch: number;
  /** What a later delivery names waits, as it does after the last page. */
  untilDelivery: number;
  /** The task behind which the next page looks; null after the last one. */
  afterTask: number | null;
  /** Those of whoever was broken off before included. */
  discarded: number;
}

/** What the first page did. */
export interface Forgetting extends Observed {
  page: ForgettingPage;
}

/**
 * `next` makes the page after one, or null where somebody else has asked meanwhile: then throws `command.refused`. Throws what
 * `next` throws; the pages before it stand.
 */
export async function forgetRest(
  begun: Forgetting | null,
  next: (page: ForgettingPage) => Promise<ForgettingPage | null>,
): Promise<Forgotten | null> {
  if (begun === null) return null;
  const { page: first, ...observed } = begun;
  let page = first;
  while (page.afterTask !== null) {
    const after = await next(page);
    if (after === null)
      throw new Problem(
        'command.refused',
        'it changed meanwhile: somebody asked for the same, or it was seen again',
      );
    page = after;
  }
  return { ...observed, discarded: page.discarded };
}
