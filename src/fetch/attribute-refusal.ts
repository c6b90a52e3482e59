/**
 * What a bare 403 means: neither a customer action nor a reason is named, so the organization is looked at once. A
 * refusal is never laid on an organization that this user does not see.
 */
import type { NoDocument } from '../model/answer';
import type { Connection } from '../model/connection';
import type { Caller } from './caller';
import type { Forbidden } from './classify';
import type { Organizations } from './organizations';

export interface Owner {
  /** null when unknown. */
  organizationId: string | null;
  /** True when it is known from an earlier read; false when only a delivery says so. */
  certain: boolean;
}

/** Costs at most one look at the organization; none when the owner is unknown. */
export async function attributeRefusal(
  forbidden: Forbidden,
  owner: Owner,
  connection: Connection,
  organizations: Organizations,
  caller: Caller,
): Promise<NoDocument> {
  const { connectionId, message, client } = forbidden;
  if (owner.organizationId === null) {
    return { kind: client ? 'client-refused' : 'refused-unattributed', connectionId, message };
  }
  const found = await organizations.find(owner.organizationId, connection, caller);
  if ('answer' in found) return found.answer;
  if (found.organization?.unconnected) {
    return { kind: 'not-connected', actionUrl: found.organization.connectUrl, connectionId };
  }
  if (client) return { kind: 'client-refused', connectionId, message };
  const attributed = owner.certain && found.organization !== null;
  return { kind: attributed ? 'no-access' : 'refused-unattributed', connectionId, message };
}
