/**
 * Listings as a sync reads them: equipment of an organization, its fields, the operations of a field; page by page, from
 * any page on, and only what changed where the provider gives a change token. An item is its body with what its links
 * say; what it means is decided elsewhere.
 */
import { addressBytesMax, isAddressBounded } from '../model/address-bytes';
import type { Answer, NoDocument } from '../model/answer';
import { toldIn } from '../model/answer-words';
import type { Connection } from '../model/connection';
import type { ListingRequest } from '../model/sync';
import type { Caller } from './caller';
import type { Forbidden } from './classify';
import { equipmentEmbeds, fieldOperationEmbeds, withEmbeds } from './embed';
import type { EquipmentAddresses } from './equipment-addresses';
import type { Gate } from './gate';
import { linksOf, operationRels, unreadLinkOf, unreadLinksOf } from './links';
import { asListed, mayHaveEnded, type OldEquipment } from './old-equipment';
import {
  equipmentLimits,
  idOf,
  type Listing,
  noteUnreadable,
  type Pages,
  type PartialEnd,
  type PartialReason,
  partialSentence,
  type Unreadable,
  unreadableSentence,
  withoutId,
} from './pages';

export interface ListedItem {
  /** The provider's id; null when it has none. */
  id: string | null;
  /** Where the resource itself is read; null when nothing says so. */
  address: string | null;
  /** Where the operations of a field are listed; null for what has none. */
  operations: string | null;
  /** A list of changes says that it is not there any more. */
  deleted: boolean;
  /** As parsed; not trusted. */
  body: unknown;
}

export type ListingPage =
  | {
      partial: false;
      /** The reader's own: where it empties them, nothing here holds their documents. */
      items: ListedItem[];
      address: string;
      mediaType: string;
      next: string | null;
      /** As the list says of itself; null when it does not. */
      total: number | null;
      /** For the next time; null when the provider gave none. */
      changeToken: string | null;
    }
  | {
      partial: true;
      reason: PartialReason;
      detail: string;
      /** `not-modified` when nothing changed since the token; null where no call failed. */
      answer: Answer | null;
    };

/** Never throws. A partial page comes last. */
export type ListItems = (
  request: ListingRequest,
  connection: Connection,
  caller: Caller,
) => AsyncGenerator<ListingPage, void>;

export interface ListingParts {
  vendor: string;
  gate: Gate;
  pages: Pages;
  equipment: EquipmentAddresses;
  /** null: equipment is listed by the equipment API. */
  oldEquipment: OldEquipment | null;
}

/** On each page: a link to the next need not repeat them. */
const embedsOf: Record<ListingRequest['of']['what'], readonly string[]> = {
  equipment: equipmentEmbeds,
  fields: [],
  'field-operations': fieldOperationEmbeds,
};

export function makeListItems(parts: ListingParts): ListItems {
  const { vendor, gate, pages, equipment, oldEquipment } = parts;
  const tokenHeader = `x-${vendor.toLowerCase()}-signature`;
  const unpagedHeader = `x-${vendor.toLowerCase()}-no-paging`;

  function firstOf({ of, from }: ListingRequest): string {
    if (from !== null) return from;
    const address = of.what === 'equipment' ? equipment.list(of.organizationId) : of.address;
    return withQuery(address, embedsOf[of.what]);
  }

  /** An address that cannot be parsed stays as it is, for the gate to refuse. */
  function withQuery(address: string, embeds: readonly string[]): string {
    if (embeds.length === 0) return address;
    const admission = gate.admit(address);
    return admission.admitted ? withEmbeds(admission.url, embeds).href : address;
  }

  return async function* list(request, connection, caller) {
    const { of, changeToken, unpaged } = request;
    if (of.what === 'equipment' && oldEquipment !== null) {
      return yield* listOld(parts, oldEquipment, request, connection, caller);
    }
    let received: string | null = null;
    const unpagedHeaders = unpaged ? { [unpagedHeader]: 'true' } : {};
    // A token is of one address, the list's own: no other page is asked for with it, nor for what changed.
    let token = request.from === null ? changeToken : null;
    const listing: Listing = {
      first: firstOf(request),
      operation: of.what === 'equipment' ? 'equipment-list' : of.what,
      connection,
      ...(of.what === 'equipment' && { limits: equipmentLimits }),
      unpaged,
      call: (question) => {
        const embeds = embedsOf[of.what];
        const url = embeds.length === 0 ? question.url : withEmbeds(question.url, embeds);
        const headers = { ...unpagedHeaders, ...(token !== null && { [tokenHeader]: token }) };
        const asked = { ...question, url, headers, changesOnly: token !== null && token !== '' };
        token = null;
        return caller.call({
          ...asked,
          heard: (answered) => {
            const token = answered[tokenHeader];
            if (typeof token === 'string' && token !== '') received = token;
          },
        });
      },
    };
    let unreadable: Unreadable | null = null;
    for await (const page of pages(listing)) {
      if (page.partial) return yield partialOf(page);
      unreadable = noteUnreadable(unreadable, page, of.what === 'fields' ? fieldTrouble : itemTrouble);
      const { values, address, mediaType, next, total } = page;
      const items = values
        .splice(0)
        .map((value) => itemOf(value, of.what === 'equipment' ? equipment : null));
      yield { partial: false, items, address, mediaType, next, total, changeToken: received };
    }
    if (unreadable !== null) yield malformedEntry(unreadable);
  };
}

