/**
 * A listing, page by page: `nextPage` is the only sign that there is more, each link passes the gate, and no chain is
 * followed in circles or without end. A listing that could not be followed to its end says so as its last item; it is
 * never taken as all there is.
 */
import type { Connection } from '../model/connection';
import type { Question } from './ask';
import type { Verdict } from './classify';
import type { Gate } from './gate';
import { linksOf } from './links';

/** Why a listing ended before its end. */
export type PartialReason =
  | 'no-listing'
  | 'loop'
  | 'too-many-pages'
  | 'address-refused'
  | 'address-template'
  | 'malformed-page'
  | 'call-failed';

export interface PartialEnd {
  partial: true;
  reason: PartialReason;
  detail: string;
  /** The page that could not be read, counted from 1; 0 when it was what comes before the first. */
  page: number;
  /** What the failed call was answered; null for the other reasons. */
  verdict: Exclude<Verdict, { kind: 'ok' }> | null;
}

export type Page = { partial: false; values: unknown[] } | PartialEnd;

export interface Listing {
  /** The address of the first page, as received. */
  first: string;
  operation: Question['operation'];
  connection: Connection;
  /** Asks for one page, within the attempt that the caller chose for it. */
  call(question: Question): Promise<Verdict>;
}

/** Never throws; holds one page at a time, and the addresses of at most `pagesMax` pages. */
export type Pages = (listing: Listing) => AsyncGenerator<Page, void>;

/** The most items of a page that the platform gives. */
const itemLimit = 100;

export function makePages(gate: Gate, pagesMax: number): Pages {
  return async function* pages({ first, operation, connection, call }) {
    const visited = new Set<string>();
    let address: string | undefined = first;
    while (address !== undefined) {
      const page = visited.size + 1;
      const end = (
        reason: PartialReason,
        detail: string,
        verdict: PartialEnd['verdict'] = null,
      ): PartialEnd => ({
        partial: true,
        reason,
        detail,
        page,
        verdict,
      });
      const admission = gate.admit(address);
      if (!admission.admitted) return yield end(admission.code, admission.detail);
      const url = withPaging(admission.url, page === 1);
      if (visited.has(url.href)) return yield end('loop', 'it is an earlier page again');
      if (page > pagesMax) return yield end('too-many-pages', `more than ${pagesMax} pages`);
      visited.add(url.href);
      const verdict = await call({ url, operation, connection });
      if (verdict.kind !== 'ok') return yield end('call-failed', 'it was not answered with a page', verdict);
      const { body } = verdict.document;
      const values = typeof body === 'object' && body !== null && 'values' in body ? body.values : null;
      if (!Array.isArray(values)) return yield end('malformed-page', 'it has no list of values');
      yield { partial: false, values };
      address = linksOf(body).get('nextPage');
    }
  };
}

/** A partial end in words, with the code of the failed call. */
export function partialDetail({ reason, detail, page, verdict }: PartialEnd): string {
  const code = verdict === null ? reason : 'code' in verdict ? verdict.code : verdict.kind;
  return `page ${page}: ${detail} (${code})`;
}

/**
 * The paging form of today: `;start=` and `;count=`, which the provider refuses but its links may still carry, become
 * `pageOffset` and `itemLimit`; the first page asks for as many items as a page may hold, unless its address says how
 * many.
 */
function withPaging(url: URL, first: boolean): URL {
  const old = [...url.pathname.matchAll(/;(start|count)=(\d+)/g)];
  if (old.length > 0) {
    url.pathname = url.pathname.replace(/;(start|count)=\d+/g, '');
    for (const [, name, value] of old) {
      url.searchParams.set(name === 'start' ? 'pageOffset' : 'itemLimit', value as string);
    }
  }
  if (first && !url.searchParams.has('itemLimit')) url.searchParams.set('itemLimit', String(itemLimit));
  return url;
}
