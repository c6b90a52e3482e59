/**
 * The event that tells consumers of an organization's access. Pure; both stores write what is made here, so that the same
 * access has the same bytes whichever store decided it.
 */
import { createHash } from 'node:crypto';
import { type Access, type CauseSet, leadingBlock, type Observation } from '../model/organization';
import { keyOf } from '../model/resource';
import type { EventToWrite } from './decided-events';
import type { StoreRules } from './store-rules';

export interface ToldAccess {
  id: string;
  /** null while it is not known. */
  name: string | null;
  epoch: number;
  causes: CauseSet;
  access: Access;
  previousAccess: Access;
  by: Observation['by'];
}

/** Blocked or unblocked; the content is another one in each epoch. */
export function accessEvent(
  { id, name, epoch, causes, access, previousAccess, by }: ToldAccess,
  nowMs: number,
  { catalogAddress, catalogMediaType }: Pick<StoreRules, 'catalogAddress' | 'catalogMediaType'>,
): EventToWrite {
  const block = leadingBlock(causes);
  const observedAt = new Date(nowMs).toISOString();
  const value = JSON.stringify({
    id,
    organizationId: id,
    observedAt,
    source: { address: catalogAddress, mediaType: catalogMediaType },
    ...(name === null ? {} : { name }),
    access,
    previousAccess,
    cause: block?.cause ?? null,
    since: new Date(block?.sinceMs ?? nowMs).toISOString(),
    actionUrl: block?.actionUrl ?? null,
    message: block?.message ?? null,
  });
  return {
    kind: 'organization-access',
    key: keyOf(id, 'organization-access', id),
    change: access === 'active' ? 'unblocked' : 'blocked',
    contentHash: createHash('sha256').update(`${access} ${epoch}`).digest('hex'),
    value,
    observedAt,
    traceparent: null,
    reconciled: by === 'sync',
    taskId: null,
    acceptedAtMs: null,
    cause: `access ${id}/${epoch}`,
  };
}
