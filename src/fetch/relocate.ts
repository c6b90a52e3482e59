/**
 * Where a resource stands now, when it is not found where it stood: addresses other than the catalog's may change at any
 * time. The catalog is read again, and the resource is found by its id through relationships. Only after that may anyone
 * say that it is gone.
 */
import type { NoDocument } from '../model/answer';
import type { Connection } from '../model/connection';
import type { ResourceIdentity } from '../model/resource';
import type { Clock } from '../tools/clock';
import { type AddressPattern, addressOf, believedForMs, patternOf } from './address-pattern';
import type { Caller } from './caller';
import type { EquipmentAddresses } from './equipment-addresses';
import type { Admission, Gate } from './gate';
import { linksOf, operationRels, unreadLinkOf, unreadLinksOf } from './links';
import { type OrganizationSeen, type Organizations, organizationsOf } from './organizations';
import { idOf, type Pages, withoutId } from './pages';
import {
  graver,
  isLocal,
  isWithheld,
  type Unseen,
  unseenAmong,
  unseenAs,
  unseenBehind,
  unseenFor,
  unseenIn,
  unseenItem,
  unsharedAs,
  unsharedOf,
} from './unseen';
import { type Way, waitingAnswer } from './waiting-answer';

export interface Sought {
  identity: ResourceIdentity;
  /** Its owner; null: any organization of the connection is searched. */
  organizationId: string | null;
  /** Where it was not found. */
  tried: URL;
}

/**
 * `absent`: its address of today is the one that was tried, or listings that were read to their ends do not hold it.
 * `withheld`: all that is shown to this user was read, and some is not shared with it or refused to it, or what is listed
 * is not there.
 */
export type Located = { url: URL } | { absent: true } | { answer: NoDocument; withheld?: true };

/**
 * Costs one catalog read, and one walk to the first field operation while no form of their addresses is known. Absence by
 * that form alone counts where the owner has shown what it has: else a walk to the first of its fields that does.
 */
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
  /** What each organization showed of its operations in the last minute, a page at most. */
  shown: Map<string, Shown>;
}

interface Shown {
  atMs: number;
  ids: ReadonlySet<string | null>;
}

export function makeRelocate(parts: RelocateParts): Relocate {
  const { gate, equipment, clock } = parts;
  const learned = new Map<string, Learned>();

  function locatedAt(url: URL, { tried }: Sought): Located {
    return url.href === tried.href ? { absent: true } : { url };
  }

  /** Where it stands if it stands as another one does; null where that may not be asked. */
  function locatedBy(pattern: AddressPattern, sought: Sought): Located | null {
    const admission = gate.admit(addressOf(pattern, sought.identity.id));
    return admission.admitted ? locatedAt(admission.url, sought) : null;
  }

  function isRecent(atMs: number): boolean {
    return clock.nowMs() - atMs < believedForMs;
  }

  function noteShown(shown: Learned['shown'], organizationId: string, ids: Shown['ids']): void {
    for (const [id, { atMs }] of shown) if (!isRecent(atMs)) shown.delete(id);
    shown.set(organizationId, { atMs: clock.nowMs(), ids });
  }

  /** `absentByForm`: the form of addresses says so; it ends at the first field that shows what it has. */
  async function walk(
    { version, absentByForm }: { version: number; absentByForm: boolean },
    sought: Sought,
    connection: Connection,
    caller: Caller,
  ): Promise<Located> {
    const { connectionId } = connection;
    const way: Way = { code: 'relocation-incomplete', origin: parts.catalogOrigin, connectionId };
    const look = { parts, connection, caller, way };
    for await (const step of operationsOf(sought.organizationId, look)) {
      if ('answer' in step) return { answer: step.answer, ...(isWithheld(step) && { withheld: true }) };
      if ('empty' in step) {
        if (!absentByForm) continue;
        const known = learned.get(connectionId);
        if (known !== undefined) noteShown(known.shown, step.empty, new Set());
        return { absent: true };
      }
      const self = linksOf(step.item).get('self');
      const admission = gate.admit(self);
      const pattern = admission.admitted ? patternOf(self, step.id, step.owners) : null;
      if (pattern !== null) {
        const { shown = new Map() } = learned.get(connectionId) ?? {};
        learned.set(connectionId, { version, learnedAtMs: clock.nowMs(), pattern, shown });
        noteShown(shown, step.owners[0], step.ids);
      }
      if (step.id === sought.identity.id) return listedAt(admission, step.item, sought, way);
      // On a page that holds it, its own entry says where it stands.
      if (pattern === null || step.ids.has(sought.identity.id)) continue;
      const located = locatedBy(pattern, sought);
      if (located !== null) return located;
    }
    return { absent: true };
  }

  return async (sought, connection, caller) => {
    const { kind, id } = sought.identity;
    const result = await caller.catalog(connection, true);
    if ('answer' in result) return result;
    if (kind === 'equipment') return locatedAt(new URL(equipment.record(id)), sought);
    const { version } = result.catalog;
    const known = learned.get(connection.connectionId);
    const believed = known?.version === version && isRecent(known.learnedAtMs);
    const located = believed ? locatedBy(known.pattern, sought) : null;
    const { organizationId } = sought;
    // What a user is not shown any more is not found at its address either, however well the form of addresses is known.
    const shown = organizationId === null ? null : known?.shown.get(organizationId);
    const missed = shown === null || (shown !== undefined && isRecent(shown.atMs) && !shown.ids.has(id));
    if (located !== null && ('url' in located || missed)) return located;
    return walk({ version, absentByForm: located !== null }, sought, connection, caller);
  };
}

