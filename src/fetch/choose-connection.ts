/**
 * Whose token reads a resource. The owner is known from the last read or from the subscription; what a delivery claims
 * only narrows the choice. Pure.
 */
import type { Connection } from '../model/connection';

export interface Claim {
  /** The connection that last read it. */
  connectionId: string | null;
  /** The connection whose listing has shown it since. */
  shownBy?: string | null;
  /** The owner as known; null when unknown. */
  organizationId: string | null;
  /** The user whose subscription sent the hint; one whom nobody had named is called by the connection's id. */
  hintedUser: string | null;
  /** What the delivery says the owner is. */
  hintedOrganizationId: string | null;
}

/**
 * The valid connections that may read it, and the first of them is to: who was shown it in another organization, who read it
 * last, who was shown it since, the hinted user's, whoever else sees the owner. Each costs one look at all connections, when
 * it is asked for: mostly only the first is.
 */
export function* readersOf(
  claim: Claim,
  connections: readonly Connection[],
  sees: (connectionId: string) => ReadonlySet<string>,
): Generator<Connection, undefined> {
  const placeOf = placesFor(claim, connections, sees);
  const given: Connection[] = [];
  for (;;) {
    const next = firstOf(connections, given, placeOf);
    if (next === undefined) return;
    given.push(next);
    yield next;
  }
}

/** The place of who may not read it: a small number, since the engine takes four times as long to compare infinity. */
const nobody = 5;

/** Of those that are not given yet. */
function firstOf(
  connections: readonly Connection[],
  given: readonly Connection[],
  placeOf: (one: Connection) => number,
): Connection | undefined {
  let first: Connection | undefined;
  let firstPlace = nobody;
  for (const one of connections) {
    if (one.status !== 'valid' || given.includes(one)) continue;
    const place = placeOf(one);
    if (place >= firstPlace) continue;
    first = one;
    firstPlace = place;
  }
  return first;
}

/** The place of a valid connection among those that may read it, the lowest first. */
function placesFor(
  { connectionId, shownBy, organizationId, hintedUser, hintedOrganizationId: hinted }: Claim,
  connections: readonly Connection[],
  sees: (connectionId: string) => ReadonlySet<string>,
): (one: Connection) => number {
  const owner = organizationId ?? hinted;
  const seesOwner = (one: Connection) => owner !== null && sees(one.connectionId).has(owner);
  const seesHinted = (one: Connection) => hinted !== null && sees(one.connectionId).has(hinted);
  const isOfUser = (one: Connection) => one.user === hintedUser || one.connectionId === hintedUser;
  // The known user's own connection also reads what no listing has shown yet, such as an organization connected since;
  // the document is still compared with what the connection sees. Nobody else's does: a payload's claim would choose it.
  if (organizationId === null && hintedUser !== null) {
    return (one) => {
      if (one.connectionId === connectionId) return 0;
      if (!isOfUser(one)) return nobody;
      return seesOwner(one) ? 1 : 2;
    };
  }
  // A listing keeps with what it shows as another organization's which one that is; a delivery alone has no `shownBy`.
  const isElsewhere = organizationId !== null && hinted !== null && hinted !== organizationId;
  const kept = isElsewhere ? connections.find((one) => one.connectionId === connectionId) : undefined;
  const isMoved = isElsewhere && !(kept?.status === 'valid' && seesHinted(kept));
  return (one) => {
    const isShown = one.connectionId === shownBy;
    if (isMoved && isShown && seesHinted(one)) return 0;
    const isKept = one.connectionId === connectionId;
    if (isKept && organizationId === null) return 1;
    if (!seesOwner(one)) return nobody;
    if (isKept) return 1;
    if (isShown) return 2;
    return isOfUser(one) ? 3 : 4;
  };
}

/** null when no valid connection may read it. */
export function chooseConnection(...of: Parameters<typeof readersOf>): Connection | null {
  return readersOf(...of).next().value ?? null;
}
