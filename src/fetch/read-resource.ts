/**
 * One resource at one address, through one connection, to its answer: asked for with what belongs to it, found again
 * when it has moved, and a refusal laid where it belongs.
 */
import type { Answer } from '../model/answer';
import type { ResourceIdentity } from '../model/resource';
import type { Ask } from './ask';
import type { Attempt } from './attempt';
import { attributeRefusal } from './attribute-refusal';
import type { Caller, Callers } from './caller';
import type { Verdict } from './classify';
import { equipmentEmbeds, fieldOperationEmbeds, oldEquipmentEmbeds, withEmbeds } from './embed';
import type { EquipmentAddresses } from './equipment-addresses';
import { saysItIs } from './equipment-ids';
import { isOldRecord, listsOf, type OldEquipment, oldKindOf } from './old-equipment';
import type { ProviderDoors } from './options';
import type { Organizations } from './organizations';
import { idOf } from './pages';
import type { Relocate } from './relocate';
import { type SoughtPiece, seekByOlder, seekNew, seekOld } from './seek-equipment';
import { isAskedById, singleDocument } from './single-document';
import { graver, isWithheld, type Unseen, unsharedOf } from './unseen';
import { type Way, waitingAnswer } from './waiting-answer';
import type { Wanted } from './wanted';

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
  equipmentRecords: NonNullable<ProviderDoors['equipmentRecords']>;
}

type Gone = Extract<Verdict, { kind: 'gone' }>;
type Read = Extract<Verdict, { kind: 'ok' }>;

/** Told why a place where it may stand could not be looked at. */
type NoteUnseen = (unseen: Unseen) => void;

/** The store does not say what a piece of equipment is called. */
class RecordsUnread extends Error {}

/**
 * Whatever the provider says is an answer, and so is a store that cannot say what equipment is called; only a fault of ours
 * is thrown.
 */
export function makeReadResource(parts: ReadResourceParts): ReadResource {
  const { callers, relocate, equipment, oldEquipment } = parts;

  /** In the equipment API, unless the older endpoints are to be asked first; where the one has it not, in the other. */
  async function askFirst(wanted: Wanted, attempt: Attempt, unseen: NoteUnseen): Promise<Verdict> {
    const { url, identity } = wanted;
    const old = isOldRecord(url);
    const elsewhere = old ? oldEquipment === null : equipment.holds(url) && oldEquipment !== null;
    const lists = equipment.holds(url) && url.search !== '';
    const piece = elsewhere || (lists && identity !== null) ? await pieceOf(parts, wanted, url) : null;
    const here = (at: URL, id: string | null) => askAt(parts, at, id, wanted, attempt);
    const shown = identity === null ? null : lists ? shownAs(piece, identity.id) : identity.id;
    if (piece === null || !elsewhere) return here(url, shown);
    const sought = { wanted, tried: null };
    if (piece.unseenAt === 'old') return seekByOlder(parts, piece, wanted, here);
    const verdict = old
      ? await seekNew(parts, piece, sought, here)
      : await seekOld(parts, piece, { ...sought, unseen }, attempt, here);
    if (verdict.kind !== 'gone') return verdict;
    const asked = await here(url, shown);
    // Where the older endpoints are not read any more, they may be no more themselves.
    return old && asked.kind === 'gone' ? { ...asked, certain: false } : asked;
  }

  /** Not found at its address: asked for where it stands today, before it counts as gone. */
  async function askAgain(
    gone: Gone,
    wanted: Wanted,
    attempt: Attempt,
    unseen: NoteUnseen,
  ): Promise<Verdict> {
    const tried = wanted.url;
    const identity = wanted.identity ?? identityAt(tried, equipment);
    if (identity === null) return gone;
    const piece = identity.kind === 'equipment' ? await pieceOf(parts, wanted, tried) : null;
    const here = (at: URL, id: string | null) => askAt(parts, at, id, { ...wanted, identity }, attempt);
    if (piece !== null && isOldRecord(tried)) {
      const old = await seekOld(parts, piece, { wanted, tried, unseen }, attempt, here);
      if (old.kind !== 'gone') return old;
    }
    const { organizationId } = wanted.owner;
    const locate = (from: URL) =>
      relocate({ identity, organizationId, tried: from }, wanted.connection, callers.within(attempt));
    const located = await locate(tried);
    if ('answer' in located) return located.withheld && gone.certain ? gone : located.answer;
    if (piece !== null) {
      const found = await seekNew(parts, piece, { wanted, tried }, here);
      // Where it is nowhere else, the first answer says how sure that is.
      return found.kind === 'gone' ? gone : found;
    }
    if ('absent' in located) return gone;
    return askBelieved(located.url, (at) => here(at, identity.id), locate);
  }

  return async (wanted, attempt) => {
    const { url, owner, connection } = wanted;
    const [href, isNew] = [url.href, wanted.identity === null];
    const caller = callers.within(attempt);
    let verdict: Verdict;
    const hidden: Unseen[] = [];
    const unseen: NoteUnseen = (found) => hidden.push(found);
    try {
      verdict = await askFirst(wanted, attempt, unseen);
      // Asking has added to its address what is embedded.
      const tried = () => ({ ...wanted, url: new URL(href) });
      if (verdict.kind === 'ok' && isNew) verdict = await confirm(parts, verdict, tried(), attempt);
      if (verdict.kind === 'gone') verdict = await askAgain(verdict, tried(), attempt, unseen);
      if (verdict.kind === 'gone')
        return namedBy(wanted, equipment, await confirmGone(parts, verdict, wanted, hidden, caller));
    } catch (error) {
      if (!(error instanceof RecordsUnread)) throw error;
      const { origin } = url;
      const way: Way = { code: 'equipment-names', origin, connectionId: connection.connectionId };
      return waitingAnswer(way, 'what the equipment is called cannot be read from the store');
    }
    if (verdict.kind !== 'forbidden') return verdict;
    return attributeRefusal(verdict, owner, connection, parts.organizations, caller);
  };
}

