/**
 * One resource at one address, through one connection, to its answer: asked for with what belongs to it, found again
 * when it has moved, and a refusal laid where it belongs.
 */
import type { Answer } from '../model/answer';
import type { Connection } from '../model/connection';
import type { ResourceIdentity } from '../model/resource';
import type { Ask } from './ask';
import type { Attempt } from './attempt';
import { attributeRefusal, type Owner } from './attribute-refusal';
import type { Caller, Callers } from './caller';
import type { Verdict } from './classify';
import { equipmentEmbeds, fieldOperationEmbeds, oldEquipmentEmbeds, withEmbeds } from './embed';
import type { EquipmentAddresses } from './equipment-addresses';
import { isOldRecord, type OldEquipment } from './old-equipment';
import type { Operation } from './options';
import type { Organizations } from './organizations';
import type { Relocate } from './relocate';
import { singleDocument } from './single-document';
import { type Way, waitingAnswer } from './waiting-answer';

export interface Wanted {
  /** Admitted by the gate; it may be changed here. */
  url: URL;
  /** null when it is not known yet which resource stands there. */
  identity: ResourceIdentity | null;
  owner: Owner;
  connection: Connection;
  /** Counted as this; by default after the kind of resource. */
  operation?: Operation;
}

/** Never rejects; all its calls share the attempt. */
export type ReadResource = (wanted: Wanted, attempt: Attempt) => Promise<Answer>;

export interface ReadResourceParts {
  ask: Ask;
  callers: Callers;
  organizations: Organizations;
  relocate: Relocate;
  equipment: EquipmentAddresses;
  /** null: only the equipment API is asked. */
  oldEquipment: OldEquipment | null;
}

export function makeReadResource(parts: ReadResourceParts): ReadResource {
  const { ask, callers, organizations, relocate, equipment, oldEquipment } = parts;

  async function askAt(
    url: URL,
    { identity, connection, operation }: Wanted,
    attempt: Attempt,
  ): Promise<Verdict> {
    const address = url.href;
    const kind = identity?.kind ?? kindAt(url, equipment);
    const old = isOldRecord(url);
    const plain = old ? new URL(url) : url;
    const asked = withEmbeds(url, old ? oldEquipmentEmbeds : embedsOf[kind]);
    const question = { url: asked, operation: operation ?? kind, connection, address };
    let verdict = await ask(question, attempt);
    // Not all of the older endpoints know what is asked for beside the record.
    if (old && verdict.kind === 'refused') verdict = await ask({ ...question, url: plain }, attempt);
    if (verdict.kind !== 'ok') return verdict;
    const body = singleDocument(verdict.document.body, identity?.id ?? null);
    if (body !== null)
      return body === verdict.document.body
        ? verdict
        : { ...verdict, document: { ...verdict.document, body } };
    return { kind: 'gone', certain: false, connectionId: connection.connectionId, origin: url.origin };
  }

  const askOld = (id: string, wanted: Wanted, attempt: Attempt, tried: URL | null) =>
    askOldPlaces(parts, { id, wanted, tried }, attempt, (url) => askAt(url, wanted, attempt));

  /** In the equipment API, unless the older endpoints are to be asked first; where the one has it not, in the other. */
  async function askFirst(wanted: Wanted, attempt: Attempt): Promise<Verdict> {
    const { url, identity } = wanted;
    const old = isOldRecord(url);
    const elsewhere = old ? oldEquipment === null : equipment.holds(url) && oldEquipment !== null;
    const id = elsewhere ? (identity?.id ?? identityAt(url, equipment)?.id) : undefined;
    if (id === undefined) return askAt(url, wanted, attempt);
    const verdict = old
      ? await askAt(new URL(equipment.record(id)), wanted, attempt)
      : await askOld(id, wanted, attempt, null);
    return verdict.kind === 'gone' ? askAt(url, wanted, attempt) : verdict;
  }

  /** Not found at its address: asked for where it stands today, before it counts as gone. */
  async function askAgain(gone: Verdict, wanted: Wanted, tried: URL, attempt: Attempt): Promise<Verdict> {
    const identity = wanted.identity ?? identityAt(tried, equipment);
    if (identity === null) return gone;
    const old = isOldRecord(tried) ? await askOld(identity.id, wanted, attempt, tried) : gone;
    if (old.kind !== 'gone') return old;
    const { organizationId } = wanted.owner;
    const located = await relocate(
      { identity, organizationId, tried },
      wanted.connection,
      callers.within(attempt),
    );
    if ('answer' in located) return located.answer;
    return 'absent' in located ? gone : askAt(located.url, { ...wanted, identity }, attempt);
  }

  return async (wanted, attempt) => {
    const { url, owner, connection } = wanted;
    const caller = callers.within(attempt);
    let verdict = await askFirst(wanted, attempt);
    if (verdict.kind === 'gone') verdict = await askAgain(verdict, wanted, url, attempt);
    if (verdict.kind === 'gone') return confirmGone(verdict, wanted, organizations, caller);
    if (verdict.kind !== 'forbidden') return verdict;
    return attributeRefusal(verdict, owner, connection, organizations, caller);
  };
}

/** Equipment where the older endpoints have it; gone when they do not, or are not to be asked. */
async function askOldPlaces(
  { oldEquipment, callers }: ReadResourceParts,
  { id, wanted, tried }: { id: string; wanted: Wanted; tried: URL | null },
  attempt: Attempt,
  askAt: (url: URL) => Promise<Verdict>,
): Promise<Verdict> {
  const { connectionId } = wanted.connection;
  const gone: Verdict = { kind: 'gone', certain: false, connectionId, origin: wanted.url.origin };
  if (oldEquipment === null) return gone;
  const { organizationId } = wanted.owner;
  const sought = { id, organizationId, fresh: tried !== null };
  const located = await oldEquipment.places(sought, wanted.connection, callers.within(attempt));
  if ('answer' in located) return located.answer;
  for (const url of located.urls) {
    if (url.pathname === tried?.pathname) continue;
    const verdict = await askAt(url);
    if (verdict.kind !== 'gone') return verdict;
  }
  return gone;
}

/** An organization that is no longer listed, or no longer connected, hides its resources: they are not gone. */
async function confirmGone(
  gone: Answer,
  { owner, connection, url }: Wanted,
  organizations: Organizations,
  caller: Caller,
): Promise<Answer> {
  if (owner.organizationId === null || !owner.certain) return gone;
  const found = await organizations.find(owner.organizationId, connection, caller);
  if ('answer' in found) return found.answer;
  const { organization } = found;
  const { connectionId } = connection;
  if (organization?.unconnected) {
    return { kind: 'not-connected', actionUrl: organization.connectUrl, connectionId };
  }
  if (organization !== null) return gone;
  const way: Way = { code: 'organization-unavailable', origin: url.origin, connectionId };
  return waitingAnswer(way, 'the organization is not listed to this user');
}

const embedsOf = { equipment: equipmentEmbeds, 'field-operation': fieldOperationEmbeds };

function kindAt(url: URL, equipment: EquipmentAddresses): ResourceIdentity['kind'] {
  return equipment.holds(url) || isOldRecord(url) ? 'equipment' : 'field-operation';
}

/** The resource that an unknown address most likely means: its last segment is the id. */
function identityAt(url: URL, equipment: EquipmentAddresses): ResourceIdentity | null {
  const last = decodeURIComponent(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
  // A list that is asked for one id names one resource.
  const [id = ''] = url.searchParams.has('ids') ? (url.searchParams.get('ids') ?? '').split(',') : [last];
  return id === '' ? null : { kind: kindAt(url, equipment), id };
}
