/**
 * The access of an organization is a state machine: causes are a set, the access is derived from it, and only an
 * observation (a probe's answer, a refused grant, the `connections` link) changes the set. Pure; imports nothing.
 */

export type Access = 'active' | 'terms-required' | 'not-connected' | 'reauthorize';

/** What can keep an organization from being read. */
export type Cause = 'terms' | 'required-action' | 'not-connected' | 'refused-grant';

export interface CauseDetail {
  /** Milliseconds since the epoch at which this cause was first observed. */
  sinceMs: number;
  /** Where a person acts; null when the provider named no place. */
  actionUrl: string | null;
  /** The provider's own words, cut at 500 characters. */
  message: string | null;
  /** The connection whose grant was refused; only of that cause. */
  connectionId?: string;
}

export type CauseSet = Partial<Record<Cause, CauseDetail>>;

/** Several causes at once are shown as reauthorize before not-connected before terms-required. */
const accessByPrecedence: [Cause, Access][] = [
  ['refused-grant', 'reauthorize'],
  ['not-connected', 'not-connected'],
  ['terms', 'terms-required'],
  ['required-action', 'terms-required'],
];

export function accessOf(causes: CauseSet): Access {
  for (const [cause, access] of accessByPrecedence) if (causes[cause] !== undefined) return access;
  return 'active';
}

/** The cause that the access is shown by; null when active. */
export function leadingCause(causes: CauseSet): Cause | null {
  for (const [cause] of accessByPrecedence) if (causes[cause] !== undefined) return cause;
  return null;
}

/** That cause with what is known of it; null when active. */
export function leadingBlock(causes: CauseSet): (CauseDetail & { cause: Cause }) | null {
  const cause = leadingCause(causes);
  return cause === null ? null : { cause, ...causes[cause]! };
}

type Blocks<Named extends Cause> = { cause: Named; actionUrl: string | null; message: string | null };
/** A success clears every cause. */
type Opens = { cause: null };

/** Who may say what: a probe that was answered (by the `connections` link too), a refused token, a listing, an operator who forgets or revokes a connection. */
export type Said =
  | { by: 'probe'; found: Opens | Blocks<'terms' | 'required-action'> }
  | { by: 'connections-link'; found: Blocks<'not-connected'> }
  | { by: 'sync'; found: Blocks<'not-connected'> }
  | { by: 'grant'; found: Blocks<'refused-grant'> & { connectionId: string } }
  | { by: 'operator'; found: Blocks<'not-connected'> | (Blocks<'refused-grant'> & { connectionId: string }) };

/**
 * What asked for a probe: a request that was refused, a notification, a listing, a new consent, an operator; or it was made
 * again by itself, since the last one found the organization blocked or brought no answer.
 */
export type ProbeAsker = 'refused-request' | 'notification' | 'listing' | 'consent' | 'operator' | 'schedule';

/** What was learned about an organization's access, and when the request behind it began. */
export type Observation = Said & {
  organizationId: string;
  /** The organization's epoch when the request was begun; an answer from an earlier epoch changes nothing. */
  epoch: number;
  /** What asked for the probe that was answered; left out where none was. */
  askedBy?: ProbeAsker | null;
  /** How that probe's answer was classified; left out where none was. */
  probed?: string;
};

export interface Transition {
  causes: CauseSet;
  access: Access;
  previous: Access;
  /** True when the access as shown, or its cause, changed: the epoch rises, history and an access event are written. */
  changed: boolean;
}

/** Did the provider say it of the organization itself, rather than of a grant or in a sync? */
export function isByAnswer({ by }: Observation): boolean {
  return by === 'probe' || by === 'connections-link';
}

/** What an observation came to. */
export interface Observed {
  observation: Observation;
  transition: Transition;
}

/**
 * Applies an observation. An answer that names terms or another action replaces the other causes, since it disproves
 * them: a request that is refused for that is one of a connected organization under a valid grant. The `connections` link
 * was shown to a valid grant too, and disproves a refused one alone; a refused grant disproves nothing. An operator who
 * forgets it ends the rest; one who revokes a connection does not.
 */
export function transition(current: CauseSet, observation: Observation, nowMs: number): Transition {
  const before = accessOf(current);
  let causes: CauseSet;
  const found = observation.found;
  if (found.cause === null) causes = {};
  else {
    const detail: CauseDetail = {
      sinceMs: current[found.cause]?.sinceMs ?? nowMs,
      actionUrl: found.actionUrl,
      message: found.message,
      ...('connectionId' in found ? { connectionId: found.connectionId } : {}),
    };
    causes = { ...leftBeside(current, observation), [found.cause]: detail };
  }
  const access = accessOf(causes);
  const changed = access !== before || leadingCause(causes) !== leadingCause(current);
  return { causes, access, previous: before, changed };
}

/**
 * Does it concern somebody that an organization is blocked? Who was forgotten is only listed; so is, while no work waits, who
 * was never read and is not connected, or whose connection an operator revoked.
 */
