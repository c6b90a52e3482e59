// What every route of the provider leans on, in one record: the world, its rules, accounts and addresses.
// Made once by the simulator; holds no logic of its own.
import type { Accounts, User } from '../auth/accounts';
import type { Tokens } from '../auth/tokens';
import type { Coverage } from '../controls/coverage';
import type { OldEquipmentIds } from '../options';
import type { Rules } from '../rules';
import type { Settings } from '../settings';
import type { Organization } from '../world/organizations';
import type { Seen, World } from '../world/world';
import type { Addresses } from './addresses';
import type { ChangeTokens } from './change-tokens';
import type { Exchange } from './exchange';
import { Refusal } from './refusal';
import type { Sandbox } from './sandbox';

export interface Provider {
  vendor: string;
  world: World;
  rules: Rules;
  settings: Settings;
  sandbox: Sandbox;
  accounts: Accounts;
  tokens: Tokens;
  addresses: Addresses;
  coverage: Coverage;
  changeTokens: ChangeTokens;
  oldEquipmentIds: OldEquipmentIds;
  nowMs: () => number;
  /** Tells the subscribers that a resource has changed. */
  announce: (seen: Seen) => void;
}

/** The user of a request. Throws a 401 refusal in the application's own context, where no data is served. */
export function userOf(exchange: Exchange): User {
  if (exchange.verdict.user) return exchange.verdict.user;
  throw new Refusal(401, 'A user access token is required for this resource.');
}

/**
 * The user of a request that its token and the client's licence allow. Throws a 403 refusal that names the scope where
 * they do not: the token lacks it, or the client has no licence for it. OAuth 1 tokens have no scopes, the client has.
 */
export function userWith(provider: Provider, exchange: Exchange, scope: string): User {
  const user = userOf(exchange);
  const { accounts, coverage } = provider;
  const { scopes } = exchange.verdict;
  if (accounts.client.scopes.has(scope) && (!scopes || scopes.has(scope))) return user;
  coverage.count('scope-missing');
  throw new Refusal(
    403,
    `The client does not have a proper access for this API. Client: ${accounts.clientKey}, licence: ${scope.slice(0, -1)}, scopes needed: ${scope}`,
  );
}

/**
 * Lets the request reach data of an organization or throws the provider's 403: not visible to the user, not connected
 * to the client, or restricted until its customer acts (with the headers that tell it apart).
 */
export function admit(provider: Provider, exchange: Exchange, organization: Organization): void {
  const { accounts, addresses, coverage, rules } = provider;
  if (!accounts.sees(userOf(exchange), organization.index)) throw new Refusal(403, 'Access Denied');
  if (!organization.connected) {
    coverage.count('organization-not-connected');
    throw new Refusal(403, 'Access Denied');
  }
  if (!organization.termsAccepted && rules.termsEnforced()) {
    coverage.count('organization-terms');
    throw restricted(provider, 'Requested Org is in a restricted state.', addresses.terms(organization.id));
  }
  if (!organization.termsAccepted) coverage.count('terms-not-yet');
  const { requiredAction } = organization;
  if (!requiredAction) return;
  coverage.count('organization-required-action');
  const location = requiredAction.located ? addresses.account(organization.id) : undefined;
  throw restricted(provider, requiredAction.message, location);
}

/** The 403 of a required customer action: the headers tell it apart, the body has no code. */
function restricted({ addresses, vendor }: Provider, message: string, location: string | undefined): Refusal {
  return new Refusal(403, message, {
    headers: {
      [`X-${vendor}-Warning`]: `${new URL(addresses.origin).host} "${message}"`,
      ...(location === undefined ? {} : { [`X-${vendor}-Terms-Location`]: location }),
    },
  });
}

/** The resource as one reader sees it. Throws 404 for what never was or was removed, 410 for what is gone for good. */
export function present(provider: Provider, exchange: Exchange, seen: Seen | undefined): Seen {
  const organization = seen && provider.world.organizations.find(seen.organizationId);
  if (!seen || !organization) throw new Refusal(404, 'The requested resource was not found');
  admit(provider, exchange, organization);
  if (!seen.removed) return seen;
  provider.coverage.count(seen.gone ? 'resource-gone' : 'resource-missing');
  if (seen.gone) throw new Refusal(410, 'The resource has been removed for good');
  throw new Refusal(404, 'The requested resource was not found');
}

/** The organization with this id. Throws 404 where there is none and the refusals of {@link admit}. */
export function admittedOrganization(provider: Provider, exchange: Exchange, id: string): Organization {
  const organization = provider.world.organizations.find(id);
  if (!organization) throw new Refusal(404, 'The requested resource was not found');
  admit(provider, exchange, organization);
  return organization;
}
