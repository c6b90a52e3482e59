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
import type { Callers } from './caller';
import type { Verdict } from './classify';
import { equipmentEmbeds, fieldOperationEmbeds, withEmbeds } from './embed';
import type { EquipmentAddresses } from './equipment-addresses';
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
}

export function makeReadResource(parts: ReadResourceParts): ReadResource {
  const { ask, callers, organizations, relocate, equipment } = parts;

  async function askAt(
    url: URL,
    { identity, connection, operation }: Wanted,
    attempt: Attempt,
  ): Promise<Verdict> {
    const address = url.href;
    const kind = identity?.kind ?? kindAt(url, equipment);
    const asked = isOldRecord(url) ? url : withEmbeds(url, embedsOf[kind]);
    const verdict = await ask({ url: asked, operation: operation ?? kind, connection, address }, attempt);
    if (verdict.kind !== 'ok') return verdict;
    const body = singleDocument(verdict.document.body, identity?.id ?? null);
    if (body !== null)
      return body === verdict.document.body
        ? verdict
        : { ...verdict, document: { ...verdict.document, body } };
    return { kind: 'gone', certain: false, connectionId: connection.connectionId, origin: url.origin };
  }

  /** Not found at its address: asked for where it stands today, before it counts as gone. */
  async function askAgain(gone: Verdict, wanted: Wanted, tried: URL, attempt: Attempt): Promise<Verdict> {
    const identity = wanted.identity ?? identityAt(tried, equipment);
    if (identity === null) return gone;
    const { organizationId } = wanted.owner;
    const located = await relocate(
      { identity, organizationId, tried },
      wanted.connection,
      callers.within(attempt),
    );
    if ('answer' in located) return located.answer;
    return 'absent' in located ? gone : askAt(located.url, { ...wanted, identity }, attempt);
  }

  /** An organization that is no longer listed, or no longer connected, hides its resources: they are not gone. */
  async function confirmGone(
    gone: Answer,
    { owner, connection, url }: Wanted,
    attempt: Attempt,
  ): Promise<Answer> {
    if (owner.organizationId === null || !owner.certain) return gone;
    const found = await organizations.find(owner.organizationId, connection, callers.within(attempt));
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

  return async (wanted, attempt) => {
    const { url, owner, connection } = wanted;
    let verdict = await askAt(url, wanted, attempt);
    if (verdict.kind === 'gone') verdict = await askAgain(verdict, wanted, url, attempt);
    if (verdict.kind === 'gone') return confirmGone(verdict, wanted, attempt);
    if (verdict.kind !== 'forbidden') return verdict;
    return attributeRefusal(verdict, owner, connection, organizations, callers.within(attempt));
  };
}

const embedsOf = { equipment: equipmentEmbeds, 'field-operation': fieldOperationEmbeds };

function kindAt(url: URL, equipment: EquipmentAddresses): ResourceIdentity['kind'] {
  return equipment.holds(url) ? 'equipment' : 'field-operation';
}

/** Records of the machine and implement endpoints know neither embed. */
function isOldRecord(url: URL): boolean {
  return /\/(?:machines|implements)\//i.test(url.pathname);
}

/** The resource that an unknown address most likely means: its last segment is the id. */
function identityAt(url: URL, equipment: EquipmentAddresses): ResourceIdentity | null {
  const id = decodeURIComponent(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
  return id === '' ? null : { kind: kindAt(url, equipment), id };
}
