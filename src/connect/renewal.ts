/**
 * Renewing access tokens: ahead of their end and after a refusal, once for each connection, however many tasks and
 * processes ask. The lease in the store keeps other processes out; the new tokens are stored before anybody uses them,
 * since the provider may have taken the former refresh token back. Only a refusal of the refresh token itself ends a
 * consent; everything else is tried again, later and later. Never rejects.
 */
import type { Connection } from '../model/connection';
import type { Renewed, TokenRenewal } from '../model/consent';
import { isProblem } from '../model/problem';
import { type Clock, endsWithin } from '../tools/clock';
import type { AuthorizationServer } from './authorization-server';
import { type GivenDoors, type GivenGrants, type LeftBehind, makeGivenGrants } from './given-grants';
import { GrantRefusal } from './grant-refusal';
import { leaseOf } from './renewal-lease';
import { makeRenewalPauses } from './renewal-pauses';
import { unsealConnection } from './token-vault';

export interface RenewalDoors extends GivenDoors {
  /** null: no issuer is configured, so that nothing can be renewed. */
  server: Pick<AuthorizationServer, 'refresh'> | null;
  /** As this process knows it. */
  known(connectionId: string): Connection | null;
  /**
   * The provider refused the refresh token for good: resolves when that is on record of the connection that holds this sealed
   * token still, or cannot be put there now.
   */
  refused(connectionId: string, message: string, sealedToken: string): Promise<void>;
  random?(): number;
}

export interface Renewal extends TokenRenewal {
  /**
   * Shows no token any more, and waits until what was given for those that it has shown is stored, `withinMs` at most. Resolves to
   * what was not stored, or not even answered, by then. Never rejects.
   */
  end(withinMs: number): Promise<LeftBehind>;
  /** What cannot be renewed now, for reasons that are not the consent's; null when nothing. */
  trouble(): { sinceMs: number; detail: string } | null;
}

/** An access token is renewed so long before it ends, and not more often than this. */
const aheadMs = 300_000;
const aheadGapMs = 60_000;
const busyMsMax = 15_000;
const busyPollMs = 100;
/** What the provider gave and the store did not take is brought to it so often. */
const storeAgainMs = 1000;

const interrupted =
  'the refresh token was refused (invalid_grant): it was revoked, it ran out, the answer to an earlier renewal was ' +
  'lost before it could be stored, or the store was restored from a backup of before the latest renewal';

/**
 * Renews OAuth 2 tokens (RFC 6749 section 6): one renewal of a connection at a time, in this process and among all; the
 * new tokens are stored before they are used. Within the pause that a failure causes nobody is asked. Never rejects:
 * the answer says what it waits for. The lease lasts for 4 calls; a renewal by another process is waited for
 * at most 15 s.
 */
export function makeRenewal(doors: RenewalDoors): Renewal {
  const { clock, server } = doors;
  const pauses = makeRenewalPauses(doors.random ?? Math.random);
  const underWay = new Map<string, Promise<Renewed>>();
  const renewedAtMs = new Map<string, number>();
  let ending = false;
  const given = makeGivenGrants(doors);
  const unanswered = new Set<string>();
  const renewAlone = makeRenewAlone(doors, given, unanswered, () => ending);
  const storing = makeStoring(clock, given, underWay, (connectionId) => pauses.ended(connectionId));

  function renew(connection: Connection): Promise<Renewed> {
    const { connectionId } = connection;
    const stale = connection.token.open();
    const known = doors.known(connectionId);
    if (known !== null && known.status === 'valid' && known.token.open() !== stale)
      return Promise.resolve({ connection: known });
    const running = underWay.get(connectionId);
    if (running !== undefined) return running;
    const renewed = renewUnlessPaused(connectionId, stale).finally(() => underWay.delete(connectionId));
    underWay.set(connectionId, renewed);
    return renewed;
  }

  async function renewUnlessPaused(connectionId: string, stale: string): Promise<Renewed> {
    const pause = pauses.of(connectionId, clock.steadyMs());
    if (pause !== null) return waits(pause.detail, pause.leftMs);
    try {
      const renewed = await renewAlone(connectionId, stale);
      pauses.ended(connectionId);
      renewedAtMs.set(connectionId, clock.steadyMs());
      return renewed;
    } catch (error) {
      const detail = wordsOf(error);
      storing.begin();
      if (given.connections().includes(connectionId)) pauses.gave(connectionId);
      const refusal = error instanceof GrantRefusal ? error : null;
      const failure = { detail, isProviders: refusal !== null && refusal.fault !== 'unasked' };
      const pauseMs = pauses.failed(connectionId, failure, refusal?.retryAfterMs ?? null, clock.steadyMs());
      return refusal?.fault === 'client-refused' ? { clientRefused: detail } : waits(detail, pauseMs);
    }
  }

  return {
    renew,
    current(connection) {
      const known = doors.known(connection.connectionId) ?? connection;
      if (known.auth !== 'oauth2' || known.refresh === null || known.expiresAt === null || server === null)
        return known;
      const leftMs = Date.parse(known.expiresAt) - clock.nowMs();
      if (leftMs > aheadMs) return known;
      if (leftMs <= 0) return renew(known);
      const lastMs = renewedAtMs.get(known.connectionId) ?? Number.NEGATIVE_INFINITY;
      // It lasts for now: whoever comes does not wait for the next one.
      if (clock.steadyMs() - lastMs >= aheadGapMs) void renew(known);
      return known;
    },
    async end(withinMs) {
      ending = true;
      await storing.end(withinMs);
      return { unstored: given.connections(), unanswered: [...unanswered] };
    },
    trouble() {
      const steadyMs = clock.steadyMs();
      const found = pauses.trouble(steadyMs, (id) => doors.known(id)?.status === 'valid');
      return found && { ...found, sinceMs: clock.nowMs() - (steadyMs - found.sinceMs) };
    },
  };
}

