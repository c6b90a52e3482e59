/**
 * The address of a page where a person is to act, as the provider gave it, before it is kept, published or told: an e-mail
 * address in it names a person. What holds one is left out where the rest still leads there. Pure.
 */

const charsMax = 2048;
/** Something on both sides of the sign, within one segment or value: `/@v2/` names nobody. */
const namesPerson = /[^\s/@?#&=]@[^\s/@?#&=]/;
/** An address within an address is encoded once more. */
const decodingsMax = 4;

/**
 * http or https, at most 2,048 characters, without the parameters and the fragment that hold an e-mail address; null for
 * anything else, also where user info is given or the path itself holds one: without that it would lead elsewhere. It is
 * seen through up to 4 encodings.
 */
export function pageAddress(address: unknown): string | null {
  const url = typeof address === 'string' && address.length <= charsMax ? URL.parse(address) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  if (url.username !== '' || url.password !== '' || isPersonal(url.pathname)) return null;
  // What stays must stay byte by byte: it may be signed.
  const parameters = url.search.slice(1).split('&');
  const kept = parameters.filter((parameter) => !isPersonal(parameter));
  if (kept.length < parameters.length) url.search = kept.join('&');
  if (isPersonal(url.hash)) url.hash = '';
  return url.href;
}

function isPersonal(part: string): boolean {
  let text = part;
  for (let decodings = 0; decodings <= decodingsMax; decodings += 1) {
    if (namesPerson.test(text)) return true;
    const decoded = text.replace(/%([0-7][0-9a-f])/gi, (_all, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (decoded === text) return false;
    text = decoded;
  }
  return false;
}
