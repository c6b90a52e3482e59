/**
 * Who sent it: the Authorization value by the headers alone, the HMAC on the raw bytes, the token per element. All kinds
 * that are named must hold. Secrets are asked for at each request, so a rotation needs no restart. Parses nothing.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from '../model/problem';
import type { Secret } from '../tools/secret';
import { findBySecret } from './known-secrets';
import type { RefusalReason } from './refusals';
import type { SubscriptionToken, WebhookSettings } from './settings';
import { checkStandardWebhook, hmacKeyOf } from './standard-webhook';

/** What an element's token says: it holds or not, and whose subscription it is, when known. */
export interface TokenVerdict {
  holds: boolean;
  user: string | null;
  /** Of the token, where it has one. */
  id?: string;
}

export interface TokenVerdicts {
  /** One for each element, in order. */
  verdicts: TokenVerdict[];
  /** Set when not one of them holds. */
  refusal: RefusalReason | null;
}

export interface Authenticator {
  /** What can be said before the body is read. */
  checkHeaders(headers: IncomingHttpHeaders): RefusalReason | null;
  checkBody(headers: IncomingHttpHeaders, body: Buffer, nowMs: number): RefusalReason | null;
  checkTokens(elements: readonly unknown[]): TokenVerdicts;
  /** True when a body that passed `checkHeaders` and `checkBody` is authenticated before its elements are seen. */
  authenticatesBody: boolean;
  /** True when a message id is covered by a signature. */
  signsMessageId: boolean;
}

const same = (secret: Secret) => secret;
const tokenOf = (entry: SubscriptionToken) => entry.token;
const unknownSubscription: TokenVerdict = { holds: true, user: null };
const wrongToken: TokenVerdict = { holds: false, user: null };

/** `used` is told the value that a request carried. Throws `settings.invalid` when one of the current HMAC secrets is not base64. */
export function makeAuthenticator(
  settings: WebhookSettings,
  used: (value: Secret) => void = () => {},
): Authenticator {
  const kinds = settings.auth === 'none' ? [] : settings.auth;
  const needsToken = kinds.includes('token');
  const needsAuthorization = kinds.includes('authorization');
  const needsHmac = kinds.includes('hmac');
  if (needsHmac && settings.hmacSecrets().some((secret) => hmacKeyOf(secret) === null)) {
    throw new Problem('settings.invalid', 'a webhook HMAC secret is not base64, with or without `whsec_`');
  }
  return {
    authenticatesBody: !needsToken || needsAuthorization || needsHmac,
    signsMessageId: needsHmac,

    checkHeaders(headers) {
      if (!needsAuthorization) return null;
      const presented = headers.authorization;
      if (presented === undefined || presented === '') return 'authorization-missing';
      const found = findBySecret(presented, settings.authorizationValues(), same);
      if (found === null) return 'authorization-wrong';
      used(found);
      return null;
    },

    checkBody(headers, body, nowMs) {
      return needsHmac ? checkStandardWebhook(headers, body, settings.hmacSecrets(), nowMs) : null;
    },

    checkTokens(elements) {
      const tokens = settings.tokens();
      const verdicts: TokenVerdict[] = [];
      let held = false;
      let seen = false;
      let previous: string | null = null;
      let verdict = wrongToken;
      for (const element of elements) {
        const token = ownToken(element);
        if (token !== null) seen = true;
        // Most batches carry one token only, so the verdict on the previous one is used again.
        if (token === null || token !== previous) verdict = judgeToken(token, tokens, needsToken);
        previous = token;
        if (verdict.holds) held = true;
        verdicts.push(verdict);
      }
      if (held) return { verdicts, refusal: null };
      return { verdicts, refusal: seen ? 'token-wrong' : 'token-missing' };
    },
  };
}

function judgeToken(
  token: string | null,
  tokens: readonly SubscriptionToken[],
  needsToken: boolean,
): TokenVerdict {
  const found = token === null || tokens.length === 0 ? null : findBySecret(token, tokens, tokenOf);
  if (found !== null) return { holds: true, user: found.user, ...(found.id && { id: found.id }) };
  return needsToken ? wrongToken : unknownSubscription;
}

function ownToken(element: unknown): string | null {
  if (typeof element !== 'object' || element === null || !Object.hasOwn(element, 'token')) return null;
  const { token } = element as { token: unknown };
  return typeof token === 'string' ? token : null;
}
