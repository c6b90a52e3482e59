/**
 * An address for a person to read: where a document stood that could not be read. Links may carry secrets in their
 * query or user info, so only what says which page it was stays of them. Imports nothing.
 */

/** Names of parameters that only choose. */
const shownParameters = ['organizationIds', 'ids', 'serialNumbers', 'embed', 'pageOffset', 'itemLimit'];
const charsMax = 300;

/** Origin, path and the parameters that choose, at most 300 characters; null for what is no address. */
export function shownAddress(address: string): string | null {
  const url = URL.parse(address);
  if (url === null) return null;
  const query = shownParameters.flatMap((name) => {
    const value = url.searchParams.get(name);
    return value === null ? [] : [`${name}=${value}`];
  });
  const origin = url.origin === 'null' ? url.protocol : url.origin;
  const shown = `${origin}${url.pathname}${query.length === 0 ? '' : `?${query.join('&')}`}`;
  return shown.length <= charsMax ? shown : `${shown.slice(0, charsMax)}…`;
}

/** A sentence with the address that it is about, unless it names it already. Bounds as `shownAddress` does. */
export function withAddress(sentence: string, address: string | null): string {
  const shown = address === null ? null : shownAddress(address);
  return shown === null || sentence.includes(shown) ? sentence : `${sentence} (${shown})`;
}
