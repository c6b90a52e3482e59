// The user of a token, as the provider names it to the client: at its own name, and at a word for whoever asks.
// Promises nobody else's record.
import type { Router } from 'express';
import { route } from './entry';
import { link } from './links';
import { type Provider, userWith } from './provider';
import { Refusal } from './refusal';

/** In the place of a name: the user of the token. */
export const CURRENT_USER = '@currentUser';

export function serveUsers(router: Router, provider: Provider): void {
  const { addresses, coverage } = provider;
  router.get(
    '/users/:name',
    route((exchange, { name }) => {
      const user = userWith(provider, exchange, 'org1');
      if (name !== CURRENT_USER && name !== user.name)
        throw new Refusal(404, 'The requested resource was not found');
      if (name === CURRENT_USER) coverage.count('current-user');
      const links = [link('self', addresses.platform(`/users/${user.name}`))];
      return { json: { '@type': 'User', accountName: user.name, links } };
    }),
  );
}
