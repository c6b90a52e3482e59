/**
 * The Authorization header of a request: OAuth 1.0a (RFC 5849, HMAC-SHA1) or a bearer token. The library signs; this
 * file hands it the request in the one form in which it signs correctly. Tokens are opened here and nowhere else.
 */
import { createHmac, randomBytes } from 'node:crypto';
import OAuth from 'oauth-1.0a';
import type { Connection } from '../model/connection';
import type { Clock } from '../tools/clock';
import type { Secret } from '../tools/secret';

export interface RequestToSign {
  method: string;
  /** As it is sent: the gate has parsed it. */
  url: URL;
  /** Pairs of a form body (RFC 5849 section 3.4.1.3.1); never those of a JSON body. */
  form?: [name: string, value: string][];
  /** Of the two calls that obtain tokens (RFC 5849 section 2): they go into the header and are signed. */
  oauth?: { callback?: string; verifier?: string };
}

/** A token that signs: a connection's, or a request token on its way to one. */
export type SigningToken = Pick<Connection, 'auth' | 'token' | 'tokenSecret'>;

export interface Signer {
  /**
   * The header's value; without a token by OAuth 1.0, which alone signs for the client itself. A new nonce and the
   * current time each call, so that a repeated request is signed again.
   */
  authorize(request: RequestToSign, connection: SigningToken | null): string;
}

export interface SignerParts {
  clientKey: string;
  clientSecret: Secret;
  clock: Clock;
  /** At least 64 random bits as text; unique within a second. */
  nonce?: () => string;
}

/** The token says how, whatever the settings name for new consents. */
export function makeSigner({ clientKey, clientSecret, clock, nonce = randomNonce }: SignerParts): Signer {
  const oauth = new OAuth({
    consumer: {
      key: clientKey,
      // Opened for each signature, so that no copy lies in the library's object.
      get secret() {
        return clientSecret.open();
      },
    },
    signature_method: 'HMAC-SHA1',
    hash_function: (text, key) => createHmac('sha1', key).update(text).digest('base64'),
  });
  oauth.getNonce = nonce;
  oauth.getTimeStamp = () => Math.floor(clock.nowMs() / 1000);

  function sign({ method, url, form, oauth: flow }: RequestToSign, connection: SigningToken | null): string {
    const token = connection && {
      key: connection.token.open(),
      secret: connection.tokenSecret?.open() ?? '',
    };
    // Origin and path only: the library misreads a query, a default port and a fragment.
    const further: Record<string, string> = {
      ...(flow?.callback !== undefined && { oauth_callback: flow.callback }),
      ...(flow?.verifier !== undefined && { oauth_verifier: flow.verifier }),
    };
    const data = Object.assign(parametersOf(url, form), further);
    const request = { method, url: url.origin + url.pathname, data };
    const signed = { ...oauth.authorize(request, token ?? undefined), ...further };
    const header = oauth.toHeader(signed).Authorization;
    // The provider requires the empty realm, which the library leaves out.
    return `OAuth realm="", ${header.slice('OAuth '.length)}`;
  }

  return {
    authorize(request, connection) {
      return connection?.auth === 'oauth2' ? `Bearer ${connection.token.open()}` : sign(request, connection);
    },
  };
}

/** All pairs of query and form; a repeated name as an array; no prototype that a name could meet. */
function parametersOf(url: URL, form: [string, string][] = []): Record<string, string | string[]> {
  const parameters: Record<string, string | string[]> = Object.create(null);
  const pairs = url.search === '' ? form : [...url.searchParams, ...form];
  for (const [name, value] of pairs) {
    const earlier = parameters[name];
    if (earlier === undefined) parameters[name] = value;
    else if (typeof earlier === 'string') parameters[name] = [earlier, value];
    else earlier.push(value);
  }
  return parameters;
}

function randomNonce(): string {
  return randomBytes(16).toString('hex');
}
