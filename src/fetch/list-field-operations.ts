/**
 * Field operations, which the provider lists per field only: through the organization's fields and each field's own
 * relationship, with what was measured.
 */
import type { FieldOperationFilter, RawFault, RawItem, RawListed } from '../model/provider-data';
import type { Caller } from './caller';
import { fieldOperationEmbeds } from './embed';
import { followMoves } from './follow-moves';
import { linksOf, operationRels, unreadLinkOf, unreadLinksOf } from './links';
import type { ProviderDoors } from './options';
import type { OrganizationSeen } from './organizations';
import { idOf, withoutId } from './pages';
import { itemsOf, type ListParts, openedOf, organizationReaches, type Reach, unlinked } from './reach';
import { makeShownIds } from './shown-ids';

export interface FieldOperationParts extends ListParts {
  doors: ProviderDoors;
}

/** Never throws; holds one page of fields and one of operations. Of each 100,000 ids are remembered to tell a repeat. */
export async function* listFieldOperations(
  parts: FieldOperationParts,
  { organizationId, fieldId }: FieldOperationFilter,
  caller: Caller,
): AsyncGenerator<RawListed> {
  let fieldSeen = false;
  // Of what could not be looked at to its end nothing is known: not that the field is not there.
  let [looked, all] = [0, 0];
  for (const reached of organizationReaches(parts.doors, organizationId === null ? [] : [organizationId])) {
    all += 1;
    if ('fault' in reached) {
      yield reached;
      continue;
    }
    const { reach } = reached;
    let whole = true;
    // A list may shift between its pages, lead back into itself, or be begun anew.
    const isNew = makeShownIds();
    for await (const line of followMoves(() => ofReach(parts, fieldId, reach, caller), makeMoved())) {
      if ('field' in line) {
        fieldSeen = true;
        continue;
      }
      if (!isNew(nameOf(line))) continue;
      whole &&= !('fault' in line);
      yield line;
    }
    if (whole) looked += 1;
  }
  if (fieldId === null || fieldSeen || looked === 0) return;
  const those = looked === all ? 'is looked at' : 'could be looked at to its end';
  const detail = `no organization that ${those} has a field ${fieldId}`;
  yield { fault: { answer: { kind: 'no-connection', detail }, detail, address: null, organizationId } };
}

/** null for what cannot be told from another. */
function nameOf(line: RawListed): string | null {
  return 'item' in line ? idOf(line.item.body) : `${line.fault.detail} at ${line.fault.address}`;
}

/** What is not there where it is still said to be has not moved. */
function makeMoved(): (line: Line) => boolean {
  const notThere = new Set<string | null>();
  return (line) => {
    if (!('fault' in line) || line.fault.answer?.kind !== 'gone') return false;
    const isNews = !notThere.has(line.fault.address);
    notThere.add(line.fault.address);
    return isNews;
  };
}

/** Whether the wanted field was met is said as a line of its own. */
type Line = RawListed | { field: true };

/** From the organization as it is listed today. */
async function* ofReach(
  parts: FieldOperationParts,
  fieldId: string | null,
  reach: Reach,
  caller: Caller,
): AsyncGenerator<Line> {
  const found = await parts.organizations.find(reach.organizationId as string, reach.connection, caller);
  const opened = openedOf(found, reach);
  if ('fault' in opened) yield opened;
  else yield* ofOrganization(parts, opened.value, fieldId, reach, caller);
}

async function* ofOrganization(
  parts: FieldOperationParts,
  organization: OrganizationSeen,
  fieldId: string | null,
  reach: Reach,
  caller: Caller,
): AsyncGenerator<Line> {
  const first = organization.links.get('fields');
  if (first === undefined) {
    const address = organization.links.get('self') ?? null;
    return yield { fault: unlinked(reach, address, ['fields'], organization.unread) };
  }
  const isNewField = makeShownIds();
  const fields = { first, operation: 'field-operations', reach, caller, embeds: [] } as const;
  for await (const line of itemsOf(parts, fields)) {
    if ('fault' in line) {
      yield line;
      continue;
    }
    const id = idOf(line.item.body);
    const links = linksOf(line.item.body);
    // What names nothing may be the field that is looked for, or have operations.
    if (id === null && (fieldId !== null || !operationRels.some((name) => links.has(name)))) {
      yield { fault: malformedField(line.item, reach) };
      continue;
    }
    if ((fieldId !== null && id !== fieldId) || !isNewField(id)) continue;
    yield { field: true };
    const rel = operationRels.find((name) => links.has(name));
    if (rel === undefined) {
      // A field without the relationship has no operations.
      const unread = unreadLinksOf(line.item.body);
      if (unreadLinkOf(unread, operationRels) !== null)
        yield { fault: unlinked(reach, line.item.address, operationRels, unread) };
      continue;
    }
    const operations = { ...fields, first: links.get(rel) as string, embeds: fieldOperationEmbeds };
    yield* itemsOf(parts, operations);
  }
}

function malformedField({ body, address }: RawItem, { organizationId }: Reach): RawFault {
  return { answer: null, detail: `a field: ${withoutId(body)} (malformed-entry)`, address, organizationId };
}
