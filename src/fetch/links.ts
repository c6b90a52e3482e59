/**
 * Links of a document, by the name of their relationship, and what of them cannot be read: a link that is malformed is no
 * link, but not the same as none. The provider spells the array `links` in one answer and `link` in another. Pure; what is
 * found here still passes the gate.
 */
import { typeNameOf } from '../model/type-name';
import { withoutUserInfo } from '../model/without-user-info';
import { shown } from './error-message';

/** How a field names the list of its operations. */
export const operationRels = ['fieldOperations', 'fieldOperation'];

const linksMax = 1000;
/** Stands for every relationship: what could not be read may have been any of them. */
const anyRel = '';
const shownRel = /^[\w.-]{1,60}$/;
/** What can be asked for, or be refused as an address of somebody else; nothing says what another text is relative to. */
const absolute = /^[a-z][a-z\d+.-]*:\/\/[^/?#\\]/i;
const textCharsMax = 120;

/**
 * Relationship → address as received, but for user info, which is hidden; the first of a repeated name counts, malformed
 * entries, those whose address is not absolute, and those beyond the first 1,000 of a list are skipped.
 */
export function linksOf(document: unknown): Map<string, string> {
  const links = new Map<string, string>();
  for (const list of listsOf(document)) {
    for (const entry of Array.isArray(list) ? list.slice(0, linksMax) : [list]) {
      if (typeof entry !== 'object' || entry === null) continue;
      const { rel, uri } = entry as { rel?: unknown; uri?: unknown };
      if (typeof rel === 'string' && typeof uri === 'string' && !links.has(rel) && absolute.test(uri))
        links.set(rel, withoutUserInfo(uri));
    }
  }
  return links;
}

/**
 * Relationship → what was expected of its link and what came; under `''` where it may have been any of them. Looks at
 * the first 1,000 of a list, and notes that there are more. Of what is no address 120 characters are told.
 */
export function unreadLinksOf(document: unknown): Map<string, string> {
  const unread = new Map<string, string>();
  const note = (rel: string, words: string) => unread.has(rel) || unread.set(rel, words);
  for (const list of listsOf(document)) {
    if (list === undefined || list === null) continue;
    if (typeof list !== 'object') note(anyRel, `expected a list of links, got ${typeNameOf(list)}`);
    const entries: unknown[] = Array.isArray(list) ? list : typeof list === 'object' ? [list] : [];
    if (entries.length > linksMax) note(anyRel, `expected at most ${linksMax} links, got ${entries.length}`);
    for (const entry of entries.slice(0, linksMax)) {
      const trouble = troubleOf(entry);
      if (trouble !== null) note(...trouble);
    }
  }
  return unread;
}

/** What is wrong with one of a list of links, and under which relationship; null where it can be read. */
function troubleOf(entry: unknown): [rel: string, words: string] | null {
  if (typeof entry !== 'object' || entry === null)
    return [anyRel, `expected an object as link, got ${typeNameOf(entry)}`];
  const { rel, uri } = entry as { rel?: unknown; uri?: unknown };
  if (typeof rel !== 'string')
    return [anyRel, `expected a link to name its relationship, got ${typeNameOf(rel)}`];
  if (typeof uri === 'string' && absolute.test(uri)) return null;
  const which = shownRel.test(rel) ? `the link \`${rel}\`` : 'a link';
  const [what, got] =
    typeof uri === 'string' ? ['absolute address', textOf(uri)] : ['address', typeNameOf(uri)];
  return [rel, `expected an ${what} in ${which}, got ${got}`];
}

/** Why a document that shows none of these links may have one all the same, in words; null where it has none. */
export function unreadLinkOf(unread: ReadonlyMap<string, string>, rels: readonly string[]): string | null {
  for (const rel of [...rels, anyRel]) {
    const words = unread.get(rel);
    if (words !== undefined) return words;
  }
  return null;
}

/** Without what may be secret in it: queries, user info, names of persons. */
function textOf(uri: string): string {
  const [path = ''] = withoutUserInfo(uri).split(/[?#]/, 1);
  const text = shown(path.slice(0, textCharsMax));
  return text === null ? 'none' : `\`${text}\``;
}

function listsOf(document: unknown): unknown[] {
  if (typeof document !== 'object' || document === null) return [];
  const { links: many, link: one } = document as { links?: unknown; link?: unknown };
  return [many, one];
}
