/**
 * Who may use the API. With a token: whoever sends it. Without one: this machine only, and not a web page that this
 * machine's browser happens to show; so the peer, the Host header, proxies and the page's origin are looked at.
 */
import type { IncomingMessage } from 'node:http';
import { equalInConstantTime, type Secret } from '../tools/secret';

export type Verdict = 'admitted' | 'operations.unauthenticated' | 'operations.forbidden';

export function judgeCaller(request: IncomingMessage, token: Secret | null): Verdict {
  if (token !== null) {
    const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    return equalInConstantTime(given, token.open()) ? 'admitted' : 'operations.unauthenticated';
  }
  const { headers, socket } = request;
  const local =
    isLoopbackAddress(socket.remoteAddress ?? '') &&
    isLoopbackHost(headers.host) &&
    headers.forwarded === undefined &&
    headers['x-forwarded-for'] === undefined &&
    (headers.origin === undefined || headers.origin === `http://${headers.host}`) &&
    (headers['sec-fetch-site'] === undefined ||
      /^(same-origin|none)$/.test(String(headers['sec-fetch-site'])));
  return local ? 'admitted' : 'operations.forbidden';
}

/** The peer's address as Node gives it, IPv4 in IPv6 included. */
function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(address);
}

/** A name that an attacker's DNS could lead here is not one of these. */
function isLoopbackHost(host: string | undefined): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i.test(host ?? '');
}