export function concernsSomebody({
  cause,
  forgotten,
  revoked,
  parked,
  wasRead,
}: {
  cause: Cause;
  forgotten: boolean;
  revoked: boolean;
  parked: number;
  wasRead: boolean;
}): boolean {
  if (forgotten) return false;
  return parked > 0 || (!revoked && (wasRead || cause !== 'not-connected'));
}

/** The causes that an observation of another one does not disprove. */
function leftBeside(current: CauseSet, { by, found }: Observation): CauseSet {
  const forgets = by === 'operator' && found.cause === 'not-connected';
  if (forgets || by === 'probe') return {};
  if (by === 'grant' || by === 'operator') return current;
  const { 'refused-grant': _disproved, ...left } = current;
  return left;
}

/** An organization as the API and commands show it. */
export interface OrganizationView {
  id: string;
  name: string | null;
  access: Access;
  since: string | null;
  reason: string | null;
  message: string | null;
  actionUrl: string | null;
  /** Tasks that wait for the organization. */
  parked: number;
  /** The one whose grant was refused, where that blocks it; null where it was revoked here. */
  connection: string | null;
  /** True while it is blocked and somebody has to act; of the others it is only shown. */
  concerns: boolean;
  /** True when an operator forgot it: nobody has to act, until it is listed again. */
  forgotten: boolean;
  /**
   * False while only deliveries named it: no connection was shown it and nothing of it was read. That it is active then
   * says no more than that nothing blocks it here.
   */
  seen: boolean;
  /** Where its connection is looked after at the provider; only where one organization is asked for, null where unknown. */
  manageUrl?: string | null;
  /** By when its customer was announced to act, the nearest first, as ISO 8601; only where one organization is asked for. */
  announced?: string[];
  /** Only where a probe was asked for: what it found, as the provider's answer is classified, or `left-alone` where it may not be asked now, `by-a-worker` where the one that asked does not say; null when none ended in time. */
  probed?: string | null;
  /** How its access changed last, at most 100 times, the latest last; only where one organization is asked for. */
  history?: AccessChange[];
}

/** So many changes of an organization's access are kept and shown: the latest. */
export const historyMax = 100;

/** One change of access: who said so, and on what ground. */
export interface AccessChange {
  /** The how-manieth of its organization, from 1: those before the first that is shown are no longer kept. */
  nth: number;
  at: string;
  from: Access;
  to: Access;
  by: Said['by'];
  /** What asked for the probe that said so; null where none did, or where it is not known any more. */
  askedBy: ProbeAsker | null;
  /** null where it may be read from then on. */
  cause: Cause | null;
  actionUrl: string | null;
  message: string | null;
}

/** What the store did to forget an organization. */
export interface Forgotten extends Observed {
  /** Resources whose waiting work was given up. */
  discarded: number;
}

/** What became of an organization that is to be forgotten, as people see it. */
export interface ForgottenView {
  id: string;
  state: 'forgotten';
  /** Resources whose waiting work was given up, on record. */
  discarded: number;
  /** Whether the provider ended its connection to this application, or lists none. */
  ended: boolean;
  /** Connections that saw nobody else: erased here, and at the provider where `atProvider`; with what was subscribed with them. */
  revoked: { connection: string; atProvider: boolean; subscriptions?: string[] }[];
  /** Connections that still see others: unless it is ended at the provider, it comes back with them. */
  seenBy: string[];
}

/**
 * When a probe that brought no answer about access is made again: after a time in milliseconds, later than the last time,
 * or, of an organization that is not known to be blocked, not before something asks for it. Any but `later` gives back the
 * call that was paid when the probe was taken.
 */
export type ProbeAgain = number | 'later' | 'never';

/**
 * The organization that the place for an action names, as in `…/organizations/4711/terms`; null where it names none. Whether
 * it is one that we know is for the caller to judge.
 */
export function organizationNamedIn(actionUrl: string | null): string | null {
  const path = actionUrl === null ? undefined : URL.parse(actionUrl)?.pathname;
  return path === undefined ? null : (/\/organizations\/([^/]+)/.exec(path)?.[1] ?? null);
}

/** What of a probe other processes see: whether one is due or under way, and what the last one that ended found. */
export interface Probing {
  probing: boolean;
  /**
   * As the provider's answer was classified, or `left-alone`; null while none has ended since one was asked for on demand, or
   * where a process of an older version ended it.
   */
  found: string | null;
}

/** A due probe: repeats the refused request, else reads a known resource, else a first page. */
export interface DueProbe {
  organizationId: string;
  epoch: number;
  /** The refused request's address; null when none was refused. */
  refusedAddress: string | null;
  /** A known resource's address; null when none is known. */
  knownAddress: string | null;
  connectionId: string | null;
  /** What asked for it; null where that is not known any more. */
  askedBy?: ProbeAsker | null;
}