/** Where others stand today. Not found there either, only its owner shows whether it is missed, or stands elsewhere. */
async function askBelieved(
  url: URL,
  here: (at: URL) => Promise<Verdict>,
  locate: (tried: URL) => ReturnType<Relocate>,
): Promise<Verdict> {
  const tried = new URL(url);
  const there = await here(url);
  if (there.kind !== 'gone') return there;
  const shown = await locate(tried);
  if ('answer' in shown) return shown.withheld && there.certain ? there : shown.answer;
  return 'absent' in shown ? there : here(shown.url);
}

/** At one address; `id`: what is wanted of a collection. */
async function askAt(
  { ask, equipment }: ReadResourceParts,
  url: URL,
  id: string | null,
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
  const { connectionId } = connection;
  const { origin } = url;
  const { body: came } = verdict.document;
  const body = singleDocument(came, id);
  if (body === undefined && isAskedById(url)) return { kind: 'gone', certain: false, connectionId, origin };
  if (body === undefined || isNoResource(body)) {
    const got = body === undefined ? 'a collection without entries' : 'JSON without a type, an id or links';
    const detail = `expected a resource, got ${got}`;
    const nothing = body === undefined ? came : body;
    return { kind: 'refused', code: 'not-a-resource', detail, origin, connectionId, body: nothing };
  }
  return body === came ? verdict : { ...verdict, document: { ...verdict.document, body } };
}

/**
 * An address that was never read is bound for good to what it shows first. Where that is not what it names, it may be
 * called otherwise, or a wrong answer: it is asked once more, and waits where it shows a third.
 */
