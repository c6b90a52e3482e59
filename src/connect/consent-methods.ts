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
import { patiently } from './patience';

/** Each throws `GrantRefusal`; `unusable` also for OAuth 2 without an issuer. */
export interface ConsentMethods {
  /** Where the user goes, and what the answer will be checked and redeemed with. */
  begin(record: ConsentRecord): Promise<{ address: string; pending: Pending }>;
  redeem(record: ConsentRecord, pending: Pending, code: string): Promise<Grant>;
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
    async redeem({ auth, callback }, { token, secret }, code) {
      const verifier = new Secret(secret);
      return patiently(
        () =>
          auth === 'oauth1'
            ? accessToken(calls, { token, secret: verifier }, code, clock)
            : present(server).redeem({ code, verifier, redirectUri: callback }),
        clock,
      );
    },
  };
}

function present(server: AuthorizationServer | null): AuthorizationServer {
  if (server === null) throw new GrantRefusal('unusable', 'no issuer is configured');
  return server;
}
