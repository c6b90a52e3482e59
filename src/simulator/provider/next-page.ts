// What a fault does to the `nextPage` link of a page: the old form, a loop, a chain without end, another host.
// Promises to leave everything else of the page alone. Repeated items are made where pages are cut.
import { isObject, type Json } from '../json';

/** The words of the fault `nextPage`; besides them any absolute address, and `none`. */
export const NEXT_PAGE_WORDS = ['old', 'self', 'endless', 'foreign', 'repeat', 'none'] as const;
const FOREIGN_HOST = 'pages.elsewhere.example';

/** The page with another `nextPage`; anything that is no page stays as it is. `address`: that of the request. */
export function withNextPage(address: string, json: Json, kind: string): Json {
  if (kind === 'repeat' || !isObject(json) || !Array.isArray(json.links) || !Array.isArray(json.values))
    return json;
  const others = json.links.filter((one) => !isObject(one) || one.rel !== 'nextPage');
  const given = json.links.find((one) => isObject(one) && one.rel === 'nextPage');
  const next = isObject(given) && typeof given.uri === 'string' ? given.uri : undefined;
  const uri = changed(address, next, kind);
  return { ...json, links: uri === undefined ? others : [...others, { rel: 'nextPage', uri }] };
}

function changed(address: string, next: string | undefined, kind: string): string | undefined {
  switch (kind) {
    case 'none':
      return undefined;
    case 'self':
      return address;
    case 'endless':
      return next ?? further(new URL(address)).href;
    case 'old':
      return next === undefined ? undefined : inOldForm(new URL(next));
    case 'foreign': {
      if (next === undefined) return undefined;
      const foreign = new URL(next);
      foreign.host = FOREIGN_HOST;
      foreign.port = '';
      return foreign.href;
    }
    default:
      return kind;
  }
}

/** The address of a page behind this one, whether there is one or not. */
function further(here: URL): URL {
  const offset = Number(here.searchParams.get('pageOffset') ?? 0);
  const limit = Number(here.searchParams.get('itemLimit') ?? 10);
  here.searchParams.set('pageOffset', String(offset + limit));
  here.searchParams.set('itemLimit', String(limit));
  return here;
}

/** `…/fields?embed=x&pageOffset=10&itemLimit=10` → `…/fields;start=10;count=10?embed=x`. */
function inOldForm(next: URL): string {
  const [start, count] = ['pageOffset', 'itemLimit'].map((name) => next.searchParams.get(name) ?? '10');
  next.searchParams.delete('pageOffset');
  next.searchParams.delete('itemLimit');
  return `${next.origin}${next.pathname};start=${start};count=${count}${next.search}`;
}
