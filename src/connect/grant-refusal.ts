/**
 * Why no token was given, as one of a few words. What the provider wrote stays out of it: some providers quote the code,
 * the verifier or the token that they refuse.
 */
import type { TokenReply } from '../model/consent';
import { shownAddress } from '../model/shown-address';

export type GrantFault =
  /** The code, verifier, request token or refresh token is refused. */
  | 'refused'
  /** Somebody else consented than the one who was asked. */
  | 'other-user'
  /** Our client key or secret is refused, or it may not do this. */
  | 'client-refused'
  /** Nobody was asked: another process asks, or it came to it too late. */
  | 'unasked'
  /** No answer, an answer for later, a page instead of an answer. */
  | 'unavailable'
  /** An answer that cannot be used, or must not be. */
  | 'unusable';

export class GrantRefusal extends Error {
  readonly fault: GrantFault;
  /** What the provider asks for; null when it does not. */
  readonly retryAfterMs: number | null;
  /** A call got no answer in its time: what it carried may have been taken all the same. */
  readonly timedOut: boolean;

  constructor(fault: GrantFault, message: string, retryAfterMs: number | null = null, timedOut = false) {
    super(message);
    this.name = 'GrantRefusal';
    this.fault = fault;
    this.retryAfterMs = retryAfterMs;
    this.timedOut = timedOut;
  }
}

/** A call by its name and its address, without what may be secret in it. */
export function callAt(what: string, address: string): string {
  return `${what} at ${shownAddress(address) ?? 'no readable address'}`;
}

const heldBack = 'it came to it so late that another process may make it, or as this one ends';

/** What an answer without what was asked for says; `call` names the call and its address. */
export function refusalOf(reply: TokenReply, call: string): GrantRefusal {
  if (reply.status === null) {
    if (reply.code === 'held-back') return new GrantRefusal('unasked', `${call}: ${heldBack}`);
    const fault = reply.code.startsWith('address-') ? 'unusable' : 'unavailable';
    const said = `${call}: expected an answer, got none (${reply.code})`;
    return new GrantRefusal(fault, said, null, reply.code === 'deadline');
  }
  const { status, retryAfterMs } = reply;
  const said = `${call}: expected 200, got ${status}`;
  if (status === 429 || status === 408 || status >= 500)
    return new GrantRefusal('unavailable', said, retryAfterMs);
  if (status === 400 || status === 401 || status === 403) return new GrantRefusal('refused', said);
  return new GrantRefusal('unusable', said);
}
