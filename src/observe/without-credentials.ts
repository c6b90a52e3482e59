/**
 * An address as it may be written down: no user info, no query, no fragment. Works on text, since what is no address
 * is written down too.
 */

const charsMax = 500;

/** At most 500 characters. */
export function withoutCredentials(address: string): string {
  const end = address.search(/[?#]/);
  const plain = end === -1 ? address : address.slice(0, end);
  return plain
    .replace(/^([a-z][a-z0-9+.-]*:)?\/\/[^/]*@/i, (_all, scheme: string = '') => `${scheme}//`)
    .slice(0, charsMax);
}
