/**
 * The gate that every address passes before a request is made: webhook payloads, links, next pages. Exact origins are
 * pinned, paths are not. Pure but for the authorization addresses it is told. Promises that what it admits is sent as
 * it was parsed, to an origin the operator configured, over https or to a configured loopback literal.
 */

import { isIPv4 } from 'node:net';
import { Problem } from '../model/problem';
import { withoutEndSlashes } from '../model/without-end-slashes';

export type Admission =
  | { admitted: true; url: URL }
  | { admitted: false; code: 'address-refused' | 'address-template'; detail: string };

export interface Gate {
  /** Judges an address as it was received. Never throws; a detail never repeats user info, path or query. */
  admit(address: unknown): Admission;
  /** Replaces the authorization addresses that the catalog of one security context names: never read as resources. */
  refuseAuthorization(context: string, addresses: string[]): void;
}

const addressCharsMax = 2048;
/** Of an origin that is told to a person. */
const originCharsMax = 120;
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:(?:;|%3b)[^/]*)?(?:\/|$)/i;
// A separator or control character in disguise, also behind one more round of encoding.
const disguised = /%(?:25)*(?:2f|5c|[01][0-9a-f]|7f)|%25(?:25)*2e/i;

/**
 * Makes the gate for exact origins. Nothing at or below the path of `issuer`, the configured OAuth 2 issuer, is a resource,
 * unless it has no path or one of `addresses` stands there too. Throws `settings.invalid` for an address that is not https, unless it is http on a
 * loopback literal. An address of more than 2,048 characters is refused; of
 * an origin 120 are told.
 */
export function makeGate(addresses: string[], issuer: string | null = null): Gate {
  const authorities = new Map<string, string>();
  for (const address of addresses) {
    const { origin, host, protocol } = configuredOrigin(address);
    authorities.set(`${protocol}//${host}`, origin);
    if (new URL(origin).port === '') {
      authorities.set(`${protocol}//${host}:${protocol === 'https:' ? 443 : 80}`, origin);
    }
  }
  const isOfIssuer = belowIssuer(issuer, addresses);
  const authorizationByContext = new Map<string, string[]>();
  let authorization = new Set<string>();
  return {
    admit(address) {
      const admission = judge(address, authorities);
      if (!admission.admitted) return admission;
      const key = pathKey(admission.url);
      if (authorization.has(key)) {
        return refused('an address that the catalog names for authorization is no resource');
      }
      return isOfIssuer(key) ? refused('an address of the OAuth 2 issuer is no resource') : admission;
    },
    refuseAuthorization(context, named) {
      authorizationByContext.set(context, named.flatMap(authorizationKey));
      authorization = new Set([...authorizationByContext.values()].flat());
    },
  };
}

/** Judges the key of an address. */
function belowIssuer(issuer: string | null, addresses: string[]): (key: string) => boolean {
  const url = issuer === null ? null : URL.parse(issuer);
  if (url === null || /^\/*$/.test(url.pathname)) return () => false;
  const of = pathKey(url);
  const isBelow = (key: string) => key === of || key.startsWith(`${of}/`);
  return addresses.some((address) => isBelow(pathKey(configuredOrigin(address)))) ? () => false : isBelow;
}

/** True for a host, as a URL spells it, that is an address of this machine and no name. */
export function isLoopbackLiteral(hostname: string): boolean {
  return hostname === '[::1]' || hostname === '::1' || (isIPv4(hostname) && hostname.startsWith('127.'));
}

function configuredOrigin(address: string): URL {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Problem('settings.invalid', 'an address of the provider is not an https address');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Problem('settings.invalid', 'an address of the provider carries user info');
  }
  if (url.protocol === 'http:' && !isLoopbackLiteral(url.hostname)) {
    throw new Problem('settings.invalid', `${url.origin}: http is accepted on a loopback literal only`);
  }
  return url;
}

function judge(address: unknown, authorities: Map<string, string>): Admission {
  if (typeof address !== 'string' || address === '') return refused('there is no address');
  if (address.length > addressCharsMax) return refused(`longer than ${addressCharsMax} characters`);
  // The authority is compared as it is written, before any parser makes another of it (full-width dots, %2e, user info).
  const authority = /^https?:\/\/[^/?#\\]*/i.exec(address)?.[0];
  if (authority === undefined) return refused('not an absolute https address');
  const origin = authorities.get(authority.toLowerCase());
  if (origin === undefined) return refused(whyNone(address, new Set(authorities.values())));
  const rest = address.slice(authority.length);
  if (/[{}]|%7[bd]/i.test(rest)) {
    return { admitted: false, code: 'address-template', detail: 'a template in the address is not expanded' };
  }
  return judgeRest(address, rest, origin);
}

/** Why the authority is none of those that the settings name. */
function whyNone(address: string, origins: ReadonlySet<string>): string {
  const url = URL.parse(address);
  if (url === null || !origins.has(url.origin))
    return `the origin ${shownOrigin(address)} is not one of the provider's`;
  const carries = url.username !== '' || url.password !== '';
  return `${carries ? 'user info before the host of' : 'another spelling of the origin'} ${url.origin}`;
}

function judgeRest(address: string, rest: string, origin: string): Admission {
  if (/[^\x21-\x7e\u0080-\uffff]/.test(rest)) return refused('a space or control character in the address');
  if (rest.includes('#')) return refused('a fragment in the address');
  if (/[\\[\]]/.test(rest)) return refused('a backslash or square bracket in the address');
  const path = rest.split('?', 1)[0] ?? '';
  if (path.includes('//') || dotSegment.test(path) || disguised.test(path)) {
    return refused('traversal or an encoded separator in the path');
  }
  if (rest.includes('%') && !decodes(rest)) return refused('an encoded character that cannot be decoded');
  const url = URL.parse(address);
  if (url === null || url.origin !== origin || url.username !== '' || url.password !== '') {
    return refused('the address cannot be parsed');
  }
  if (url.href.length > addressCharsMax) return refused(`longer than ${addressCharsMax} characters`);
  if (url.search !== '' && hasReservedKey(url)) {
    return refused('a query parameter with a name that is reserved for signing');
  }
  return { admitted: true, url };
}

/** Keys that would override a parameter of the signature, or the prototype of what is signed. */
function hasReservedKey(url: URL): boolean {
  for (const key of url.searchParams.keys()) {
    if (key === '__proto__' || key.toLowerCase().startsWith('oauth_')) return true;
  }
  return false;
}

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The origin for a person to read, cut short; never user info, path or query. */
function shownOrigin(address: string): string {
  return (URL.parse(address)?.origin ?? 'of the address').slice(0, originCharsMax);
}

function authorizationKey(address: string): string[] {
  // The template, if any, stands in the query.
  const url = URL.parse(address.split('?', 1)[0] ?? '');
  return url === null || !decodes(url.pathname) ? [] : [pathKey(url)];
}

/** One key for all spellings of a path: encoding, letter case, matrix parameters, a slash at its end. */
function pathKey(url: URL): string {
  const { pathname, origin } = url;
  // Most paths have one spelling.
  if (!/[%;]|\/$/.test(pathname)) return `${origin}${pathname.toLowerCase()}`;
  const path = withoutEndSlashes(decodeURIComponent(pathname).replace(/;[^/]*/g, ''));
  return `${origin}${path.toLowerCase()}`;
}

function refused(detail: string): Admission {
  return { admitted: false, code: 'address-refused', detail };
}
