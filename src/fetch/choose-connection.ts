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
 * last, who was shown it since, the hinted user's, whoever else sees the owner. Bounded by the connections that there are.
 */
export function readersOf(
  { connectionId, shownBy, organizationId, hintedUser, hintedOrganizationId: hinted }: Claim,
  connections: readonly Connection[],
  sees: (connectionId: string) => ReadonlySet<string>,
): Connection[] {
  const valid = connections.filter(({ status }) => status === 'valid');
  const seeing = (id: string | null) => valid.filter((one) => id !== null && sees(one.connectionId).has(id));
  const isKept = (one: Connection) => one.connectionId === connectionId;
  const isShown = (one: Connection) => one.connectionId === shownBy;
  const isOfUser = (one: Connection) => one.user === hintedUser || one.connectionId === hintedUser;
  // The known user's own connection also reads what no listing has shown yet, such as an organization connected since;
  // the document is still compared with what the connection sees. Nobody else's does: a payload's claim would choose it.
  if (organizationId === null && hintedUser !== null)
    return eachOnce(valid.filter(isKept), seeing(hinted).filter(isOfUser), valid.filter(isOfUser));
  const owners = seeing(organizationId ?? hinted);
  const kept = (organizationId === null ? valid : owners).filter(isKept);
  // A listing keeps with what it shows as another organization's which one that is; a delivery alone has no `shownBy`.
  const isMoved = organizationId !== null && hinted !== organizationId && !seeing(hinted).some(isKept);
  const moved = isMoved ? seeing(hinted).filter(isShown) : [];
  return eachOnce(moved, kept, owners.filter(isShown), owners.filter(isOfUser), owners);
}

function eachOnce(...preferred: Connection[][]): Connection[] {
  return [...new Set(preferred.flat())];
}

/** null when no valid connection may read it. */
export function chooseConnection(...of: Parameters<typeof readersOf>): Connection | null {
  return readersOf(...of)[0] ?? null;
}