async function confirm(
  parts: ReadResourceParts,
  first: Read,
  tried: Wanted,
  attempt: Attempt,
): Promise<Verdict> {
  const { url, connection } = tried;
  const named = identityAt(url, parts.equipment)?.id;
  const shows = ({ document: { body } }: Read) =>
    idOf(body) === named || (named !== undefined && saysItIs(body, named, parts.equipment));
  if (first.document.address !== url.href || named === undefined || shows(first)) return first;
  const again = await askAt(parts, url, null, tried, attempt);
  if (again.kind !== 'ok' || shows(again)) return again;
  const [before, now] = [idOf(first.document.body), idOf(again.document.body)];
  if (before === now) return again;
  const { connectionId } = connection;
  const way: Way = { code: 'address-unsteady', origin: url.origin, connectionId };
  return waitingAnswer(way, `it showed id ${before}, and then id ${now}`);
}

/** What something on the way says of itself, such as that it is under maintenance; or nothing: null. */
function isNoResource(body: unknown): boolean {
  return typeof body === 'object' && (body === null || !('@type' in body || 'id' in body || 'links' in body));
}

/** The id by which a list of the equipment API shows it; null where that was not seen yet. */
function shownAs(piece: SoughtPiece | null, id: string): string | null {
  if (piece === null || piece.records.length === 0) return id;
  return piece.records.find(({ side }) => side === 'new')?.id ?? null;
}

/** null where nothing says which piece is meant. Throws `RecordsUnread`. */
async function pieceOf(
  { equipment, equipmentRecords }: ReadResourceParts,
  { identity }: Wanted,
  url: URL,
): Promise<SoughtPiece | null> {
  const id = identity?.id ?? identityAt(url, equipment)?.id;
  if (id === undefined) return null;
  const side = isOldRecord(url) ? 'old' : 'new';
  const sought = { id, as: identity === null ? side : 'known' } as const;
  const records = await equipmentRecords(sought).catch(() => {
    throw new RecordsUnread();
  });
  return { id, records, unseenAt: identity === null && records.length === 0 ? side : null };
}

/**
 * What could not be seen hides it, and so does an organization that is no longer listed, connected or shared: it is not
 * gone. Where its own address said so for certain, no list that is withheld is missed. Throws `RecordsUnread`.
 */
async function confirmGone(
  parts: ReadResourceParts,
  gone: Gone,
  wanted: Wanted,
  hidden: Unseen[],
  caller: Caller,
): Promise<Answer> {
  const { owner, connection, url } = wanted;
  const unseen = hidden.reduce<Unseen | null>(graver, null);
  if (unseen !== null && !(gone.certain && isWithheld(unseen))) return unseen.answer;
  if (owner.organizationId === null || !owner.certain) return gone;
  const found = await parts.organizations.find(owner.organizationId, connection, caller);
  if ('answer' in found) return found.answer;
  const { organization } = found;
  const { connectionId } = connection;
  if (organization?.unconnected) {
    return { kind: 'not-connected', actionUrl: organization.connectUrl, connectionId };
  }
  const way = { origin: url.origin, connectionId };
  if (organization === null)
    return waitingAnswer(
      { ...way, code: 'organization-unlisted' },
      'the organization is not listed to this user',
    );
  if (gone.certain) return gone;
  const lists = await listsMissed(parts, wanted);
  return unsharedOf(organization, lists, { ...way, code: 'relocation-incomplete' })?.answer ?? gone;
}

/** The lists of its organization that must be shown before it can be missed. Throws `RecordsUnread`. */
async function listsMissed(parts: ReadResourceParts, wanted: Wanted): Promise<readonly string[]> {
  const { url, identity } = wanted;
  if ((identity?.kind ?? kindAt(url, parts.equipment)) === 'field-operation') return ['fields'];
  if (parts.oldEquipment === null) return [];
  if (isOldRecord(url)) return listsOf(oldKindOf(url));
  const piece = await pieceOf(parts, wanted, url);
  return piece?.records.some(({ side }) => side === 'old') ? listsOf(null) : [];
}

/** What is gone is told by its address where it was never seen. An id of the older endpoints may be another piece's today. */
function namedBy({ url, identity }: Wanted, equipment: EquipmentAddresses, answer: Answer): Answer {
  const named = identity === null && !isOldRecord(url) ? identityAt(url, equipment) : null;
  return answer.kind === 'gone' && named !== null ? { ...answer, named } : answer;
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
