// How a list of the platform is answered: a page, or with a change token what changed since, or 304.
// Promises one token per user, address and form of the records, the whole list unpaged with a first token, and that
// something gone is an entry with a `delete` link. Which records a list has is said by its resource.
import type { JsonObject } from '../json';
import type { Mark } from '../world/changes';
import type { Answer, Exchange } from './exchange';
import { header } from './exchange';
import { link } from './links';
import { collection, type PageRequest, PLATFORM_PAGE, pageRequest, takePage } from './paging';
import { type Provider, userOf } from './provider';

export interface List<T> {
  /** The list's own address, without query. */
  address: string;
  /** The entries from `from` up to `to`, in order; cheap to begin anywhere where `total` is known. */
  entries: (from: number, to: number) => Iterable<T>;
  /** Undefined: the entries are counted. */
  total?: number;
  record: (entry: T) => JsonObject;
  /** What changed after the mark, things gone included. Undefined: this list has no change tokens. */
  changedSince?: (mark: Mark) => Iterable<Changed<T>>;
  /** What else the records depend on: a token of another form is none. */
  form?: string;
}

export type Changed<T> = { entry: T } | { gone: { type: string; id: string; address: string } };

export function answerList<T>(
  provider: Provider,
  exchange: Exchange,
  query: URLSearchParams,
  list: List<T>,
): Answer {
  const token = header(exchange, `x-${provider.vendor}-signature`);
  if (token !== undefined && list.changedSince && provider.settings.changeTokens)
    return answerChanges(provider, exchange, query, { ...list, changedSince: list.changedSince }, token);
  const page = pageRequest(provider, exchange, query, PLATFORM_PAGE);
  const { taken, total } = pageOf(list, page);
  return { json: collection(list.address, query, page, total, taken.map(list.record)) };
}

function pageOf<T>({ entries, total }: List<T>, page: PageRequest): { taken: T[]; total: number } {
  if (total === undefined) return takePage(entries(0, Number.POSITIVE_INFINITY), page);
  return { taken: [...entries(page.offset, page.offset + page.limit)], total };
}

function answerChanges<T>(
  provider: Provider,
  exchange: Exchange,
  query: URLSearchParams,
  list: List<T> & Required<Pick<List<T>, 'changedSince'>>,
  token: string,
): Answer {
  const { changeTokens, coverage, nowMs, vendor, world } = provider;
  const key = `${userOf(exchange).name} ${exchange.record.url} ${list.form ?? ''}`;
  const mark = world.mark(nowMs());
  const since = changeTokens.find(token, key);
  const page = { offset: 0, limit: Number.POSITIVE_INFINITY };
  let values: JsonObject[];
  if (since) {
    values = [...list.changedSince(since)].map((changed) =>
      'entry' in changed ? list.record(changed.entry) : deleted(changed.gone),
    );
    coverage.count(values.length === 0 ? 'change-token-unchanged' : 'change-token-changes');
    if (values.length === 0) return { status: 304 };
  } else {
    coverage.count('change-token-first');
    values = Array.from(list.entries(0, Number.POSITIVE_INFINITY), list.record);
  }
  return {
    json: collection(list.address, query, page, values.length, values),
    headers: { [`X-${vendor}-Signature`]: changeTokens.give(key, mark) },
  };
}

function deleted({ type, id, address }: { type: string; id: string; address: string }): JsonObject {
  return { '@type': type, id, links: [link('delete', address)] };
}
