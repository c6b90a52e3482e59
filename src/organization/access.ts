/**
 * Organization access as it is learned: a refused request or a notification only asks for a probe; the probe's answer, a
 * refused token or the `connections` link of a listing is an observation, which the store applies under the
 * organization's epoch. Nothing here decides what the state means for tasks: claiming does.
 */
import type { Answer } from '../model/answer';
import type { DueProbe, Forgotten, Observation, Observed, Said, Transition } from '../model/organization';
import type { Connections, Organizations } from '../model/store';
import type { Clock } from '../tools/clock';

export interface AccessDoors {
  store: Organizations & Connections;
  /** Repeats the refused request, or the next best. */
  ask(probe: DueProbe, signal: AbortSignal): Promise<Answer>;
  /** How long the provider is left alone with it; 0: it may be asked. */
  heldMs(probe: DueProbe): number;
  /** What the answer tells of the provider as a whole, a refused token included. */
  heard(probe: DueProbe, answer: Answer): Promise<void>;
  probed(line: { organizationId: string; found: Answer['kind']; tookMs: number }): void;
  /** The access as shown changed: history, event and alert follow. */
  changed(observation: Observation, transition: Transition): void;
  /** A connection was refused, or is taken again: resolves when that is heeded by whatever is asked from now on. */
  connectionsChanged(): Promise<void>;
  /** Something was observed, even if nothing changed: work that waited for the answer may go on. */
  answered(): void;
  clock: Clock;
}

export interface OrganizationAccess {
  /** One probe, answered and applied. Throws what the store throws. */
  probe(due: DueProbe, signal: AbortSignal): Promise<void>;
  /**
   * This token was refused: organizations that no other valid connection sees need a new consent. Nothing is refused of a
   * connection that holds another one by now.
   */
  refuseGrant(connectionId: string, message: string | null, sealedToken: string): Promise<void>;
  /** A whole listing of a connection holds these alone: what only a refused one sees then needs that one's consent anew. */
  keepSights(connectionId: string, organizations: string[]): Promise<void>;
  /** The refused token is taken again: what it alone sees is probed at once. */
  acceptGrant(connectionId: string): Promise<void>;
  /** A connection is given up: the same for what it alone saw. False when it is unknown. */
  revokeGrant(connectionId: string): Promise<boolean>;
  /** What we have to do with it ends; null when it is unknown. Its connections are ended before. */
  forget(organizationId: string): Promise<Forgotten | null>;
  /**
   * A listing showed the organization with its `connections` link: its customer has not connected it, and the grant that
   * listed it holds. `epoch` is the organization's before the listing began.
   */
  unconnected(organizationId: string, actionUrl: string | null, epoch: number): Promise<void>;
}

/** The one place where an organization's access changes. Rejects as the store does; then nothing has changed. */
export function makeOrganizationAccess(doors: AccessDoors): OrganizationAccess {
  const { store, clock } = doors;

  async function observe(observation: Observation): Promise<void> {
    const transition = await store.observe(observation);
    if (transition.changed) doors.changed(observation, transition);
    doors.answered();
  }

  async function refuseGrant(...refusal: Parameters<Connections['refuseConnection']>): Promise<void> {
    await ended((await store.refuseConnection(...refusal)).observed);
  }

  async function keepSights(...listed: Parameters<Connections['keepSights']>): Promise<void> {
    const { observed } = await store.keepSights(...listed);
    if (observed.length > 0) await ended(observed);
  }

  async function acceptGrant(connectionId: string): Promise<void> {
    await store.acceptConnection(connectionId);
    await doors.connectionsChanged();
  }

  async function revokeGrant(connectionId: string): Promise<boolean> {
    const revoked = await store.revokeConnection(connectionId);
    if (revoked !== null) await ended(revoked.observed);
    return revoked !== null;
  }

  /** A connection is no longer used, or not for all that it saw; what that means for organizations was observed with it. */
  async function ended(observed: Observed[]): Promise<void> {
    await doors.connectionsChanged();
    for (const { observation, transition } of observed) {
      if (transition.changed) doors.changed(observation, transition);
    }
    doors.answered();
  }

  async function forget(organizationId: string): Promise<Forgotten | null> {
    const forgotten = await store.forgetOrganization(organizationId);
    if (forgotten !== null) await ended([forgotten]);
    return forgotten;
  }

  /**
   * Whom no connection sees is asked when one does, or when something of it is refused; so is one of which nothing may be
   * asked, unless it is blocked. That was found by asking, so the call that is given back with it is paid again.
   */
  async function postpone({ organizationId, epoch }: DueProbe, found: Answer['kind']): Promise<void> {
    const isBarred = found === 'address-refused';
    const again = isBarred || found === 'no-connection' ? 'never' : 'later';
    await store.postponeProbe(organizationId, epoch, again, found);
    if (isBarred) await store.payProbeCall(true);
  }

  async function probe(due: DueProbe, signal: AbortSignal): Promise<void> {
    const { organizationId, epoch } = due;
    const heldMs = doors.heldMs(due);
    if (heldMs > 0) return store.postponeProbe(organizationId, epoch, heldMs, 'left-alone');
    const startedMs = clock.nowMs();
    const answer = await doors.ask(due, signal);
    doors.probed({ organizationId, found: answer.kind, tookMs: clock.nowMs() - startedMs });
    await doors.heard(due, answer);
    const said = saidBy(answer);
    if (said === null) await postpone(due, answer.kind);
    else await observe({ organizationId, epoch, askedBy: due.askedBy ?? null, probed: answer.kind, ...said });
  }

  return {
    refuseGrant,
    keepSights,
    acceptGrant,
    revokeGrant,
    forget,
    probe,
    async unconnected(organizationId, actionUrl, epoch) {
      const known = await store.access(organizationId);
      const isKnown = known?.causes['not-connected'] !== undefined;
      // It was shown to a grant that holds: of one whose grant was refused that is news.
      if (isKnown && known.causes['refused-grant'] === undefined) return;
      const found = { cause: 'not-connected', actionUrl, message: null } as const;
      await observe({ organizationId, epoch, found, by: 'sync' });
    },
  };
}

/** What a probe's answer says about access; null when it says nothing about it. */
export function saidBy(answer: Answer): Said | null {
  switch (answer.kind) {
    case 'action-required':
      return {
        by: 'probe',
        found: { cause: answer.cause, actionUrl: answer.actionUrl, message: answer.message },
      };
    case 'not-connected':
      return {
        by: 'connections-link',
        found: { cause: 'not-connected', actionUrl: answer.actionUrl, message: null },
      };
    case 'ok':
    case 'not-modified':
    case 'gone':
    case 'no-access':
      return { by: 'probe', found: { cause: null } };
    default:
      return null;
  }
}
