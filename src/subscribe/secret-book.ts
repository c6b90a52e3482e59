/**
 * The tokens and Authorization values by which deliveries are known, as this process has them in memory: those of the
 * settings, and those that were made and stand sealed in the store, followed there. A value that the provider uses ends
 * those before it. Nothing is printed; nothing is asked of the provider here.
 */
import { randomUUID } from 'node:crypto';
import { Problem } from '../model/problem';
import type { SavedWebhookSecret, StoredWebhookSecret } from '../model/subscription';
import type { Secret } from '../tools/secret';
import {
  contextOf,
  type HeldSecret,
  type HeldSecrets,
  type HeldToken,
  makeHeldSecrets,
  type SecretBookDoors,
} from './held-secrets';

export type NewSecret = Pick<SavedWebhookSecret, 'kind' | 'user' | 'connectionId'>;

export interface SecretBook extends HeldSecrets {
  /** Keeps a new one, accepted from now on. Throws `settings.invalid` without keys. */
  offer(secret: Secret, made: NewSecret): Promise<HeldSecret>;
  /** A token's subscription is known, and whose it is now; null: that of a token of the settings has ended. */
  bind(
    id: string,
    subscriptionId: string | null,
    of?: Partial<Pick<NewSecret, 'connectionId' | 'user'>>,
  ): Promise<void>;
  /** A token of the settings is kept, so that its heartbeats are noted. Nothing without keys. */
  keep(token: Pick<HeldToken, 'token' | 'user'>): Promise<void>;
  /** The provider uses this Authorization value: what was before it is not accepted any more. */
  confirm(id: string): Promise<void>;
  drop(id: string): Promise<void>;
  /** An authenticated delivery had this value. At once; what follows is told to `failed` when it fails. */
  used(value: Secret): void;
}

/**
 * Knows the configured secrets at once, and those it made when the store was read. Rejects as the store does; no view
 * holds a secret.
 */
export function makeSecretBook(doors: SecretBookDoors): SecretBook {
  const { store, sealer, configured, failed } = doors;
  const memory = makeHeldSecrets(doors);
  const { held, inState, refresh } = memory;
  const confirming = new Set<string>();

  async function save({ secret: _secret, ...row }: HeldSecret): Promise<void> {
    const { madeAtMs: _made, heardAtMs: _heard, beatMs: _beat, ...saved } = row;
    await store.saveWebhookSecret(saved);
  }

  function seal(secret: Secret, made: NewSecret, state: StoredWebhookSecret['state']): SavedWebhookSecret {
    if (sealer === null) throw new Problem('settings.invalid', 'ENCRYPTION_KEYS is needed to keep a secret');
    const id = randomUUID();
    const sealed = sealer.seal(secret, contextOf({ id, kind: made.kind }));
    return { id, state, sealed, subscriptionId: null, ...made };
  }

  /** What the settings name and the provider does not use any more would else be accepted for ever. */
  async function retireOthers(used: Secret): Promise<void> {
    const retired = inState('authorization', 'retired');
    const given = configured.authorizationValues;
    for (const { id, secret } of retired) {
      if (!given.some((value) => value.open() === secret.open())) await store.dropWebhookSecret(id);
    }
    for (const value of given) {
      const known = retired.some(({ secret }) => secret.open() === value.open());
      if (known || value.open() === used.open()) continue;
      const made = { kind: 'authorization', user: null, connectionId: null } as const;
      await store.saveWebhookSecret(seal(value, made, 'retired'));
    }
  }

  async function confirm(id: string): Promise<void> {
    const row = memory.find(id);
    if (row?.kind !== 'authorization' || row.state !== 'offered') return;
    // In this order: whatever breaks it off, it is begun again with the next delivery.
    await retireOthers(row.secret);
    await save({ ...row, state: 'active' });
    await refresh();
    const kept = new Set(held('authorization').map((one) => one.id));
    for (const one of inState('authorization', 'offered', 'active')) {
      if (!kept.has(one.id)) await store.dropWebhookSecret(one.id);
    }
    // What the settings name of those that were replaced is retired anew by now.
    for (const one of memory.lost()) {
      const isBefore = one.kind === 'authorization' && one.madeAtMs < row.madeAtMs;
      if (isBefore) await store.dropWebhookSecret(one.id);
    }
    await refresh();
  }

  return {
    ...memory,
    async offer(secret, made) {
      const saved = seal(secret, made, 'offered');
      await store.saveWebhookSecret(saved);
      await refresh();
      return memory.find(saved.id) as HeldSecret;
    },
    async bind(id, subscriptionId, of = {}) {
      const row = memory.find(id);
      const state = row?.state === 'given' ? 'given' : 'active';
      if (row !== null) await save({ ...row, state, subscriptionId, ...of });
      await refresh();
    },
    async keep({ token, user }) {
      if (sealer === null) return;
      await store.saveWebhookSecret(seal(token, { kind: 'token', user, connectionId: null }, 'given'));
      await refresh();
    },
    confirm,
    async drop(id) {
      await store.dropWebhookSecret(id);
      await refresh();
    },
    used(value) {
      const row = held('authorization').find(({ secret }) => secret === value);
      if (row?.state !== 'offered' || confirming.has(row.id)) return;
      confirming.add(row.id);
      void confirm(row.id)
        .catch(failed)
        .finally(() => confirming.delete(row.id));
    },
  };
}
