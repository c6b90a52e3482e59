// The link objects of records, as every resource carries them.
// Where a link leads is decided by the resource that makes it.
import type { JsonObject } from '../json';

/** Links of a record carry a type, links of a page do not. */
export function link(rel: string, uri: string): JsonObject {
  return { '@type': 'Link', rel, uri };
}
