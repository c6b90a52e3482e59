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
  | 'changed-meanwhile'
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

export interface WholePage {
  partial: false;
  values: unknown[];
  /** Where it was asked for. */
  address: string;
  mediaType: string;
  /** Address of the next page, as received; null on the last one. */
  next: string | null;
}

export type Page = WholePage | PartialEnd;

/** How many items a page has when nothing is said, and at most; how many are asked for. */
export interface PageLimits {
  most: number;
  wanted: number;
}

/** Pages have 10 items unless more are asked for. */
export const platformLimits: PageLimits = { most: 100, wanted: 100 };
/** Pages have 100 items unless more are asked for; records are large, so fewer are wanted than may be had. */
export const equipmentLimits: PageLimits = { most: 5000, wanted: 1000 };

export interface Listing {
  /** The address of the first page, as received. */
  first: string;
  operation: Question['operation'];
  connection: Connection;
  /** Asks for one page, within the attempt that the caller chose for it. */
  call(question: Question): Promise<Verdict>;
  /** `platformLimits` when left out. */
  limits?: PageLimits;
  /** The whole list is asked for at once: then its address names no limit. */
  unpaged?: boolean;
}

/** Never throws; holds one page at a time, and the addresses of at most `pagesMax` pages. */
export type Pages = (listing: Listing) => AsyncGenerator<Page, void>;

/** A chain that goes on behind the end of its list leads nowhere. */
const emptyPagesMax = 10;

export function makePages(gate: Gate, pagesMax: number): Pages {
  return async function* pages({ first, operation, connection, call, limits = platformLimits, unpaged }) {
    const visited = new Set<string>();
    const totals = new Set<number>();
    let empty = 0;
    let address: string | null = first;
    while (address !== null) {
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
      const url = withPaging(admission.url, limits, page === 1 && unpaged !== true);
      if (visited.has(url.href)) return yield end('loop', 'it is an earlier page again');
      if (empty >= emptyPagesMax) return yield end('loop', `${emptyPagesMax} pages in a row hold nothing`);
      if (page > pagesMax) return yield end('too-many-pages', `more than ${pagesMax} pages`);
      visited.add(url.href);
      const verdict = await call({ url, operation, connection });
      if (verdict.kind !== 'ok') return yield end('call-failed', 'it was not answered with a page', verdict);
      const { body, mediaType } = verdict.document;
      const { values, total } = partsOf(body);
      if (!Array.isArray(values)) {
        return yield end('malformed-page', `expected a list of values, got ${typeNameOf(values ?? body)}`);
      }
      if (typeof total === 'number') totals.add(total);
      empty = values.length === 0 ? empty + 1 : 0;
      const next: string | null = linksOf(body).get('nextPage') ?? null;
      yield { partial: false, values, address: url.href, mediaType, next };
      address = next;
      // Offsets count from the beginning: when the list changes, items slip from one page to another.
      if (address === null && totals.size > 1) {
        yield end('changed-meanwhile', 'the list became longer or shorter while it was read');
      }
    }
  };
}

function partsOf(body: unknown): { values?: unknown; total?: unknown } {
  return typeof body === 'object' && body !== null ? body : {};
}

function typeNameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object without it' : typeof value;
}

/** A partial end in words, with the code of the failed call. */
export function partialDetail({ reason, detail, page, verdict }: PartialEnd): string {
  const code = verdict === null ? reason : 'code' in verdict ? verdict.code : verdict.kind;
  return `page ${page}: ${detail} (${code})`;
}

const oldForm = /(?:;|%3b)(start|count)=([^;/%]*)/gi;

/**
 * The paging form of today: `;start=` and `;count=`, which the provider refuses but its links may still carry, become
 * `pageOffset` and `itemLimit`; a limit above the most is the most. With `fill`, an address that does not say how many
 * items it wants asks for as many as are wanted. Changes and returns the address.
 */
export function withPaging(url: URL, limits: PageLimits, fill: boolean): URL {
  const old = [...url.pathname.matchAll(oldForm)];
  if (old.length > 0) {
    url.pathname = url.pathname.replace(oldForm, '');
    for (const [, name, value = ''] of old) {
      if (!/^\d+$/.test(value)) continue;
      url.searchParams.set(name?.toLowerCase() === 'start' ? 'pageOffset' : 'itemLimit', value);
    }
  }
  const asked = url.searchParams.get('itemLimit');
  if (asked === null && fill) url.searchParams.set('itemLimit', String(limits.wanted));
  if (Number(asked) > limits.most) url.searchParams.set('itemLimit', String(limits.most));
  return url;
}
