/**
 * A listing, page by page: `nextPage` is the only sign that there is more, each link passes the gate, and no chain is
 * followed in circles or without end. A listing that could not be followed to its end says so as its last item; it is
 * never taken as all there is.
 */
import type { NoDocument } from '../model/answer';
import { toldIn, wordsIn } from '../model/answer-words';
import type { Connection } from '../model/connection';
import { idCharactersMax, idText } from '../model/id-text';
import { shownAddress } from '../model/shown-address';
import { typeNameOf } from '../model/type-name';
import type { Question } from './ask';
import type { Forbidden, Verdict } from './classify';
import type { Admission, Gate } from './gate';
import { linksOf, unreadLinkOf, unreadLinksOf } from './links';
import { makeSeen } from './seen-entries';

/** Why a listing ended before its end. */
export type PartialReason =
  | 'no-listing'
  | 'loop'
  | 'too-many-pages'
  | 'address-refused'
  | 'address-template'
  | 'malformed-page'
  | 'malformed-entry'
  | 'changed-meanwhile'
  | 'call-failed';

export interface PartialEnd {
  partial: true;
  reason: PartialReason;
  detail: string;
  /** The page that could not be read, counted from 1; 0 when it was what comes before the first. */
  page: number;
  /** Where that page was asked for, or was said to be; null when it was what comes before the first. */
  address: string | null;
  /** What the failed call was answered; null for the other reasons. */
  verdict: NoDocument | Forbidden | null;
}

export interface WholePage {
  partial: false;
  /** The reader's own: it may empty them. */
  values: unknown[];
  /** Where it was asked for. */
  address: string;
  mediaType: string;
  /** Address of the next page, as received; null on the last one. */
  next: string | null;
  /** How many items the list has, as it says of itself; null when it does not. Proves nothing of its end. */
  total: number | null;
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

/** A chain that goes on behind the end of its list, or leads back into it, leads nowhere. */
const idlePagesMax = 10;

/**
 * A list ends at `pagesMax` pages, and after 10 in a row that hold nothing that was not met before; 10,000 names of entries
 * and a digest of each page are remembered to tell a repeat.
 */
export function makePages(gate: Gate, pagesMax: number): Pages {
  return async function* pages({ first, operation, connection, call, limits = platformLimits, unpaged }) {
    const chain = makeChain(pagesMax);
    let address: string | null = first;
    for (let page = 1; address !== null; page += 1) {
      const asked = address;
      const end = (reason: PartialReason, detail: string, verdict: PartialEnd['verdict'] = null) =>
        ({ partial: true, reason, detail, page, address: asked, verdict }) as const;
      const admission = admitPage(gate, asked, limits, page === 1 && unpaged !== true);
      if (!admission.admitted) return yield end(admission.code, admission.detail);
      const { url } = admission;
      const nowhere = chain.visit(url.href);
      if (nowhere !== null) return yield end(...nowhere);
      const verdict = await call({ url, operation, connection });
      if (verdict.kind !== 'ok') return yield end('call-failed', 'it was not answered with a page', verdict);
      const { body, mediaType } = verdict.document;
      const { values, total } = partsOf(body);
      if (!Array.isArray(values)) {
        const got = values === undefined ? typeNameOf(body, 'an object without it') : typeNameOf(values);
        return yield end('malformed-page', `expected a list of values, got ${got}`);
      }
      address = linksOf(body).get('nextPage') ?? null;
      chain.note(values, total, address);
      yield { partial: false, values, address: url.href, mediaType, next: address, total };
      if (address !== null) continue;
      // A link that cannot be read may be the next page's: what was read is not all there is.
      const unread = unreadLinkOf(unreadLinksOf(body), ['nextPage']);
      if (unread !== null) return yield { ...end('malformed-page', unread), address: url.href };
      const changed = chain.changed();
      if (changed !== null) yield { ...end('changed-meanwhile', changed), address: url.href };
    }
  };
}

/** What was met of one list so far, by which a chain that leads nowhere is told, and one that changed meanwhile. */
function makeChain(pagesMax: number) {
  const visited = new Set<string>();
  const totals = new Set<number>();
  const seen = makeSeen();
  let repeated = false;
  let idle = 0;
  return {
    /** Why this page is not to be asked for; null where it is. */
    visit(href: string): [reason: PartialReason, detail: string] | null {
      if (visited.has(href)) return ['loop', 'it is an earlier page again'];
      if (idle >= idlePagesMax) return ['loop', `${idlePagesMax} pages in a row hold nothing new`];
      if (visited.size >= pagesMax) return ['too-many-pages', `more than ${pagesMax} pages`];
      visited.add(href);
      return null;
    },
    note(values: unknown[], total: number | null, next: string | null): void {
      if (total !== null) totals.add(total);
      // A page that is all there is need not be remembered.
      const news = visited.size === 1 && next === null ? null : seen.note(values, values.map(idOf));
      idle = news?.fresh === false ? idle + 1 : 0;
      repeated ||= news?.again === true;
    },
    /**
     * How the list changed while it was read; null where nothing shows that. Offsets count from its beginning: when it
     * changes, items slip from one page to another.
     */
    changed(): string | null {
      if (totals.size <= 1 && !repeated) return null;
      const how = repeated ? 'an item came twice' : 'it became longer or shorter';
      return `the list changed while it was read: ${how}`;
    },
  };
}

/** The id of an entry, as text; null when it has none, or one that nothing can be read or kept by. */
export function idOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null;
  return idText((body as { id?: unknown }).id);
}

