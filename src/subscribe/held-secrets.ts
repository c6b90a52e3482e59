/**
 * Tokens and Authorization values in memory: those of the settings, and those that stand sealed in the store, as last
 * read. Decides which of them are accepted; writes nothing.
 */
import type { WebhookSecrets } from '../model/store';
import type { StoredWebhookSecret, WebhookSecretKind } from '../model/subscription';
import type { Sealer, Secret } from '../tools/secret';

export interface HeldToken {
  token: Secret;
  user: string | null;
  /** Of the stored one; null for one of the settings that is not kept. */
  id: string | null;
}

export interface HeldSecret extends StoredWebhookSecret {
  secret: Secret;
}

export interface SecretBookDoors {
  store: WebhookSecrets;
  /** null: there are no keys, so nothing is stored. */
  sealer: Sealer | null;
  /** Of the settings. */
  configured: { authorizationValues: readonly Secret[]; tokens: readonly Omit<HeldToken, 'id'>[] };
  failed(error: unknown): void;
}

export interface HeldSecrets {
  /** Accepted now. */
  authorizationValues(): readonly Secret[];
  tokens(): readonly HeldToken[];
  /** Those of them that the settings name, in their order. */
  givenTokens(): readonly HeldToken[];
  /** What is stored of a kind and not retired, the oldest first. */
  held(kind: WebhookSecretKind): HeldSecret[];
  /** In any of these states, also what is only not dropped yet. */
  inState(kind: WebhookSecretKind, ...states: StoredWebhookSecret['state'][]): HeldSecret[];
  find(id: string): HeldSecret | null;
  /** Reads the store. A secret that no key opens is left out and told. Throws what the store throws. */
  refresh(): Promise<void>;
}

export function makeHeldSecrets({ store, sealer, configured, failed }: SecretBookDoors): HeldSecrets {
  let opened = new Map<string, HeldSecret>();
  let values: readonly Secret[] = configured.authorizationValues;
  let given: readonly HeldToken[] = configured.tokens.map((token) => ({ ...token, id: null }));
  let tokens: readonly HeldToken[] = given;

  function open(row: StoredWebhookSecret): HeldSecret | null {
    const known = opened.get(row.id);
    // The same secret stays the same object: what was worked out of it is kept with it.
    if (known !== undefined && known.sealed === row.sealed) return { ...row, secret: known.secret };
    if (sealer === null) return null;
    try {
      return { ...row, secret: sealer.unseal(row.sealed, contextOf(row)) };
    } catch (error) {
      failed(error);
      return null;
    }
  }

  const inState: HeldSecrets['inState'] = (kind, ...states) =>
    [...opened.values()].filter((row) => row.kind === kind && states.includes(row.state));

  const held: HeldSecrets['held'] = (kind) => {
    const rows = inState(kind, 'offered', 'active');
    if (kind === 'token') return rows;
    // Those before the last one that was confirmed are only not dropped yet.
    return rows.slice(
      Math.max(
        0,
        rows.findLastIndex(({ state }) => state === 'active'),
      ),
    );
  };

  return {
    authorizationValues: () => values,
    tokens: () => tokens,
    givenTokens: () => given,
    held,
    inState,
    find: (id) => opened.get(id) ?? null,
    async refresh() {
      const read = (await store.listWebhookSecrets()).flatMap((row) => open(row) ?? []);
      opened = new Map(read.map((row) => [row.id, row]));
      const retired = new Set(inState('authorization', 'retired').map(({ secret }) => secret.open()));
      const kept = configured.authorizationValues.filter((value) => !retired.has(value.open()));
      values = [...kept, ...held('authorization').map(({ secret }) => secret)];
      const made = held('token').map(({ id, user, secret }) => ({ id, user, token: secret }));
      const rows = [...inState('token', 'given'), ...held('token')];
      const rowOf = new Map(rows.map(({ id, secret }) => [secret.open(), id]));
      given = given.map((one) => ({ ...one, id: rowOf.get(one.token.open()) ?? null }));
      tokens = [...given, ...made];
    },
  };
}

/** What a sealed one is bound to: it opens as nothing else. */
export function contextOf({ id, kind }: Pick<StoredWebhookSecret, 'id' | 'kind'>): string {
  return `webhook-${kind}/${id}`;
}
