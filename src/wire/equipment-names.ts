/**
 * Asks the store as what equipment is known, and remembers what cannot change any more: a record that was named once is
 * known as that for ever. Bounded; decides nothing.
 */
import type { EquipmentNames, KnownEquipment } from '../model/equipment-names';
import type { Store } from '../model/store';
import { equipmentNamesOf } from '../normalize/equipment-names';

/** Of each body; null for what is no equipment. Throws what the store throws. */
export type NameEquipment = (bodies: unknown[]) => Promise<(KnownEquipment | null)[]>;

const rememberedMax = 20_000;

/** Asks the store once for each set of names, of which at most 20,000 are remembered. Rejects as the store does. */
export function makeNameEquipment(store: Pick<Store, 'nameEquipment'>): NameEquipment {
  const remembered = new Map<string, KnownEquipment>();

  function remember(names: EquipmentNames, known: KnownEquipment): void {
    // An older record that leaves out its principal id may be told it any time.
    if (known.principalId === null && names.side === 'old') return;
    const [oldest] = remembered.size < rememberedMax ? [] : remembered.keys();
    if (oldest !== undefined) remembered.delete(oldest);
    remembered.set(JSON.stringify(names), known);
  }

  return async (bodies) => {
    const named = bodies.map((body) => {
      const names = equipmentNamesOf(body);
      return { names, known: names === null ? null : (remembered.get(JSON.stringify(names)) ?? null) };
    });
    const asked = named.filter(({ names, known }) => names !== null && known === null);
    if (asked.length > 0) {
      const answers = await store.nameEquipment(asked.map(({ names }) => names as EquipmentNames));
      for (const [place, entry] of asked.entries()) {
        entry.known = answers[place] as KnownEquipment;
        remember(entry.names as EquipmentNames, entry.known);
      }
    }
    return named.map(({ known }) => known);
  };
}
