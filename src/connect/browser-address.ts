/**
 * Which addresses a person's browser is sent to: https, or http on this machine's own literal address; no user info, no
 * template left. Pure.
 */

const charsMax = 8192;
const loopback = /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** The address as it is opened; null for any other, and for one of more than 8,192 characters. */
export function browserAddress(address: string): string | null {
  if (address.length > charsMax || /[{}]|%7[bd]/i.test(address)) return null;
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '') return null;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback.test(url.hostname))
    ? url.href
    : null;
}
