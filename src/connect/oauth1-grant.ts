/**
 * OAuth 1.0a in three legs (RFC 5849 section 2): request token, consent page, access token. The addresses come from the
 * application's own catalog, read anew for each consent. Throws `GrantRefusal` and nothing else.
 */
import { oauth1Ending, oauth1LifeMsMax } from '../model/connection';
import type { Grant, TokenCalls, TokenReply, UserToken } from '../model/consent';
import { shownAddress } from '../model/shown-address';
import type { Clock } from '../tools/clock';
import { Secret } from '../tools/secret';
import { browserAddress } from './browser-address';
import { callAt, GrantRefusal, refusalOf } from './grant-refusal';

export interface RequestToken {
  token: string;
  secret: Secret;
  /** Where the user's browser is sent. */
  address: string;
}

const charsMax = 4096;

/**
 * `callback` is an address, an application's own scheme, or `oob`. Throws `GrantRefusal`: refused, unavailable, or
 * `unusable` where the catalog or the answer lacks what is needed; token and secret have at most 4,096 characters.
 */
export async function requestToken(calls: TokenCalls, callback: string): Promise<RequestToken> {
  const links = await applicationLinks(calls);
  const { catalogAddress } = calls;
  const page = linkOf(calls, links, 'oauthAuthorizeRequestToken');
  // A page that is not told the token can neither name who asks nor lead back.
  if (!page.includes('{token}'))
    throw new GrantRefusal(
      'unusable',
      `${callAt('the catalog', catalogAddress)}: expected {token} in the address of ` +
        'oauthAuthorizeRequestToken, got none',
    );
  const { token, secret } = await signedCall(calls, linkOf(calls, links, 'oauthRequestToken'), {
    what: 'the request token call',
    sign: { token: null, callback },
  });
  const address = browserAddress(page.replaceAll('{token}', encodeURIComponent(token)));
  if (address === null)
    throw new GrantRefusal(
      'unusable',
      `${callAt('the catalog', catalogAddress)}: expected an address that a browser opens as ` +
        `oauthAuthorizeRequestToken, got ${shownAddress(page) ?? 'what is none'}`,
    );
  return { token, secret, address };
}

/** Trades the authorized request token and its verifier. Throws and bounds as `requestToken` does. */
export async function accessToken(
  calls: TokenCalls,
  { token, secret }: { token: string; secret: Secret },
  verifier: string,
  clock: Clock,
): Promise<Grant> {
  const links = await applicationLinks(calls, true);
  const signing: UserToken = { auth: 'oauth1', token: new Secret(token), tokenSecret: secret };
  const given = await signedCall(calls, linkOf(calls, links, 'oauthAccessToken'), {
    what: 'the access token call',
    sign: { token: signing, verifier },
  });
  return {
    auth: 'oauth1',
    token: new Secret(given.token),
    tokenSecret: given.secret,
    refresh: null,
    expiresAt: new Date(clock.nowMs() + oauth1LifeMsMax).toISOString(),
  };
}

async function applicationLinks(calls: TokenCalls, redeems?: true): Promise<ReadonlyMap<string, string>> {
  const result = await calls.links(null, redeems);
  if ('links' in result) return result.links;
  const refusal = refusalOf(result, callAt('the catalog', calls.catalogAddress));
  // Nobody's token is in it: what is refused is the client.
  if (refusal.fault !== 'refused') throw refusal;
  throw new GrantRefusal('client-refused', `${refusal.message}${wayOn(result)}`);
}

/** The secret is wrong, or OAuth 1 has ended: the provider's words tell which, where they name the signature. */
function wayOn(reply: TokenReply): string {
  if (reply.status !== 401) return '';
  const secret = 'PROVIDER_CLIENT_SECRET is not that of PROVIDER_CLIENT_KEY';
  return /signature/i.test(reply.body)
    ? ` for the signature: ${secret}.`
    : `. It may be that ${secret}. Otherwise: ${oauth1Ending}`;
}

function linkOf({ catalogAddress }: TokenCalls, links: ReadonlyMap<string, string>, rel: string): string {
  const address = links.get(rel);
  if (address !== undefined) return address;
  throw new GrantRefusal(
    'unusable',
    `${callAt('the catalog', catalogAddress)}: expected a link ${rel}, got none`,
  );
}

async function signedCall(
  calls: TokenCalls,
  url: string,
  { what, sign }: { what: string; sign: NonNullable<Parameters<TokenCalls['call']>[0]['sign']> },
): Promise<{ token: string; secret: Secret }> {
  const reply = await calls.call({ method: 'GET', url, sign });
  const call = callAt(what, url);
  if (reply.status !== 200) throw refusalOf(reply, call);
  const pairs = pairsOf(reply.body);
  const [token, secret] = [pairs?.get('oauth_token'), pairs?.get('oauth_token_secret')];
  if (!token || !secret || token.length > charsMax || secret.length > charsMax)
    throw new GrantRefusal(
      'unusable',
      `${call}: expected oauth_token and oauth_token_secret, got ${reply.mediaType || 'no media type'} ` +
        `of ${reply.body.length} characters without them`,
    );
  // Another callback than ours may be in force, through which somebody else is led (RFC 5849 section 2.1). Where nothing
  // is said of it, the verifier guards alone: the contract names no such parameter.
  if ((pairs?.get('oauth_callback_confirmed') ?? 'true') !== 'true')
    throw new GrantRefusal('unusable', `${call}: expected oauth_callback_confirmed=true, got another`);
  return { token, secret: new Secret(secret) };
}

/**
 * The pairs of a form-encoded body; null when it is none. A plus sign stays one: secrets are base64, which holds no
 * space, and a provider may leave it as it is.
 */
function pairsOf(body: string): Map<string, string> | null {
  try {
    return new Map(
      body
        .trim()
        .split('&')
        .map((pair) => {
          const at = pair.indexOf('=');
          const [name, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
          return [decodeURIComponent(name), decodeURIComponent(value)];
        }),
    );
  } catch {
    return null;
  }
}
