/**
 * Asks the store as what the equipment of bodies is known, in their places beside what is none. Decides nothing.
 */
import type { KnownEquipment } from '../model/equipment-names';
import type { Store } from '../model/store';
import { equipmentNamesOf } from '../normalize/equipment-names';

/** Of each body; null for what is no equipment. Throws what the store throws. */
export type NameEquipment = (bodies: unknown[]) => Promise<(KnownEquipment | null)[]>;

/** Asks the store once for all bodies of a call. Rejects as the store does. */
export function makeNameEquipment(store: Pick<Store, 'nameEquipment'>): NameEquipment {
  return async (bodies) => {
    const named = bodies.map(equipmentNamesOf);
    const asked = named.filter((names) => names !== null);
    const known = asked.length === 0 ? [] : await store.nameEquipment(asked);
    return named.map((names) => (names === null ? null : known.shift()!));
  };
}
