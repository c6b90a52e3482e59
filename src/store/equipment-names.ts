/**
 * Which records of equipment are one piece: the machine and implement endpoints and the equipment API may call it by
 * different ids, and the same number may be one machine's id in the one and another's in the other. Pure; both stores
 * keep the records and choose by these rules.
 */
import type { EquipmentNames, EquipmentSide, KnownEquipment } from '../model/equipment-names';

/** A record as the store keeps it. */
export interface KeptEquipment extends EquipmentNames {
  /** As what its piece is known. */
  resourceId: string;
}

/** `record`: as it is to be kept, null when it is kept so already. */
export interface ChosenEquipment {
  known: KnownEquipment;
  record: KeptEquipment | null;
}

/**
 * `kept`: all records of every piece that has one with this id, ERID or principal id, or with this id as its principal
 * id, or that is known as this id.
 */
function chooseEquipment(piece: EquipmentNames, kept: readonly KeptEquipment[]): ChosenEquipment {
  const resourceId = resourceOf(piece, kept);
  const own = kept.find((record) => isRow(record, piece));
  const record = {
    ...piece,
    resourceId,
    // What a record once said of itself, it may leave out another time.
    principalId: piece.principalId ?? own?.principalId ?? null,
    erid: piece.erid ?? own?.erid ?? null,
    serialNumber: piece.serialNumber ?? own?.serialNumber ?? null,
  };
  const newer = kept.find(
    (one) => one.side === 'new' && one.resourceId === resourceId && isOfOwner(one, piece),
  );
  const principalId = piece.principalId ?? (piece.side === 'old' ? (newer?.principalId ?? null) : null);
  const known = { id: resourceId, principalId };
  return { known, record: own !== undefined && isSame(own, record) ? null : record };
}

function resourceOf(piece: EquipmentNames, kept: readonly KeptEquipment[]): string {
  const own = ownRecord(piece, kept) ?? otherRecord(piece, kept);
  if (own !== null) return own.resourceId;
  // A number that is another piece's here already is nobody else's.
  const names = [piece.id, piece.erid ?? `${piece.side}-${piece.id}`, `${piece.organizationId}-${piece.id}`];
  return names.find((name) => kept.every((one) => one.resourceId !== name)) ?? (names[0] as string);
}

/** On its own side. A piece may go to another organization; at the older endpoints two of them may have one thing. */
function ownRecord(piece: EquipmentNames, kept: readonly KeptEquipment[]): KeptEquipment | null {
  const same = kept.filter(({ side, id }) => side === piece.side && id === piece.id);
  const ofOwner = same.find((one) => isOfOwner(one, piece));
  if (ofOwner !== undefined) return ofOwner;
  return same.find((one) => piece.side === 'new' || differ(one.erid, piece.erid) !== true) ?? null;
}

/**
 * The same piece on the other side, where it has no other record on this one. An ERID says it; an id only where nothing
 * speaks against it; a serial number alone never does, since two machines may share one.
 */
function otherRecord(piece: EquipmentNames, kept: readonly KeptEquipment[]): KeptEquipment | null {
  const taken = new Set(kept.flatMap(({ side, resourceId }) => (side === piece.side ? [resourceId] : [])));
  const free = kept.filter((one) => one.side !== piece.side && !taken.has(one.resourceId));
  const others = free.filter((one) => isOfOwner(one, piece));
  const hasErid = ({ erid }: KeptEquipment) => erid !== null && erid === piece.erid;
  const bySerial = others.filter(
    (one) => one.serialNumber !== null && one.serialNumber === piece.serialNumber,
  );
  const open = others.filter((one) => !isContradicted(one, piece));
  return (
    others.find(hasErid) ??
    bySerial.find((one) => isPrincipal(one, piece)) ??
    bySerial.find(({ id }) => id === piece.id) ??
    open.find((one) => isPrincipal(one, piece)) ??
    open.find(({ id }) => id === piece.id) ??
    // It may have gone to another organization since it was seen there.
    free.find(hasErid) ??
    null
  );
}

