/**
 * The two methods of consent as one: what is asked of the provider before the user goes there, and what the user's
 * answer is redeemed for. Throws `GrantRefusal`.
 */
import type { Grant, TokenCalls } from '../model/consent';
import type { Clock } from '../tools/clock';
import { Secret } from '../tools/secret';
import type { AuthorizationServer } from './authorization-server';
import { type ConsentRecord, challengeOf, type Pending, randomKey } from './consent-record';
import { GrantRefusal } from './grant-refusal';
import { accessToken, requestToken } from './oauth1-grant';
import type { Patience } from './patience';

/** Each throws `GrantRefusal`; `unusable` also for OAuth 2 without an issuer. */
export interface ConsentMethods {
  /** Where the user goes, and what the answer will be checked and redeemed with. */
  begin(record: ConsentRecord): Promise<{ address: string; pending: Pending }>;
  /** Tried as often as `patience` has it, but not again after a call that got no answer in its time. */
  redeem(record: ConsentRecord, pending: Pending, code: string, patience: Patience): Promise<Grant>;
}

export function makeConsentMethods(
  calls: TokenCalls,
  server: AuthorizationServer | null,
  clock: Clock,
): ConsentMethods {
  return {
    async begin({ auth, callback }) {
      if (auth === 'oauth1') {
        const { token, secret, address } = await requestToken(calls, callback);
        return { address, pending: { token, secret: secret.open() } };
      }
      const pending = { token: randomKey(), secret: randomKey() };
      const asked = { redirectUri: callback, state: pending.token, challenge: challengeOf(pending.secret) };
      return { address: await present(server).consentAddress(asked), pending };
    },
    async redeem({ auth, callback }, { token, secret }, code, patience) {
      const verifier = new Secret(secret);
      return patience(
        () =>
          auth === 'oauth1'
            ? accessToken(calls, { token, secret: verifier }, code, clock)
            : present(server).redeem({ code, verifier, redirectUri: callback }),
        ({ timedOut }) => !timedOut,
      );
    },
  };
}

function present(server: AuthorizationServer | null): AuthorizationServer {
  if (server === null) throw new GrantRefusal('unusable', 'no issuer is configured');
  return server;
}
