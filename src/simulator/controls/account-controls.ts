// The controls of accounts: who sees what, what the client may do, who answers consent pages, and the ends of tokens.
// Each answers with what holds from then on.
import type { Router } from 'express';
import type { User } from '../auth/accounts';
import { readScopes, writeScopes } from '../auth/scopes';
import type { TokenKind } from '../auth/tokens';
import type { Json, JsonObject } from '../json';
import { BadControl, type Controls, control, objectBody } from './control';

const KINDS: readonly TokenKind[] = ['oauth1', 'access', 'refresh'];

export function serveAccountControls(router: Router, { provider }: Controls): void {
  const { accounts, tokens, nowMs } = provider;
  const nowSeconds = (): number => Math.floor(nowMs() / 1_000);
  router.get(
    '/users',
    control(() => accounts.users.map((user) => userState(provider, user))),
  );
  router.patch(
    '/users/:name',
    control((request) => {
      const user = accounts.find(String(request.params.name));
      if (!user) throw new BadControl(`no user ${request.params.name}`, 404);
      const { sees } = objectBody(request);
      accounts.chooseSeen(user, sees === null ? undefined : readSeen(provider, sees));
      return userState(provider, user);
    }),
  );
  router.put(
    '/consent',
    control((request) => {
      const { user: name, approve } = objectBody(request);
      const user = typeof name === 'string' ? accounts.find(name) : accounts.users[0];
      if (name !== null && !user) throw new BadControl(`no user ${String(name)}`, 404);
      accounts.consentAnswer = name === null || !user ? undefined : { user, approve: approve !== false };
      return { user: accounts.consentAnswer?.user.name ?? null, approve: approve !== false };
    }),
  );
  router.get(
    '/client',
    control(() => clientState(provider)),
  );
  router.patch(
    '/client',
    control((request) => patchClient(provider, objectBody(request))),
  );
  router.post(
    '/tokens/expire',
    control((request) => {
      const { user, refresh, kinds, inSeconds } = objectBody(request);
      const wait = inSeconds ?? 0;
      if (typeof wait !== 'number') throw new BadControl('inSeconds must be a number');
      const atSeconds = wait === 0 ? 0 : nowSeconds() + wait;
      tokens.expire(
        readKinds(kinds, refresh === true),
        typeof user === 'string' ? user : undefined,
        atSeconds,
      );
      return {};
    }),
  );
  router.post(
    '/tokens/restore',
    control(() => tokens.restore(nowSeconds()) ?? {}),
  );
}

function userState({ accounts, world }: Controls['provider'], user: User): object {
  const sees = world.organizations.list.filter(({ index }) => accounts.sees(user, index)).map(({ id }) => id);
  return { name: user.name, connection: user.connection, sees };
}

function readSeen({ world }: Controls['provider'], sees: Json | undefined): ReadonlySet<number> {
  if (!Array.isArray(sees)) throw new BadControl('sees must be a list of organization ids, or null');
  return new Set(
    sees.map((id) => {
      const organization = world.organizations.find(String(id));
      if (!organization) throw new BadControl(`no organization ${String(id)}`, 404);
      return organization.index;
    }),
  );
}

/** Without `kinds` both kinds of access tokens end, with `refresh: true` the refresh tokens too. */
function readKinds(kinds: Json | undefined, refresh: boolean): ReadonlySet<TokenKind> {
  if (kinds === undefined) return new Set(refresh ? KINDS : ['oauth1', 'access']);
  if (!Array.isArray(kinds) || kinds.some((kind) => !KINDS.includes(kind as TokenKind)))
    throw new BadControl(`kinds must be a list of ${KINDS.join(', ')}`);
  return new Set(kinds as TokenKind[]);
}

function clientState({ accounts }: Controls['provider']): object {
  const { redirectUris, scopes, accessSeconds, rotation } = accounts.client;
  return { redirectUris: redirectUris ?? null, scopes: writeScopes(scopes), accessSeconds, rotation };
}

function patchClient(provider: Controls['provider'], body: JsonObject): object {
  const { client } = provider.accounts;
  const { redirectUris, scopes, accessSeconds, rotation, ...unknown } = body;
  const [first] = Object.keys(unknown);
  if (first !== undefined) throw new BadControl(`${first} is not known`);
  if (redirectUris === null) client.redirectUris = undefined;
  else if (Array.isArray(redirectUris)) client.redirectUris = redirectUris.map(String);
  if (scopes !== undefined) {
    const read = readScopes(String(scopes));
    if (!read) throw new BadControl('scopes must be words that the provider knows');
    client.scopes = read;
  }
  if (accessSeconds !== undefined) {
    if (typeof accessSeconds !== 'number' || !(accessSeconds > 0))
      throw new BadControl('accessSeconds must be more than 0');
    client.accessSeconds = Math.ceil(accessSeconds);
  }
  if (typeof rotation === 'boolean') client.rotation = rotation;
  return clientState(provider);
}
