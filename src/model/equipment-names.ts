/**
 * What the provider calls pieces of equipment by, at the machine and implement endpoints and in the equipment API, and
 * how the store tells which records are one piece. Shapes only.
 */

/** `old`: the machine and implement endpoints; `new`: the equipment API. */
export type EquipmentSide = 'old' | 'new';

/** What a record of equipment is called by. */
export interface EquipmentNames {
  side: EquipmentSide;
  /** As that side calls it. */
  id: string;
  organizationId: string;
  principalId: string | null;
  erid: string | null;
  serialNumber: string | null;
}

/** `id`: what events of it are keyed by, whichever side it is read at. */
export interface KnownEquipment {
  id: string;
  /** Also where an older record leaves it out and the newer one has said it; null where none has. */
  principalId: string | null;
}

/** A record as it was read, and as what its reader takes it to be known. */
export interface NamedEquipment {
  names: EquipmentNames;
  known: KnownEquipment;
}

/** A piece of equipment by what it is known as here, or by what a side calls it. */
export interface EquipmentSought {
  id: string;
  as: 'known' | EquipmentSide;
}

/** Which records are one piece of equipment, whatever either side calls it by. */
export interface EquipmentBook {
  /**
   * As what each is known, in order: by the id that it was called by first. What is new of its names is kept, also when
   * nothing is published of it. Rows: one for each side of each piece.
   */
  nameEquipment(pieces: EquipmentNames[]): Promise<KnownEquipment[]>;
  /** Its records; none when it was never seen. */
  equipmentRecords(sought: EquipmentSought): Promise<EquipmentNames[]>;
}