/** Entries of a listing that say nothing that they could be read by: how many, and of the first where and what came. */
export interface Unreadable {
  count: number;
  first: string;
  address: string;
}

/** Counts the entries of a page that are not readable, by the words that say why; what is known of earlier ones stays. */
export function noteUnreadable(
  known: Unreadable | null,
  { values, address }: WholePage,
  troubleOf: (value: unknown) => string | null,
): Unreadable | null {
  let unreadable = known;
  for (const [place, value] of values.entries()) {
    const trouble = troubleOf(value);
    if (trouble === null) continue;
    const first = `entry ${place + 1} of a page: ${trouble}`;
    unreadable =
      unreadable === null ? { count: 1, first, address } : { ...unreadable, count: unreadable.count + 1 };
  }
  return unreadable;
}

/** What is wrong with an entry that says neither what it is nor where. */
export function withoutId(value: unknown): string {
  const { id } = (value ?? {}) as { id?: unknown };
  const isGiven = (typeof id === 'string' && id !== '') || typeof id === 'number';
  const wanted = isGiven ? ` (an integer or 1 to ${idCharactersMax} printable characters)` : '';
  const got = isGiven ? 'an object with another' : 'an object without it';
  return `expected an object with an id${wanted}, got ${typeNameOf(value, got)}`;
}

/** The rest of the listing was read; what these were is not known. */
export function unreadableSentence({ count, first, address }: Unreadable): string {
  const more = count === 1 ? '' : `, and ${count - 1} more`;
  return `${first}${more} (malformed-entry) at ${shownAddress(address) ?? 'no readable address'}`;
}

/** Of an object alone: a list has a `values` of its own. */
function partsOf(body: unknown): { values?: unknown; total: number | null } {
  const isPage = typeof body === 'object' && body !== null && !Array.isArray(body);
  const { values, total }: { values?: unknown; total?: unknown } = isPage ? body : {};
  return { values, total: typeof total === 'number' ? total : null };
}

/** A partial end in words: with the code of the failed call, and last what was said to it. */
export function partialDetail(page: PartialEnd): string {
  const said = page.verdict === null ? null : wordsIn(page.verdict);
  return said === null ? headOf(page) : `${headOf(page)} – ${said}`;
}

/** As `partialDetail`, with the address, without what may be secret in it, and with where a customer acts. */
export function partialSentence(page: PartialEnd): string {
  const { address, verdict } = page;
  const shown = address === null ? null : shownAddress(address);
  const told = verdict === null ? '' : toldIn(verdict);
  return `${headOf(page)}${shown === null || told.includes(shown) ? '' : ` at ${shown}`}${told}`;
}

/** Without the code where the words that follow say it. */
function headOf({ reason, detail, page, verdict }: PartialEnd): string {
  const code = verdict === null ? reason : 'code' in verdict ? verdict.code : verdict.kind;
  const words = verdict === null ? '' : (wordsIn(verdict) ?? '');
  const isSaid = words.includes(code) || words.includes(code.replace('-', ' '));
  return `page ${page}: ${detail}${isSaid ? '' : ` (${code})`}`;
}

/** What stands between a semicolon and what ends it, in a path and in a query. */
const ofPath = /(?:;|%3b)((?:(?!%3b)[^;/])*)/gi;
const ofQuery = /(?:;|%3b)((?:(?!%3b)[^;&])*)/gi;

/**
 * The paging form of today: `;start=` and `;count=`, which the provider refuses but its links may still carry, in the path
 * or behind it and however they are encoded, become `pageOffset` and `itemLimit`; a limit above the most is the most. With
 * `fill`, an address that does not say how many items it wants asks for as many as are wanted. Changes and returns the
 * address.
 */
export function withPaging(url: URL, limits: PageLimits, fill: boolean): URL {
  const old: [name: string, value: string][] = [];
  const take = (whole: string, parameter: string) => {
    const [, name, value = ''] = /^\s*(start|count)\s*(?:=\s*(.*))?$/is.exec(decoded(parameter)) ?? [];
    if (name === undefined) return whole;
    old.push([name.toLowerCase(), value.trim()]);
    return '';
  };
  if (/;|%3b/i.test(url.pathname)) url.pathname = url.pathname.replace(ofPath, take);
  if (/;|%3b/i.test(url.search)) url.search = url.search.replace(ofQuery, take);
  for (const [name, value] of old) {
    if (/^\d+$/.test(value)) url.searchParams.set(name === 'start' ? 'pageOffset' : 'itemLimit', value);
  }
  const asked = url.searchParams.get('itemLimit');
  if (asked === null && fill) url.searchParams.set('itemLimit', String(limits.wanted));
  if (Number(asked) > limits.most) url.searchParams.set('itemLimit', String(limits.most));
  return url;
}

/** The address of a page in today's form. What is left without the old form is an address of its own, and judged as one. */
export function admitPage(gate: Gate, address: unknown, limits: PageLimits, fill: boolean): Admission {
  const admission = gate.admit(address);
  return admission.admitted ? gate.admit(withPaging(admission.url, limits, fill).href) : admission;
}

/** What cannot be decoded stays as it is: the gate refuses it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
