/**
 * What was met of a list so far, to tell whether a page brings anything new: in bounded memory, whatever the list holds.
 * Of a list that is longer than what is remembered, a page that comes again as it was is still known. Pure.
 */
import { createHash } from 'node:crypto';

export interface Seen {
  /** `ids`: of each of the values, null where it has none. `again`: an id was on an earlier page. `fresh`: something was not. */
  note(values: unknown[], ids: (string | null)[]): { again: boolean; fresh: boolean };
}

/** So many entries are remembered: those of the pages read last. */
const namesMax = 10_000;

/** Remembers the names of 10,000 entries, and 20 bytes of each page. */
export function makeSeen(): Seen {
  const names = new Set<string>();
  const pages = new Set<string>();
  return {
    note(values, ids) {
      const again = ids.some((id) => id !== null && names.has(id));
      // What has no id is told from others by all that it says.
      const own = values.map((value, place) => ids[place] ?? `entry ${digestOf(value)}`);
      const page = digestOf(own);
      const fresh = !pages.has(page) && own.some((name) => !names.has(name));
      pages.add(page);
      if (names.size + own.length > namesMax) names.clear();
      for (const name of own) names.add(name);
      return { again, fresh };
    },
  };
}

function digestOf(value: unknown): string {
  return createHash('sha1').update(JSON.stringify(value)).digest('base64');
}
