/**
 * Where a resource stands now, when it is not found where it stood: addresses other than the catalog's may change at any
 * time. The catalog is read again, and the resource is found by its id through relationships. Only after that may anyone
 * say that it is gone.
 */
import type { Answer } from '../model/answer';
import type { Connection } from '../model/connection';
import type { ResourceIdentity } from '../model/resource';
import type { Clock } from '../tools/clock';
import { type AddressPattern, addressOf, patternOf } from './address-pattern';
import type { Caller } from './caller';
import type { EquipmentAddresses } from './equipment-addresses';
import type { Gate } from './gate';
import { linksOf, unreadLinkOf, unreadLinksOf } from './links';
import { type OrganizationSeen, type Organizations, organizationsOf } from './organizations';
import { type Pages, type PartialEnd, partialDetail } from './pages';
import { answerOnTheWay, type Way, waitingAnswer } from './waiting-answer';

export interface Sought {
  identity: ResourceIdentity;
  /** Its owner; null: any organization of the connection is searched. */
  organizationId: string | null;
  /** Where it was not found. */
  tried: URL;
}

/** `absent`: its address of today is the one that was tried, or no listing holds it. */
export type Located = { url: URL } | { absent: true } | { answer: Answer };

/** Costs one catalog read, and one walk to the first field operation while no form of their addresses is known. */
export type Relocate = (sought: Sought, connection: Connection, caller: Caller) => Promise<Located>;

export interface RelocateParts {
  gate: Gate;
  pages: Pages;
  organizations: Organizations;
  equipment: EquipmentAddresses;
  catalogOrigin: string;
  clock: Clock;
}

interface Learned {
  version: number;
  learnedAtMs: number;
  pattern: AddressPattern;
}

/** Addresses may move without the catalog changing: what was learned is believed for this long only. */
const believedForMs = 60_000;
const operationRels = ['fieldOperations', 'fieldOperation'];

export function makeRelocate(parts: RelocateParts): Relocate {
  const { gate, equipment, clock } = parts;
  const learned = new Map<string, Learned>();

  function locatedAt(address: string, { tried }: Sought): Located {
    const admission = gate.admit(address);
    if (!admission.admitted) return { absent: true };
    const { url } = admission;
    return url.origin === tried.origin && url.pathname === tried.pathname ? { absent: true } : { url };
  }

  async function walk(
    sought: Sought,
    connection: Connection,
    caller: Caller,
    version: number,
  ): Promise<Located> {
    const { id } = sought.identity;
    for await (const step of operationsOf(parts, sought.organizationId, connection, caller)) {
      if ('answer' in step) return step;
      const pattern = patternOf(step.self, step.id, step.owners);
      if (pattern !== null) {
        learned.set(connection.connectionId, { version, learnedAtMs: clock.nowMs(), pattern });
        return locatedAt(addressOf(pattern, id), sought);
      }
      if (step.id === id && step.self !== undefined) return locatedAt(step.self, sought);
    }
    return { absent: true };
  }

  return async (sought, connection, caller) => {
    const { kind, id } = sought.identity;
    const result = await caller.catalog(connection, true);
    if ('answer' in result) return result;
    if (kind === 'equipment') return locatedAt(equipment.record(id), sought);
    const { version } = result.catalog;
    const known = learned.get(connection.connectionId);
    if (known?.version === version && clock.nowMs() - known.learnedAtMs < believedForMs) {
      return locatedAt(addressOf(known.pattern, id), sought);
    }
    return walk(sought, connection, caller, version);
  };
}

interface Operation {
  id: string;
  self: string | undefined;
  /** Ids that its address may carry and another operation's may not. */
  owners: string[];
}

type Step = Operation | { answer: Answer };

/** Field operations through organizations and fields. An `answer` comes last when not all of them could be seen. */
async function* operationsOf(
  parts: RelocateParts,
  organizationId: string | null,
  connection: Connection,
  caller: Caller,
): AsyncGenerator<Step, void> {
  const { organizations, catalogOrigin } = parts;
  const way: Way = {
    code: 'relocation-incomplete',
    origin: catalogOrigin,
    connectionId: connection.connectionId,
  };
  const look = { parts, connection, caller, way };
  if (organizationId !== null) {
    const found = await organizations.find(organizationId, connection, caller);
    if ('answer' in found) return yield found;
    if (found.organization !== null) yield* operationsOfOrganization(found.organization, look);
    return;
  }
  let unseen: Step | null = null;
  for await (const page of organizations.list(connection, caller)) {
    if (page.partial) return yield ended(page, way);
    for (const organization of organizationsOf(page.values)) {
      for await (const step of operationsOfOrganization(organization, look)) {
        if ('answer' in step && !isLocal(step.answer)) return yield step;
        // An organization that is closed to us hides its operations, not those of the others.
        if ('answer' in step) unseen = step;
        else yield step;
      }
    }
  }
  if (unseen !== null) yield { answer: waitingAnswer(way, 'some organizations are closed') };
}

interface Look {
  parts: RelocateParts;
  connection: Connection;
  caller: Caller;
  way: Way;
}

async function* operationsOfOrganization(
  organization: OrganizationSeen,
  look: Look,
): AsyncGenerator<Step, void> {
  const first = organization.links.get('fields');
  if (first === undefined) {
    const unread = unreadLinkOf(organization.unread, ['fields']);
    if (unread !== null) yield { answer: waitingAnswer(look.way, unread) };
    return;
  }
  for await (const page of pagesOf(first, look)) {
    if (page.partial) return yield ended(page, look.way);
    for (const field of page.values) {
      const links = linksOf(field);
      const rel = operationRels.find((name) => links.has(name));
      if (rel === undefined) {
        const unread = unreadLinkOf(unreadLinksOf(field), operationRels);
        if (unread !== null) return yield { answer: waitingAnswer(look.way, unread) };
        continue;
      }
      const owners = [organization.id, idOf(field) ?? ''];
      for await (const listed of pagesOf(links.get(rel) as string, look)) {
        // A field that vanished meanwhile took its operations along.
        if (listed.partial && listed.verdict?.kind === 'gone') break;
        if (listed.partial) return yield ended(listed, look.way);
        for (const item of listed.values) {
          const id = idOf(item);
          if (id !== null) yield { id, self: linksOf(item).get('self'), owners };
        }
      }
    }
  }
}

function pagesOf(first: string, { parts, connection, caller }: Look) {
  return parts.pages({ first, operation: 'relocation', connection, call: caller.call });
}

function ended(page: PartialEnd, way: Way): { answer: Answer } {
  const { verdict } = page;
  return {
    answer: verdict === null ? waitingAnswer(way, partialDetail(page)) : answerOnTheWay(verdict, way),
  };
}

/** A failure of one organization alone. */
function isLocal(answer: Answer): boolean {
  return (
    answer.kind === 'action-required' ||
    (answer.kind === 'transient' && answer.code === 'relocation-incomplete')
  );
}

function idOf(item: unknown): string | null {
  if (typeof item !== 'object' || item === null) return null;
  const { id } = item as { id?: unknown };
  return (typeof id === 'string' && id !== '') || typeof id === 'number' ? String(id) : null;
}