/** The older endpoints may call a thing by its principal id. */
function isPrincipal(one: EquipmentNames, two: EquipmentNames): boolean {
  const [principal, other] = [one, two].map(
    ({ side, id, principalId }) => principalId ?? (side === 'old' ? id : null),
  );
  return principal !== null && principal === other;
}

function isContradicted(one: EquipmentNames, two: EquipmentNames): boolean {
  return differ(one.serialNumber, two.serialNumber) ?? differ(one.erid, two.erid) ?? false;
}

/** null where one does not say. */
function differ(one: string | null, two: string | null): boolean | null {
  return one === null || two === null ? null : one !== two;
}

function isOfOwner(one: EquipmentNames, two: EquipmentNames): boolean {
  return one.organizationId === two.organizationId;
}

function isRow(one: EquipmentNames, two: EquipmentNames): boolean {
  return one.side === two.side && one.id === two.id && isOfOwner(one, two);
}

function isSame(one: EquipmentNames, two: EquipmentNames): boolean {
  return (
    one.principalId === two.principalId && one.erid === two.erid && one.serialNumber === two.serialNumber
  );
}

/** Of a record that is kept as it says: an older one that leaves out its principal id may be told it any time. */
export function isSaidWhole(side: EquipmentSide, principalId: string | null): boolean {
  return side === 'new' || principalId !== null;
}

/** Would a document of the one be that of the other? */
export function isKnownAs(one: KnownEquipment, two: KnownEquipment): boolean {
  return one.id === two.id && one.principalId === two.principalId;
}

/** By what the records are sought that a choice needs; each is some record's id, ERID, principal id or known name. */
export function soughtOf({ id, principalId, erid }: EquipmentNames): string[] {
  return [...new Set([id, principalId, erid].filter((one) => one !== null))];
}

/** Records at hand, found by whatever they are called. */
export class EquipmentShelf {
  readonly #ofResource = new Map<string, KeptEquipment[]>();
  readonly #resources = new Map<string, Set<string>>();

  /** In the place of an older form of the record. */
  put(record: KeptEquipment): void {
    const { resourceId } = record;
    const others = (this.#ofResource.get(resourceId) ?? []).filter((one) => !isRow(one, record));
    this.#ofResource.set(resourceId, [...others, record]);
    for (const name of [...soughtOf(record), resourceId]) {
      const found = this.#resources.get(name) ?? new Set();
      this.#resources.set(name, found.add(resourceId));
    }
  }

  #relatedTo(piece: EquipmentNames): KeptEquipment[] {
    const resources = soughtOf(piece).flatMap((name) => [...(this.#resources.get(name) ?? [])]);
    return [...new Set(resources)].flatMap((resource) => this.#ofResource.get(resource) ?? []);
  }

  /** In order, each in the sight of those before it. `records`: what is to be kept. */
  choose(pieces: readonly EquipmentNames[]): { known: KnownEquipment[]; records: KeptEquipment[] } {
    const records = new Map<string, KeptEquipment>();
    const known = pieces.map((piece) => {
      const choice = chooseEquipment(piece, this.#relatedTo(piece));
      if (choice.record !== null) {
        this.put(choice.record);
        const { side, id, organizationId } = piece;
        records.set(JSON.stringify([side, id, organizationId]), choice.record);
      }
      return choice.known;
    });
    return { known, records: [...records.values()] };
  }
}

/** From a row of either store. */
export function keptOf(row: Record<string, unknown>): KeptEquipment {
  return { ...namesOf(row), resourceId: String(row.resource_id) };
}

/** From a row of either store. */
export function namesOf(row: Record<string, unknown>): EquipmentNames {
  const textOf = (value: unknown) => (value === null ? null : String(value));
  return {
    side: row.side as EquipmentNames['side'],
    id: String(row.id),
    organizationId: String(row.organization_id),
    principalId: textOf(row.principal_id),
    erid: textOf(row.erid),
    serialNumber: textOf(row.serial_number),
  };
}
