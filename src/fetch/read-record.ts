/**
 * One record by its id, through the connections that may see it: equipment at its fixed address, a field operation where
 * its relationships say that it stands today.
 */
import type { Answer } from '../model/answer';
import type { RawFault, RawItem, RawRead } from '../model/provider-data';
import type { ResourceKind } from '../model/resource';
import { Attempt } from './attempt';
import type { Callers } from './caller';
import type { EquipmentAddresses } from './equipment-addresses';
import type { Gate } from './gate';
import type { ProviderDoors } from './options';
import { connectionReaches, faultOf, gravest, type Reach } from './reach';
import type { ReadResource } from './read-resource';
import type { Relocate } from './relocate';

export interface RecordParts {
  doors: ProviderDoors;
  gate: Gate;
  callers: Callers;
  equipment: EquipmentAddresses;
  catalogUrl: URL;
  relocate: Relocate;
  readResource: ReadResource;
  timeoutMs: number;
}

export type ReadRecord = (
  kind: ResourceKind,
  id: string,
  organizationId: string | null,
) => Promise<RawRead<RawItem>>;

/** Never rejects; each connection that is tried has an attempt of its own. */
export function makeReadRecord(parts: RecordParts): ReadRecord {
  async function readThrough(
    kind: ResourceKind,
    id: string,
    reach: Reach,
    attempt: Attempt,
  ): Promise<Answer> {
    const { gate, callers, equipment, catalogUrl, relocate, readResource } = parts;
    const { connection, organizationId } = reach;
    const caller = callers.within(attempt);
    // Only the catalog says which addresses are for authorization.
    const catalog = await caller.catalog(connection, false);
    if ('answer' in catalog) return catalog.answer;
    const identity = { kind, id };
    const owner = { organizationId, certain: false };
    const gone: Answer = {
      kind: 'gone',
      certain: false,
      connectionId: connection.connectionId,
      origin: catalogUrl.origin,
    };
    if (kind === 'field-operation') {
      const located = await relocate({ identity, organizationId, tried: catalogUrl }, connection, caller);
      if ('answer' in located) return located.answer;
      if ('absent' in located) return gone;
      return readResource({ url: located.url, identity, owner, connection }, attempt);
    }
    const admission = gate.admit(equipment.record(id));
    if (!admission.admitted) return gone;
    return readResource({ url: admission.url, identity, owner, connection }, attempt);
  }

  return async (kind, id, organizationId) => {
    const faults: RawFault[] = [];
    for (const reached of connectionReaches(parts.doors, organizationId)) {
      if ('fault' in reached) {
        faults.push(reached.fault);
        continue;
      }
      const attempt = new Attempt(parts.timeoutMs);
      const answer = await readThrough(kind, id, reached.reach, attempt);
      attempt.end();
      if (answer.kind === 'ok') return { value: answer.document };
      faults.push(faultOf(answer, null, organizationId));
    }
    return { fault: gravest(faults) };
  };
}
