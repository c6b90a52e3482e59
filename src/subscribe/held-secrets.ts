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

/** What no key opens, and why. */
export interface UnopenedSecret extends StoredWebhookSecret {
  why: string;
}

export interface SecretBookDoors {
  store: WebhookSecrets;
  /** null: there are no keys, so nothing is stored here, and nothing opened that others store. */
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
  /** What is stored in any state and no key opens, as last read. */
  unopened(): readonly UnopenedSecret[];
  /** Those of them that were never opened here, either: nobody will know them again. */
  lost(): readonly UnopenedSecret[];
  /**
   * Reads the store. A secret that no key opens is told once, and left out where it was never opened here. Throws what
   * the store throws.
   */
  refresh(): Promise<void>;
}

export function makeHeldSecrets({ store, sealer, configured, failed }: SecretBookDoors): HeldSecrets {
  let opened = new Map<string, HeldSecret>();
  let unopened = new Map<string, UnopenedSecret>();
  let values: readonly Secret[] = configured.authorizationValues;
  let given: readonly HeldToken[] = configured.tokens.map((token) => ({ ...token, id: null }));
  let tokens: readonly HeldToken[] = given;

  /** It, or why no key opens it. That is told once, and not tried again: the keys of a process stay the same. */
  function unseal(row: StoredWebhookSecret): Secret | string {
    const before = unopened.get(row.id);
    if (before?.sealed === row.sealed) return before.why;
    if (sealer === null) return 'a receiver has no ENCRYPTION_KEYS';
    try {
      return sealer.unseal(row.sealed, contextOf(row));
    } catch (error) {
      failed(error);
      return error instanceof Error ? error.message : String(error);
    }
  }

  function open(row: StoredWebhookSecret, closed: Map<string, UnopenedSecret>): HeldSecret | null {
    const known = opened.get(row.id);
    // The same secret stays the same object: what was worked out of it is kept with it.
    const kept = known === undefined ? null : { ...row, secret: known.secret };
    if (known?.sealed === row.sealed && !unopened.has(row.id)) return kept;
    const found = unseal(row);
    if (typeof found !== 'string') return { ...row, secret: found };
    closed.set(row.id, { ...row, why: found });
    // Under one id it is always the same: sealed anew with a key that only others have, it is still known here.
    return kept;
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
    unopened: () => [...unopened.values()],
    lost: () => [...unopened.values()].filter(({ id }) => !opened.has(id)),
    async refresh() {
      const closed = new Map<string, UnopenedSecret>();
      const read = (await store.listWebhookSecrets()).flatMap((row) => open(row, closed) ?? []);
      unopened = closed;
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
