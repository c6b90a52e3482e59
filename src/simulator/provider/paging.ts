// Pages of a list: which records a request asked for, and the collection object with its links.
// Promises the provider's defaults and caps (platform 10 and 100, equipment 100 and 5000), no `nextPage` on the last
// page, and that pages are offsets into the list as it is now: rows may shift between two requests.
import type { JsonObject } from '../json';
import { type Exchange, header } from './exchange';
import type { Provider } from './provider';
import { Refusal } from './refusal';

export interface PageLimits {
  byDefault: number;
  most: number;
}

export const PLATFORM_PAGE: PageLimits = { byDefault: 10, most: 100 };
export const EQUIPMENT_PAGE: PageLimits = { byDefault: 100, most: 5_000 };

export interface PageRequest {
  offset: number;
  limit: number;
}

/** Throws a 400 refusal for an offset or limit that is not a whole number. More than the most is cut to the most. */
export function pageRequest(
  provider: Provider,
  exchange: Exchange,
  query: URLSearchParams,
  limits: PageLimits,
): PageRequest {
  const { coverage, settings, vendor } = provider;
  const first = { offset: 0, limit: limits.byDefault };
  if (exchange.oldPaging) return first;
  if (exchange.api === 'platform' && header(exchange, `x-${vendor}-no-paging`)?.toLowerCase() === 'true') {
    coverage.count('paging-off');
    return { offset: 0, limit: Number.POSITIVE_INFINITY };
  }
  const offset = whole(query, 'pageOffset', 0);
  const limit = whole(query, 'itemLimit', 1);
  if (limit !== undefined && limit > limits.most && settings.aboveMax === 'refused')
    throw new Refusal(400, `itemLimit must be at most ${limits.most}`, {
      field: 'itemLimit',
      value: String(limit),
    });
  if (offset !== undefined) coverage.count('paging-offset');
  if (limit !== undefined) coverage.count('paging-limit');
  coverage.count(offset === undefined && limit === undefined ? 'paging-default' : 'paging-new');
  // A list that grew at its front while it was read: the page begins with the last record of the one before.
  const repeated = exchange.fault?.nextPage === 'repeat' && offset !== undefined && offset > 0 ? 1 : 0;
  return { offset: (offset ?? 0) - repeated, limit: Math.min(limit ?? limits.byDefault, limits.most) };
}

function whole(query: URLSearchParams, name: string, least: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= least) return number;
  throw new Refusal(400, `${name} must be a whole number of at least ${least}`, { field: name, value: text });
}

/** The records of one page, and how many there are in all. */
export function takePage<T>(all: Iterable<T>, page: PageRequest): { taken: T[]; total: number } {
  const taken: T[] = [];
  let total = 0;
  for (const entry of all) {
    if (total >= page.offset && taken.length < page.limit) taken.push(entry);
    total += 1;
  }
  return { taken, total };
}

/** The records of one page, and whether more follow: the list is walked one record beyond the page. */
export function takeSome<T>(all: Iterable<T>, page: PageRequest): { taken: T[]; more: boolean } {
  const taken: T[] = [];
  let at = 0;
  for (const entry of all) {
    if (taken.length >= page.limit) return { taken, more: true };
    if (at >= page.offset) taken.push(entry);
    at += 1;
  }
  return { taken, more: false };
}

/** The collection object of the platform; `address` is the list's own without query. */
export function collection(
  address: string,
  query: URLSearchParams,
  page: PageRequest,
  total: number,
  values: JsonObject[],
): JsonObject {
  const links = [{ rel: 'self', uri: withPage(address, query, undefined) }];
  if (page.offset + values.length < total && values.length > 0) {
    links.push({
      rel: 'nextPage',
      uri: withPage(address, query, { offset: page.offset + page.limit, limit: page.limit }),
    });
  }
  if (page.offset > 0) {
    links.push({
      rel: 'previousPage',
      uri: withPage(address, query, { offset: Math.max(0, page.offset - page.limit), limit: page.limit }),
    });
  }
  return { links, total, values };
}

/** The collection object of the equipment API: no total, and a link only where there is a next page. */
export function equipmentCollection(
  address: string,
  query: URLSearchParams,
  page: PageRequest,
  { taken, more }: { taken: JsonObject[]; more: boolean },
): JsonObject {
  const next = () => withPage(address, query, { offset: page.offset + page.limit, limit: page.limit });
  return { links: more ? [{ rel: 'nextPage', uri: next() }] : [], values: taken };
}

function withPage(address: string, query: URLSearchParams, page: PageRequest | undefined): string {
  const all = new URLSearchParams(query);
  if (page) {
    all.set('pageOffset', String(page.offset));
    all.set('itemLimit', String(page.limit));
  }
  const text = all.toString();
  return text === '' ? address : `${address}?${text}`;
}
