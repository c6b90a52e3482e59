/**
 * A piece of equipment asked for on the one side or the other, by what that side calls it. The ids of both are kept
 * apart: what is shown under an id that was only guessed counts when it can be that piece.
 */
import type { EquipmentNames, EquipmentSide } from '../model/equipment-names';
import type { Attempt } from './attempt';
import type { Callers } from './caller';
import type { Verdict } from './classify';
import type { EquipmentAddresses } from './equipment-addresses';
import { idsAt, mayShow, namesShown, principalOf, saysItIs } from './equipment-ids';
import { type OldEquipment, oldKindOf } from './old-equipment';
import { isAskedById } from './single-document';
import type { Unseen } from './unseen';
import { type Way, waitingAnswer } from './waiting-answer';
import type { Wanted } from './wanted';

export interface SoughtPiece {
  id: string;
  /** As they were seen; none when it never was. */
  records: EquipmentNames[];
  /** Of the side whose address alone names it, where it was never seen: on the other one its number may be another's. */
  unseenAt: EquipmentSide | null;
}

/** Asks at an address for the record with that id. */
export type AskAt = (url: URL, id: string | null) => Promise<Verdict>;

export interface SeekParts {
  callers: Callers;
  equipment: EquipmentAddresses;
  oldEquipment: OldEquipment | null;
}

/**
 * Equipment where the older endpoints have it; gone when they do not, or are not to be asked. What they would not show is
 * told to `unseen`: then it is nowhere gone.
 */
export async function seekOld(
  { callers, equipment, oldEquipment }: SeekParts,
  piece: SoughtPiece,
  { wanted, tried, unseen }: { wanted: Wanted; tried: URL | null; unseen: (unseen: Unseen) => void },
  attempt: Attempt,
  askAt: AskAt,
): Promise<Verdict> {
  const { id, records } = piece;
  const { organizationId } = wanted.owner;
  const kind = tried === null ? null : oldKindOf(tried);
  // What was seen in the equipment API alone is not missed where nothing older is shared.
  const seenThere = kind !== null || records.some(({ side }) => side === 'old');
  const asked = new Set(tried === null ? [] : [tried.href]);
  for (const one of oldEquipment === null ? [] : idsAt('old', id, records)) {
    const sought = { id: one, organizationId, kind, fresh: tried !== null };
    const located = await oldEquipment!.places(sought, wanted.connection, callers.within(attempt));
    if ('answer' in located) return located.answer;
    if (located.unseen !== null && (seenThere || !located.unseen.unshared)) unseen(located.unseen);
    for (const url of located.urls) {
      if (asked.has(url.href)) continue;
      asked.add(url.href);
      const verdict = await askAt(url, one);
      if (!isOther(verdict, piece, equipment)) return verdict;
    }
  }
  return goneAt(wanted);
}

/** Equipment where the equipment API has it, else gone; `tried`: not asked for again. */
export async function seekNew(
  { equipment }: SeekParts,
  piece: SoughtPiece,
  { wanted, tried }: { wanted: Wanted; tried: URL | null },
  askAt: AskAt,
): Promise<Verdict> {
  const { id, records } = piece;
  if (piece.unseenAt === 'old') return seekUnseen(equipment, id, wanted, askAt);
  const urls = idsAt('new', id, records).map((one) => new URL(equipment.record(one)));
  const thing = principalOf(records);
  if (thing !== null) {
    const listed = new URL(equipment.collection('equipment'));
    listed.searchParams.set('principalIds', thing.principalId ?? thing.id);
    if (thing.organizationId !== '') listed.searchParams.set('organizationIds', thing.organizationId);
    urls.push(listed);
  }
  for (const url of urls) {
    if (url.search === '' && url.href === tried?.href) continue;
    const verdict = await askAt(url, null);
    if (verdict.kind === 'ok' && !isRecord(verdict.document.body)) {
      // A list may show several; a record's own address that shows none is no sign that it is gone.
      if (isAskedById(url)) continue;
      return verdict;
    }
    if (!isOther(verdict, piece, equipment)) return underOwnId(verdict, equipment);
  }
  return goneAt(wanted);
}

/**
 * A piece that was never seen, named by an older address: what stands there says which record of the equipment API it
 * is. Where that cannot be had, its number is all there is to ask by.
 */
export async function seekByOlder(
  parts: SeekParts,
  piece: SoughtPiece,
  wanted: Wanted,
  askAt: AskAt,
): Promise<Verdict> {
  const sought = { wanted, tried: null };
  const own = await askAt(wanted.url, piece.id);
  if (own.kind === 'gone' || own.kind === 'forbidden') {
    const found = await seekNew(parts, piece, sought, askAt);
    return found.kind === 'gone' ? own : found;
  }
  if (own.kind !== 'ok') return own;
  const names = namesShown(own.document.body, piece.id, wanted.owner.organizationId ?? '');
  const found = await seekNew(parts, { ...piece, records: [names], unseenAt: null }, sought, askAt);
  return found.kind === 'gone' ? own : found;
}

/** Of a number of the older endpoints nothing else is known: it may be the record's, or that of the thing. */
async function seekUnseen(
  equipment: EquipmentAddresses,
  id: string,
  wanted: Wanted,
  askAt: AskAt,
): Promise<Verdict> {
  const things = new URL(equipment.collection('equipment'));
  things.searchParams.set('principalIds', id);
  let found: Verdict | null = null;
  for (const url of [new URL(equipment.record(id)), things]) {
    const asked = await askAt(url, null);
    if (asked.kind === 'gone') continue;
    if (asked.kind === 'ok' && !isRecord(asked.document.body)) {
      if (isAskedById(url)) continue;
      return asked;
    }
    const verdict = underOwnId(asked, equipment);
    if (verdict.kind !== 'ok') return verdict;
    if (found?.kind === 'ok' && found.document.address !== verdict.document.address) {
      const { connectionId } = wanted.connection;
      const way: Way = { code: 'equipment-names', origin: wanted.url.origin, connectionId };
      return waitingAnswer(way, `${id} may be the one or the other piece of equipment`);
    }
    found = verdict;
  }
  return found ?? goneAt(wanted);
}

/** Not there, or another piece's. */
function isOther(verdict: Verdict, piece: SoughtPiece, equipment: EquipmentAddresses): boolean {
  // What is refused may be another's as well: the address itself says whose.
  if (verdict.kind === 'forbidden') return piece.unseenAt === 'new';
  if (verdict.kind !== 'ok') return verdict.kind === 'gone';
  const { body } = verdict.document;
  if (piece.unseenAt === 'new') return !saysItIs(body, piece.id, equipment);
  return !mayShow(body, piece.records);
}

function isRecord(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'id' in body;
}

/** An address by another name than its id is none to come back to. */
function underOwnId(verdict: Verdict, equipment: EquipmentAddresses): Verdict {
  if (verdict.kind !== 'ok') return verdict;
  const { id } = verdict.document.body as { id: unknown };
  return { ...verdict, document: { ...verdict.document, address: equipment.record(String(id)) } };
}

function goneAt({ connection: { connectionId }, url }: Wanted): Verdict {
  return { kind: 'gone', certain: false, connectionId, origin: url.origin };
}
