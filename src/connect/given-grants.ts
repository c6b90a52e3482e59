/**
 * What the provider gave and the store has not yet. The refresh token that it replaces is taken back: until the new one is stored
 * nobody else may show the former, and a process that ends without storing it loses a consent.
 */
import type { SealedConnection } from '../model/connection';
import type { Grant, Renewed } from '../model/consent';
import type { Connections } from '../model/store';
import type { Sealer, Secret } from '../tools/secret';
import { type LeaseDoors, leaseOf } from './renewal-lease';
import { sealTokens, unsealConnection } from './token-vault';

export interface GivenDoors extends LeaseDoors {
  store: LeaseDoors['store'] & Pick<Connections, 'findConnection' | 'replaceTokens'>;
  sealer: Sealer;
  /** The store holds other tokens than this process knows: resolves when it knows them. */
  changed(): Promise<void>;
  /** A refused connection has tokens that are good: resolves when it counts as valid. Rejects as the store does. */
  accepted(connectionId: string): Promise<void>;
}

export interface GivenGrants {
  /** The connections of which something was given that is not stored. */
  connections(): string[];
  /** What was given for this token; null where nothing waits to be stored for it. */
  of(connectionId: string, replaces: Secret): Grant | null;
  /** By the opened token: what is sealed anew meanwhile, with another key, reads otherwise and is the same. */
  holds(sealed: SealedConnection, token: Secret): boolean;
  /** This process goes by what the store holds. */
  adopt(sealed: SealedConnection): Promise<Renewed>;
  /** Stored first: a token that is used and lost would leave the connection with one that was taken back. Throws what the store throws: then it waits. */
  keep(sealed: SealedConnection, replaces: Secret, grant: Grant): Promise<Renewed>;
  /** Stores what waits for it and asks nobody else; takes the lease first where it can be had. Throws what the store throws: then it waits on. */
  store(connectionId: string): Promise<Renewed>;
}

/** The connections whose consents a process leaves in doubt that ends. */
export interface LeftBehind {
  /** Of which something was given that the store has not confirmed: what was on its way there may be stored all the same. */
  unstored: string[];
  /** Whose refresh tokens the provider was shown, and has not answered: it may have taken them back. */
  unanswered: string[];
}

/** A line of the log holds so many of both kinds. */
const namedMax = 8;

/** What is told of them, a sentence for each kind; at most eight of a kind are named. */
export function leftBehindWords({ unstored, unanswered }: LeftBehind): string[] {
  return [
    ...naming(
      unstored,
      (who, whose) =>
        `the store did not confirm the new tokens of ${who} before the process ended: ${whose} may have to consent anew`,
    ),
    ...naming(
      unanswered,
      (who, whose) =>
        `the provider did not answer the renewal of ${who} before the process ended: if it refuses the next one, ${whose} must consent anew`,
    ),
  ];
}

function naming(connectionIds: string[], words: (who: string, whose: string) => string): string[] {
  if (connectionIds.length === 0) return [];
  const [first, more] = [connectionIds.slice(0, namedMax).join(', '), connectionIds.length - namedMax];
  if (connectionIds.length === 1) return [words(`connection ${first}`, 'its user')];
  return [words(`connections ${more > 0 ? `${first} and ${more} more` : first}`, 'their users')];
}

/** Kept in memory alone, as long as this process lives. */
export function makeGivenGrants(doors: GivenDoors): GivenGrants {
  const { store, sealer } = doors;
  const unstored = new Map<string, { replaces: Secret; grant: Grant }>();

  const holds = (sealed: SealedConnection, token: Secret): boolean =>
    unsealConnection(sealed, sealer).token.open() === token.open();

  async function adopt(sealed: SealedConnection): Promise<Renewed> {
    await doors.changed();
    return sealed.status === 'valid' ? { connection: unsealConnection(sealed, sealer) } : { refused: null };
  }

  async function keep(sealed: SealedConnection, replaces: Secret, grant: Grant): Promise<Renewed> {
    const { connectionId, sealedRefresh } = sealed;
    unstored.set(connectionId, { replaces, grant });
    const tokens = sealTokens(connectionId, grant, sealer);
    const kept = grant.refresh === null ? { ...tokens, sealedRefresh } : tokens;
    const stored = await store.replaceTokens(connectionId, sealed.sealedToken, kept);
    const now = await store.findConnection(connectionId);
    // Only sealed anew, it holds what the provider took back for this grant.
    if (!stored && now !== null && holds(now, replaces)) return keep(now, replaces, grant);
    return goBy(connectionId, now, grant);
  }

  /** What stands there now is the grant, or of a new consent and the good one. */
  async function goBy(connectionId: string, now: SealedConnection | null, grant: Grant): Promise<Renewed> {
    // Another process was refused for the former token, while this one could not store what it had been turned into.
    const isWronged = now !== null && now.status === 'refused' && holds(now, grant.token);
    if (isWronged) await doors.accepted(connectionId);
    unstored.delete(connectionId);
    if (now === null) return { refused: null };
    return adopt(isWronged ? { ...now, status: 'valid' } : now);
  }

  async function storeOf(connectionId: string): Promise<Renewed> {
    const lease = leaseOf(doors, connectionId);
    await lease.take();
    const sealed = await store.findConnection(connectionId);
    const waiting = unstored.get(connectionId);
    if (waiting === undefined) return { refused: null };
    const { replaces, grant } = waiting;
    const renewed =
      sealed !== null && holds(sealed, replaces)
        ? await keep(sealed, replaces, grant)
        : await goBy(connectionId, sealed, grant);
    await lease.giveBack();
    return renewed;
  }

  return {
    connections: () => [...unstored.keys()],
    of(connectionId, replaces) {
      const waiting = unstored.get(connectionId);
      return waiting !== undefined && waiting.replaces.open() === replaces.open() ? waiting.grant : null;
    },
    holds,
    adopt,
    keep,
    store: storeOf,
  };
}
