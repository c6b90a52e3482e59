/**
 * One record by its id, through the connections that may see it: equipment at its fixed address, a field operation where
 * its relationships say that it stands today. What is refused without a reason is laid on a customer who has not
 * connected, where there is one.
 */
import type { Answer } from '../model/answer';
import type { RawFault, RawItem, RawRead } from '../model/provider-data';
import type { ResourceKind } from '../model/resource';
import { Attempt } from './attempt';
import type { Caller, Callers } from './caller';
import type { EquipmentAddresses } from './equipment-addresses';
import type { Gate } from './gate';
import type { ProviderDoors } from './options';
import { type Organizations, organizationsOf } from './organizations';
import { connectionReaches, faultOf, gravest, type Reach } from './reach';
import type { ReadResource } from './read-resource';
import type { Relocate } from './relocate';

export interface RecordParts {
  doors: ProviderDoors;
  gate: Gate;
  callers: Callers;
  organizations: Organizations;
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

interface Read {
  answer: Answer;
  /** Where the record would stand; null where that was not learned. */
  address: string | null;
}

const nobodyNamed = 'the provider does not say which one';

/** Never rejects; each connection that is tried has an attempt of its own. */
export function makeReadRecord(parts: RecordParts): ReadRecord {
  async function readThrough(kind: ResourceKind, id: string, reach: Reach, attempt: Attempt): Promise<Read> {
    const { gate, callers, equipment, catalogUrl, relocate, readResource } = parts;
    const { connection, organizationId } = reach;
    const caller = callers.within(attempt);
    // Only the catalog says which addresses are for authorization.
    const catalog = await caller.catalog(connection, false);
    if ('answer' in catalog) return { answer: catalog.answer, address: null };
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
      if ('answer' in located) return { answer: located.answer, address: null };
      if ('absent' in located) return { answer: gone, address: null };
      return readAt(located.url);
    }
    const address = equipment.record(id);
    const admission = gate.admit(address);
    return admission.admitted ? readAt(admission.url) : { answer: gone, address };

    async function readAt(url: URL): Promise<Read> {
      const answer = await readResource({ url: new URL(url), identity, owner, connection }, attempt);
      if (answer.kind !== 'refused-unattributed') return { answer, address: url.href };
      return { answer: await whoMustConnect(answer, reach, caller), address: url.href };
    }
  }

  /** A refusal names nobody; whose record it is, nobody knows here: a place is named where it is the only one. */
  async function whoMustConnect(refused: Answer, reach: Reach, caller: Caller): Promise<Answer> {
    if (reach.organizationId !== null) return refused;
    const { connection } = reach;
    const places = new Set<string | null>();
    for await (const page of parts.organizations.list(connection, caller)) {
      // Others may stand behind what was not read.
      if (page.partial && places.size > 0) places.add(null);
      if (page.partial) break;
      for (const { unconnected, connectUrl } of organizationsOf(page))
        if (unconnected) places.add(connectUrl);
      if (places.size > 1) break;
    }
    if (places.size === 0) return refused;
    const [place = null] = places;
    const actionUrl = places.size === 1 ? place : null;
    return { kind: 'not-connected', actionUrl, connectionId: connection.connectionId };
  }

  return async (kind, id, organizationId) => {
    const faults: RawFault[] = [];
    for (const reached of connectionReaches(parts.doors, organizationId)) {
      if ('fault' in reached) {
        faults.push(reached.fault);
        continue;
      }
      const attempt = new Attempt(parts.timeoutMs);
      const { answer, address } = await readThrough(kind, id, reached.reach, attempt);
      attempt.end();
      if (answer.kind === 'ok') return { value: answer.document };
      const fault = faultOf(answer, address, organizationId);
      const isNobodys =
        answer.kind === 'not-connected' && answer.actionUrl === null && organizationId === null;
      faults.push(isNobodys ? { ...fault, detail: nobodyNamed } : fault);
    }
    return { fault: gravest(faults) };
  };
}
