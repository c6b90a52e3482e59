/**
 * A piece of equipment asked for on the one side or the other, by what that side calls it. The ids of both are kept
 * apart: what is shown under an id that was only guessed counts when it can be that piece.
 */
import type { EquipmentNames } from '../model/equipment-names';
import type { Attempt } from './attempt';
import type { Callers } from './caller';
import type { Verdict } from './classify';
import type { EquipmentAddresses } from './equipment-addresses';
import { idsAt, mayShow, principalOf } from './equipment-ids';
import type { OldEquipment } from './old-equipment';
import type { Wanted } from './wanted';

export interface SoughtPiece {
  id: string;
  /** As they were seen; none when it never was. */
  records: EquipmentNames[];
}

/** Asks at an address for the record with that id. */
export type AskAt = (url: URL, id: string | null) => Promise<Verdict>;

export interface SeekParts {
  callers: Callers;
  equipment: EquipmentAddresses;
  oldEquipment: OldEquipment | null;
}

/** Equipment where the older endpoints have it; gone when they do not, or are not to be asked. */
export async function seekOld(
  { callers, oldEquipment }: SeekParts,
  { id, records }: SoughtPiece,
  { wanted, tried }: { wanted: Wanted; tried: URL | null },
  attempt: Attempt,
  askAt: AskAt,
): Promise<Verdict> {
  const { organizationId } = wanted.owner;
  const paths = new Set(tried === null ? [] : [tried.pathname]);
  for (const one of oldEquipment === null ? [] : idsAt('old', id, records)) {
    const sought = { id: one, organizationId, fresh: tried !== null };
    const located = await oldEquipment!.places(sought, wanted.connection, callers.within(attempt));
    if ('answer' in located) return located.answer;
    for (const url of located.urls) {
      if (paths.has(url.pathname)) continue;
      paths.add(url.pathname);
      const verdict = await askAt(url, one);
      if (!isOther(verdict, records)) return verdict;
    }
  }
  return goneAt(wanted);
}

/** Equipment where the equipment API has it, else gone; `tried`: not asked for again. */
export async function seekNew(
  { equipment }: SeekParts,
  { id, records }: SoughtPiece,
  { wanted, tried }: { wanted: Wanted; tried: URL | null },
  askAt: AskAt,
): Promise<Verdict> {
  const urls = idsAt('new', id, records).map((one) => new URL(equipment.record(one)));
  const thing = principalOf(records);
  if (thing !== null) {
    const listed = new URL(equipment.collection('equipment'));
    listed.searchParams.set('principalIds', thing.principalId ?? thing.id);
    listed.searchParams.set('organizationIds', thing.organizationId);
    urls.push(listed);
  }
  for (const url of urls) {
    if (url.search === '' && url.pathname === tried?.pathname) continue;
    const verdict = await askAt(url, null);
    if (verdict.kind === 'ok' && !isRecord(verdict.document.body)) continue;
    if (!isOther(verdict, records)) return underOwnId(verdict, equipment);
  }
  return goneAt(wanted);
}

/** Not there, or another piece's. */
function isOther(verdict: Verdict, records: EquipmentNames[]): boolean {
  return verdict.kind === 'gone' || (verdict.kind === 'ok' && !mayShow(verdict.document.body, records));
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

export function goneAt({ connection: { connectionId }, url }: Wanted): Verdict {
  return { kind: 'gone', certain: false, connectionId, origin: url.origin };
}