/** What its own entry says of where it stands. */
function listedAt(admission: Admission, item: unknown, { tried }: Sought, way: Way): Located {
  if (!admission.admitted) return unseenItem(item, admission.detail, way);
  if (admission.url.href !== tried.href) return { url: admission.url };
  // List and address speak against each other: the one that is behind will follow.
  const detail = 'it is listed at the address that answered as if it were gone';
  return { answer: waitingAnswer(way, detail), withheld: true };
}

interface Operation {
  id: string;
  /** As listed. */
  item: unknown;
  /** Ids that its address may carry and another operation's may not. */
  owners: [organizationId: string, fieldId: string];
  /** Of all that its page holds. */
  ids: Shown['ids'];
}

/** A field of this organization that was shown, whose list was read to its end and holds nothing. */
interface Empty {
  empty: string;
}

type Step = Operation | Empty | Unseen;

interface Look {
  parts: RelocateParts;
  connection: Connection;
  caller: Caller;
  way: Way;
}

/** Field operations through organizations and fields. An `answer` comes last when not all of them could be seen. */
async function* operationsOf(organizationId: string | null, look: Look): AsyncGenerator<Step, void> {
  const { parts, connection, caller, way } = look;
  const { organizations } = parts;
  if (organizationId !== null) {
    const found = await organizations.find(organizationId, connection, caller);
    if ('answer' in found) return yield unseenFor(found.answer);
    if (found.organization !== null) yield* operationsOfOrganization(found.organization, look, true);
    return;
  }
  let unseen: Unseen | null = null;
  for await (const page of organizations.list(connection, caller)) {
    if (page.partial) return yield unseenBehind(page, way);
    unseen = graver(unseen, unseenAmong(page, way));
    for (const organization of organizationsOf(page)) {
      for await (const step of operationsOfOrganization(organization, look)) {
        if ('answer' in step && !isLocal(step.answer)) return yield step;
        // An organization that is closed to us hides its operations, not those of the others.
        if ('answer' in step) unseen = graver(unseen, unseenIn(organization.id, step, way));
        else yield step;
      }
    }
  }
  if (unseen !== null) yield unseen;
}

/** `owned`: what is looked for is this organization's. */
async function* operationsOfOrganization(
  organization: OrganizationSeen,
  look: Look,
  owned = false,
): AsyncGenerator<Step, void> {
  const first = organization.links.get('fields');
  if (first === undefined) {
    const unshared = unsharedOf(organization, ['fields'], look.way);
    if (unshared !== null) yield unshared;
    return;
  }
  let unseen: Unseen | null = null;
  let [fields, shown] = [0, 0];
  for await (const page of pagesOf(first, look)) {
    if (page.partial) return yield unseenBehind(page, look.way);
    for (const field of page.values) {
      fields += 1;
      if (operationRels.some((rel) => linksOf(field).has(rel))) shown += 1;
      for await (const step of operationsOfField(field, organization.id, look)) {
        if ('answer' in step && step.failed) return yield step;
        // What one field does not show may stand in another.
        if ('answer' in step) unseen ??= step;
        else yield step;
      }
    }
  }
  // One field may have none; where none has any, and one of the organization is missed, they may not be shared.
  if (owned && fields > 0 && shown === 0) {
    const expected = `expected a field with a link to \`${operationRels[0]}\``;
    const detail = `organization ${organization.id}: ${expected}, got none among ${fields}`;
    unseen = graver(unseen, unsharedAs(detail, look.way));
  }
  if (unseen !== null) yield unseen;
}

async function* operationsOfField(
  field: unknown,
  organizationId: string,
  look: Look,
): AsyncGenerator<Step, void> {
  const { way } = look;
  const links = linksOf(field);
  const rel = operationRels.find((name) => links.has(name));
  if (rel === undefined) {
    const id = idOf(field);
    const unread = id === null ? withoutId(field) : unreadLinkOf(unreadLinksOf(field), operationRels);
    // A field without the relationship has no operations.
    if (unread !== null) yield unseenAs(`a field: ${unread}`, way);
    return;
  }
  const owners: Operation['owners'] = [organizationId, idOf(field) ?? ''];
  let unseen: Unseen | null = null;
  let empty = true;
  for await (const page of pagesOf(links.get(rel) as string, look)) {
    // Where the list of one field is not found, those of others may be: it may have moved once more.
    if (page.partial)
      return yield { ...unseenBehind(page, way), ...(page.verdict?.kind === 'gone' && { failed: false }) };
    unseen ??= unseenAmong(page, way);
    empty &&= page.values.length === 0 && unseen === null;
    const ids = new Set(page.values.map(idOf));
    for (const item of page.values) {
      const id = idOf(item);
      if (id !== null) yield { id, item, owners, ids };
    }
  }
  if (empty) yield { empty: organizationId };
  if (unseen !== null) yield unseen;
}

function pagesOf(first: string, { parts, connection, caller }: Look) {
  return parts.pages({ first, operation: 'relocation', connection, call: caller.call });
}
