/**
 * Words of others (names of organizations, the provider's messages, details of errors) before they may stand in a page:
 * one line, bounded, without e-mail addresses and without anything that looks like a token. Pure.
 */
import { hideAddresses } from '../model/hide-addresses';
import { pageAddress } from '../model/page-address';

// Control and format characters would let a name break a log line or turn the direction of the text.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
const addressCharsMax = 2000;
const opaque = /[A-Za-z0-9+/_=~-]{24,}/g;
/** Host and port, which are no secret, and the path, in which one may stand as a segment. */
const webAddress = /(https?:\/\/[a-z0-9.-]+(?::\d{1,5})?)(\/[^\s?#]*)/g;
const opaqueSegment = /[A-Za-z0-9+_=~-]{24,}/g;

/** One line of at most `lengthMax` characters without e-mail addresses: for names. */
export function plainName(name: string, lengthMax: number): string {
  return oneLine(name, lengthMax, (line) => line);
}

/**
 * As `plainName`, and long runs of letters and digits, which could be a token or a key, are hidden: for messages. Of an
 * address on the web its host stays, and its path but for such segments: it says where to look. What stands in one of
 * `ownNames` (ids that we gave or learned, hosts and places of the settings) is no secret, and is what to act on.
 */
export function plainMessage(message: string, lengthMax: number, ownNames: readonly string[] = []): string {
  const isOpaque = (run: string) =>
    /\d/.test(run) && /[A-Za-z]/.test(run) && !ownNames.some((name) => name.includes(run));
  const hide = (text: string, runs: RegExp) =>
    text.replace(runs, (run) => (isOpaque(run) ? '[hidden]' : run));
  return oneLine(message, lengthMax, (line) => {
    let shown = '';
    let end = 0;
    for (const { index, 0: address, 1: origin, 2: path } of line.matchAll(webAddress)) {
      shown += `${hide(line.slice(end, index), opaque)}${origin}${hide(path!, opaqueSegment)}`;
      end = index + address.length;
    }
    return shown + hide(line.slice(end), opaque);
  });
}

// Most names are like this, and nothing below would change them.
const harmless = /^[!-$'-?A-~]+( [!-$'-?A-~]+)*$/;

function oneLine(text: string, lengthMax: number, hide: (line: string) => string): string {
  if (text.length < 24 && text.length <= lengthMax && harmless.test(text)) return text;
  // Cut first, generously, so that the patterns never see more than a page of text.
  const line = hideAddresses(
    text
      .slice(0, lengthMax * 4)
      .toWellFormed()
      .replace(unprintable, ' '),
  );
  const plain = hide(line).replace(/\s+/g, ' ').trim();
  return plain.length <= lengthMax ? plain : `${plain.slice(0, lengthMax - 1).toWellFormed()}…`;
}

/** As `pageAddress`, of at most 2,000 characters: what a version before it kept may hold an e-mail address still. */
export function plainAddress(address: string | null): string | null {
  const plain = pageAddress(address);
  return plain !== null && plain.length <= addressCharsMax ? plain : null;
}

/** ISO 8601 in UTC, to the second. */
export function plainTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
