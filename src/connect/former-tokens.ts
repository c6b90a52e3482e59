/**
 * The tokens that connections held before their last few renewals, in memory: a provider may still repeat them, and what
 * it repeats is hidden.
 */
import type { Connection } from '../model/connection';
import type { Secret } from '../tools/secret';

export interface FormerTokens {
  of(connectionId: string): readonly Secret[];
  /** `before` is what is known of a connection until now. */
  note(connection: Connection, before: Connection | undefined): void;
}

/** Of one connection. */
const secretsMax = 9;

/** Holds the latest 9 secrets of each connection. */
export function makeFormerTokens(): FormerTokens {
  const former = new Map<string, Secret[]>();
  const of = (connectionId: string) => former.get(connectionId) ?? [];
  return {
    of,
    note({ connectionId, token }, before) {
      if (before === undefined || before.token.open() === token.open()) return;
      const held = [before.token, before.refresh, before.tokenSecret].filter((secret) => secret !== null);
      former.set(connectionId, [...held, ...of(connectionId)].slice(0, secretsMax));
    },
  };
}
