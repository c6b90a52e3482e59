// The settings a service needs to work with this simulator, name → value, tokens included: what `environment` prints.
// Promises complete values only. These are the secrets of an invented provider on a loopback address.
import { SCOPES } from './auth/scopes';
import { secretFor } from './auth/secrets';
import type { CheckedOptions } from './options';
import { ISSUER_PATH } from './provider/addresses';
import type { Provider } from './provider/provider';

/** The `Authorization` value and the token of the simulator's deliveries. */
export interface WebhookSecrets {
  authorization: string;
  token: string;
}

/** Where it delivers is where browsers and the provider reach the service; nowhere leaves that setting out. */
export function environmentFor(
  provider: Provider,
  { auth, seed, deliverTo }: Pick<CheckedOptions, 'auth' | 'seed' | 'deliverTo'>,
  secrets: WebhookSecrets,
): Record<string, string> {
  const { accounts, addresses, sandbox, vendor, world } = provider;
  return {
    ...(deliverTo === undefined ? {} : { PUBLIC_URL: new URL(deliverTo).origin }),
    PROVIDER_VENDOR: vendor,
    PROVIDER_URL: addresses.catalog,
    PROVIDER_EQUIPMENT_URL: addresses.equipmentBase,
    PROVIDER_AUTH: auth,
    PROVIDER_CLIENT_KEY: accounts.clientKey,
    PROVIDER_CLIENT_SECRET: accounts.clientSecret,
    PROVIDER_ISSUER: `${addresses.origin}${ISSUER_PATH}`,
    PROVIDER_SCOPES: SCOPES,
    PROVIDER_TOKENS: JSON.stringify(accounts.users.map((user) => tokenSetting(provider, auth, user))),
    ...(sandbox.plan === 'sandbox'
      ? {
          PROVIDER_PLAN: 'sandbox',
          PROVIDER_SANDBOX_SINCE: sandbox.since,
          PROVIDER_SANDBOX_TEST_ORGANIZATIONS: world.organizations.list[0]?.id ?? '',
        }
      : {}),
    // The same after a restart, so that a store that was sealed with it opens.
    ENCRYPTION_KEYS: `simulator:${secretFor(seed, 'encryption-key').toString('base64')}`,
    WEBHOOK_AUTH: 'authorization',
    WEBHOOK_AUTHORIZATION: secrets.authorization,
    WEBHOOK_TOKENS: secrets.token,
  };
}

function tokenSetting(
  { tokens }: Provider,
  auth: 'oauth1' | 'oauth2',
  user: Provider['accounts']['users'][number],
): object {
  const { oauth1, bearer, refresh } = tokens.tokensOf(user);
  const issued =
    auth === 'oauth1'
      ? { token: oauth1.token, secret: oauth1.secret }
      : { token: bearer.token, refresh: refresh.token };
  const expiresAtSeconds = auth === 'oauth1' ? oauth1.expiresAtSeconds : bearer.expiresAtSeconds;
  return {
    connection: user.connection,
    user: user.name,
    auth,
    ...issued,
    expiresAt: new Date(expiresAtSeconds * 1_000).toISOString(),
  };
}