/** Machines, then implements: the last page of the one leads to the first of the other. */
async function* listOld(
  { pages, equipment }: ListingParts,
  old: OldEquipment,
  { of, from }: ListingRequest,
  connection: Connection,
  caller: Caller,
): AsyncGenerator<ListingPage, void> {
  const organizationId = of.what === 'equipment' ? of.organizationId : '';
  const listed = await old.listings(organizationId, connection, caller);
  if ('answer' in listed) {
    const { answer } = listed;
    const detail = `its organization was not answered (${answer.kind})${toldIn(answer)}`;
    return yield { partial: true, reason: 'call-failed', detail, answer };
  }
  const { addresses, refused, unshared } = listed;
  const call: Caller['call'] = (question) => caller.call({ ...question, url: asListed(question.url) });
  let unreadable: Unreadable | null = null;
  const begun = addresses.findIndex((address) => pathOf(address) === pathOf(from));
  for (const [place, address] of addresses.entries()) {
    if (place < begun) continue;
    const first = place === begun && from !== null ? from : address;
    for await (const page of pages({ first, operation: 'equipment-list', connection, call })) {
      if (page.partial) return yield withEnd(partialOf(page));
      unreadable = noteUnreadable(unreadable, page, itemTrouble);
      const items = page.values.splice(0).map((value) => itemOf(value, equipment));
      const next = page.next ?? addresses[place + 1] ?? null;
      yield {
        partial: false,
        items,
        address: page.address,
        mediaType: page.mediaType,
        next,
        total: page.total,
        changeToken: null,
      };
    }
  }
  // What else there is was read; a list whose link may not be followed is none that was.
  for (const first of refused) {
    for await (const page of pages({ first, operation: 'equipment-list', connection, call: caller.call })) {
      if (page.partial) return yield withEnd(partialOf(page));
    }
  }
  if (unreadable !== null) return yield malformedEntry(unreadable);
  if (unshared.length === 0) return;
  const detail = `its ${unshared.join(' and ')} are not shared with this user`;
  yield { partial: true, reason: 'no-listing', detail, answer: null };
}

function partialOf(page: PartialEnd): ListingPage {
  const { reason, verdict } = page;
  return { partial: true, reason, detail: partialSentence(page), answer: answerOfList(verdict) };
}

/** A list of the older endpoints that is not there. */
function withEnd(page: ListingPage): ListingPage {
  const isGone = page.partial && page.answer?.kind === 'gone';
  return isGone ? { ...page, detail: `${page.detail}; ${mayHaveEnded}` } : page;
}

function malformedEntry(unreadable: Unreadable): ListingPage {
  const detail = unreadableSentence(unreadable);
  return { partial: true, reason: 'malformed-entry', detail, answer: null };
}

/** A read can tell more of what says where it stands. */
function itemTrouble(value: unknown): string | null {
  const address = addressOf(linksOf(value));
  if (address !== null && !isAddressBounded(address))
    return `expected an address of at most ${addressBytesMax} bytes, got ${Buffer.byteLength(address)}`;
  return idOf(value) !== null || address !== null ? null : withoutId(value);
}

/** Where the links of an item say that it stands. */
function addressOf(links: ReadonlyMap<string, string>): string | null {
  return links.get('self') ?? links.get('delete') ?? null;
}

/** A field without operations is done; one whose link to them cannot be read is not. */
function fieldTrouble(value: unknown): string | null {
  if (idOf(value) === null) return withoutId(value);
  const links = linksOf(value);
  if (operationRels.some((rel) => links.has(rel))) return null;
  return unreadLinkOf(unreadLinksOf(value), operationRels);
}

/** Below which list a page stands; '' for none. */
function pathOf(address: string | null): string {
  return (address === null ? null : URL.parse(address))?.pathname ?? '';
}

/** A refusal of a list is nobody's in particular: the client key's where it names that, else one of this list alone. */
export function answerOfList(verdict: NoDocument | Forbidden | null): Answer | null {
  if (verdict?.kind !== 'forbidden') return verdict;
  const { connectionId, message, client } = verdict;
  return { kind: client ? 'client-refused' : 'no-access', connectionId, message };
}

function itemOf(body: unknown, equipment: EquipmentAddresses | null): ListedItem {
  const id = idOf(body);
  const links = linksOf(body);
  const rel = operationRels.find((name) => links.has(name));
  const said = addressOf(links);
  const address = said !== null && isAddressBounded(said) ? said : null;
  return {
    id,
    address: address ?? (id === null || equipment === null ? null : equipment.record(id)),
    operations: rel === undefined ? null : (links.get(rel) as string),
    deleted: links.has('delete') && !links.has('self'),
    body,
  };
}
