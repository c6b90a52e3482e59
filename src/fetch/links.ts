/**
 * Links of a document, by the name of their relationship. The provider spells the array `links` in one answer and
 * `link` in another. Pure; what is found here still passes the gate.
 */

const linksMax = 1000;

/** Relationship → address as received; the first of a repeated name counts, malformed entries are skipped. */
export function linksOf(document: unknown): Map<string, string> {
  const links = new Map<string, string>();
  if (typeof document !== 'object' || document === null) return links;
  const { links: many, link: one } = document as { links?: unknown; link?: unknown };
  for (const list of [many, one]) {
    for (const entry of Array.isArray(list) ? list.slice(0, linksMax) : [list]) {
      if (typeof entry !== 'object' || entry === null) continue;
      const { rel, uri } = entry as { rel?: unknown; uri?: unknown };
      if (typeof rel === 'string' && typeof uri === 'string' && !links.has(rel)) links.set(rel, uri);
    }
  }
  return links;
}
