/**
 * What is wrong with the head of an HTTP request, whatever it asks for. Node answers such a request by itself, bare; whoever
 * listens here answers in a form of its own instead. Pure.
 */

export type HeadFault = 'host-missing' | 'expectation-unknown';

export interface RequestHead {
  httpVersion: string;
  headers: { host?: string | undefined; expect?: string | undefined };
}

/** The one expectation there is; as Node reads it, which then meets it. */
const continues = /(?:^|\W)100-continue(?:$|\W)/i;

/** null where nothing is. HTTP/1.0 knows neither header. Never throws. RFC 9112, section 3.2; RFC 9110, section 10.1.1. */
export function faultOfHead({ httpVersion, headers: { host, expect } }: RequestHead): HeadFault | null {
  if (httpVersion !== '1.1') return null;
  if (host === undefined) return 'host-missing';
  return expect === undefined || continues.test(expect) ? null : 'expectation-unknown';
}
