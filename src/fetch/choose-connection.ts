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
  /** Since when it was not found; null when it was. */
  absentSinceMs?: number | null;
  /** The owner as known; null when unknown. */
  organizationId: string | null;
  /** The user whose subscription sent the hint; one whom nobody had named is called by the connection's id. */
  hintedUser: string | null;
  /** What the delivery says the owner is. */
  hintedOrganizationId: string | null;
}

/**
 * The sticky connection while it is valid and sees the owner; else, of those that see the owner, the one that has shown it
 * since, then the hinted user's. What the sticky one did not find is read by the one that has shown it since, and so is what
 * that one showed in an organization that the sticky one does not see. Where no owner is known the hinted user's alone, and
 * any that sees the claimed owner only where no user is known either. null when no valid connection may read it.
 */
export function chooseConnection(
  claim: Claim,
  connections: readonly Connection[],
  sees: (connectionId: string) => ReadonlySet<string>,
): Connection | null {
  const { connectionId, organizationId, hintedUser, hintedOrganizationId } = claim;
  const newOwners = readerOfMoved(claim, connections, sees);
  if (newOwners !== null) return newOwners;
  let ofUser: Connection | null = null;
  let ofUserSeeing: Connection | null = null;
  let seeing: Connection | null = null;
  let shown: Connection | null = null;
  let sticky: Connection | null = null;
  const owner = organizationId ?? hintedOrganizationId;
  for (const connection of connections) {
    if (connection.status !== 'valid') continue;
    const seesOwner = owner !== null && sees(connection.connectionId).has(owner);
    if (connection.connectionId === connectionId && (organizationId === null || seesOwner))
      sticky = connection;
    if (seesOwner) seeing ??= connection;
    if (seesOwner && connection.connectionId === claim.shownBy) shown = connection;
    if (hintedUser === null) continue;
    if (connection.user !== hintedUser && connection.connectionId !== hintedUser) continue;
    ofUser ??= connection;
    if (seesOwner) ofUserSeeing ??= connection;
  }
  const absent = (claim.absentSinceMs ?? null) !== null;
  if (sticky !== null) return (absent ? shown : null) ?? sticky;
  // The known user's own connection also reads what no listing has shown yet, such as an organization connected since;
  // the document is still compared with what the connection sees. Nobody else's does: a payload's claim would choose it.
  if (organizationId === null && hintedUser !== null) return ofUserSeeing ?? ofUser;
  return shown ?? ofUserSeeing ?? seeing;
}

/** A listing keeps with what it shows as another organization's which one that is; a delivery alone has no `shownBy`. */
function readerOfMoved(
  { connectionId, shownBy, organizationId, hintedOrganizationId: hinted }: Claim,
  connections: readonly Connection[],
  sees: (connectionId: string) => ReadonlySet<string>,
): Connection | null {
  if (organizationId === null || hinted === null || hinted === organizationId) return null;
  const valid = connections.filter(({ status }) => status === 'valid');
  const seeing = (id: string | null | undefined) =>
    valid.find((one) => one.connectionId === id && sees(one.connectionId).has(hinted)) ?? null;
  return seeing(connectionId) === null ? seeing(shownBy) : null;
}
