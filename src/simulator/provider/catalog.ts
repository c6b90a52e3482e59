// The catalog, the provider's only fixed address: what it links to depends on the security context, and so does the
// key of its list, as in the contract's samples: `links` for the application alone, `link` with a user token.
import type { Router } from 'express';
import { route } from './entry';
import type { Provider } from './provider';
import { CURRENT_USER } from './users';

export function serveCatalog(router: Router, provider: Provider): void {
  const { addresses, coverage, settings, tokens } = provider;
  router.get(
    '/',
    route(({ verdict }) => {
      if (verdict.user) {
        coverage.count('catalog-user');
        if (tokens.given) coverage.count('catalog-again');
        tokens.given = false;
        return {
          json: {
            '@type': 'ApiCatalog',
            link: [
              { rel: 'organizations', uri: addresses.platform('/organizations') },
              { rel: 'files', uri: addresses.platform('/files') },
              { rel: 'eventSubscriptions', uri: addresses.platform('/eventSubscriptions') },
              { rel: 'eventSubscriptionDelivery', uri: addresses.platform('/eventSubscriptionDelivery') },
              ...(settings.currentUser
                ? [{ rel: 'currentUser', uri: addresses.platform(`/users/${CURRENT_USER}`) }]
                : []),
            ],
          },
        };
      }
      coverage.count('catalog-application');
      return {
        json: {
          '@type': 'ApiCatalog',
          links: [
            { rel: 'oauthRequestToken', uri: addresses.platform('/oauth/request_token') },
            { rel: 'oauthAuthorizeRequestToken', uri: `${addresses.origin}/consent?oauth_token={token}` },
            { rel: 'oauthAccessToken', uri: addresses.platform('/oauth/access_token') },
            { rel: 'connections', uri: addresses.platform('/connections') },
          ],
        },
      };
    }),
  );
}