/**
 * Brings to the store what waits for it, not under the pauses of renewals: only the store is asked, and the former token is good for
 * nobody any more. Never rejects.
 */
function makeStoring(
  clock: Clock,
  given: GivenGrants,
  underWay: Map<string, Promise<Renewed>>,
  stored: (connectionId: string) => void,
) {
  const ended = new AbortController();
  let running = false;

  function storeOne(connectionId: string): Promise<Renewed> {
    const storing = given
      .store(connectionId)
      .then((renewed) => {
        stored(connectionId);
        return renewed;
      })
      .catch((error) => waits(wordsOf(error), storeAgainMs))
      .finally(() => underWay.delete(connectionId));
    underWay.set(connectionId, storing);
    return storing;
  }

  /** Those that are not under way, all at once: one whose row is locked holds up no other. */
  function storeWaiting(): void {
    for (const id of given.connections()) if (!underWay.has(id)) void storeOne(id);
  }

  async function run(): Promise<void> {
    while (!ended.signal.aborted && given.connections().length > 0) {
      await clock.wait(storeAgainMs, ended.signal);
      if (!ended.signal.aborted) storeWaiting();
    }
    running = false;
  }

  /** A call that hangs keeps nothing that waits from the store. */
  async function storeAtLast(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      storeWaiting();
      const again = clock.wait(storeAgainMs, over);
      await Promise.race([Promise.all(underWay.values()), again]);
      if (underWay.size === 0 && given.connections().length === 0) return;
      await again;
    }
  }

  return {
    /** Goes on until nothing waits. */
    begin(): void {
      if (running || given.connections().length === 0) return;
      running = true;
      void run();
    },
    /** Goes on until nothing waits and nothing is under way, `withinMs` at most. */
    async end(withinMs: number): Promise<void> {
      ended.abort();
      const over = new AbortController();
      await endsWithin(storeAtLast(over.signal), withinMs, clock);
      over.abort();
    },
  };
}

/**
 * One renewal under the lease; whose token is shown is in `unanswered` until there is an answer. Throws `GrantRefusal`, and what the
 * store and the sealer throw. While the process ends nobody is asked.
 */
function makeRenewAlone(
  doors: RenewalDoors,
  given: GivenGrants,
  unanswered: Set<string>,
  isEnding: () => boolean,
): (connectionId: string, stale: string) => Promise<Renewed> {
  const { store, sealer, clock, server } = doors;
  const mayAsk = () => {
    if (isEnding()) throw new GrantRefusal('unasked', 'the process that asks for it ends');
  };
  /** What the store holds, when that is not the token that was refused; null when it is. */
  async function otherThan(connectionId: string, stale: string): Promise<Renewed | null> {
    const sealed = await store.findConnection(connectionId);
    if (sealed === null) return { refused: null };
    const stored = unsealConnection(sealed, sealer);
    if (stored.token.open() === stale) return null;
    return given.adopt(sealed);
  }

  async function exchange(connectionId: string, mayShow: () => boolean): Promise<Renewed> {
    const sealed = await store.findConnection(connectionId);
    if (sealed === null || server === null) return { refused: null };
    const { token, refresh, auth, status } = unsealConnection(sealed, sealer);
    if (auth !== 'oauth2' || refresh === null) return { refused: null };
    const waiting = given.of(connectionId, token);
    if (waiting !== null) return given.keep(sealed, token, waiting);
    // Of a grant that is known to be refused nothing else is heard by asking again.
    if (status !== 'valid') return { refused: interrupted };
    mayAsk();
    try {
      const answer = server.refresh(refresh, mayShow).finally(() => unanswered.delete(connectionId));
      return await given.keep(sealed, token, await answer);
    } catch (error) {
      if (!(error instanceof GrantRefusal) || error.fault !== 'refused') throw error;
      const now = await store.findConnection(connectionId);
      if (now !== null && given.holds(now, token))
        await doors.refused(connectionId, interrupted, now.sealedToken);
      // Whoever else renewed it in the meantime, in spite of the lease, or consented anew, has the token that is good.
      return (await otherThan(connectionId, token.open())) ?? { refused: interrupted };
    }
  }

  return async (connectionId, stale) => {
    const lease = leaseOf(doors, connectionId);
    const untilMs = clock.steadyMs() + busyMsMax;
    mayAsk();
    while (!(await lease.take())) {
      const other = await otherThan(connectionId, stale);
      if (other !== null) return other;
      if (clock.steadyMs() >= untilMs) throw new GrantRefusal('unasked', 'another process is renewing it');
      await clock.wait(busyPollMs);
      mayAsk();
    }
    const mayShow = () => {
      const may = !isEnding() && lease.lasts();
      if (may) unanswered.add(connectionId);
      return may;
    };
    try {
      return (await otherThan(connectionId, stale)) ?? (await exchange(connectionId, mayShow));
    } finally {
      // Whoever had it now would show a token that the provider has taken back.
      if (!given.connections().includes(connectionId)) await lease.giveBack();
    }
  };
}

/** Only where it is the store's, the store is named: whoever reads it looks there. */
function wordsOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  const isStores = isProblem(error, 'store.unavailable') || isProblem(error, 'store.refused');
  return isStores ? `the store failed (${words})` : words;
}

function waits(detail: string, retryAfterMs: number): Renewed {
  return {
    waits: { code: 'token-unavailable', detail: `the token cannot be renewed now: ${detail}`, retryAfterMs },
  };
}
