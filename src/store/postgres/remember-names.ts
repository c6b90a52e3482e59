/**
 * As what equipment is known, without a round trip where it was told before and cannot change any more: a record that was
 * named once is known as that for ever. What is remembered was committed, on a server that may lose it to its successor: it
 * is forgotten with each new connection. Decides nothing.
 */
import type { EquipmentNames, KnownEquipment } from '../../model/equipment-names';
import type { FinishedRead, FinishResult, KnownOtherwise } from '../../model/task';
import { isKnownAs, isSaidWhole } from '../equipment-names';

type Name = (pieces: EquipmentNames[]) => Promise<KnownEquipment[]>;
type Finish = (read: FinishedRead) => Promise<FinishResult | KnownOtherwise>;

const rememberedMax = 20_000;

/**
 * Asks once for each set of names while no connection is made, of which `connected` counts. At most 20,000 are remembered.
 * Rejects as `name` does.
 */
export function rememberNames(name: Name, connected: () => number): Name {
  const remembered = new Map<string, KnownEquipment>();
  let rememberedOf = connected();

  function forgetFormer(): void {
    if (rememberedOf !== connected()) remembered.clear();
    rememberedOf = connected();
  }

  function remember(text: string, { side }: EquipmentNames, known: KnownEquipment): void {
    if (!isSaidWhole(side, known.principalId)) return;
    const [oldest] = remembered.size < rememberedMax ? [] : remembered.keys();
    if (oldest !== undefined) remembered.delete(oldest);
    remembered.set(text, known);
  }

  return async (pieces) => {
    forgetFormer();
    const askedOf = rememberedOf;
    const texts = pieces.map((names) => JSON.stringify(names));
    const known = texts.map((text) => remembered.get(text) ?? null);
    const places = [...known.keys()].filter((place) => known[place] === null);
    const answers = places.length === 0 ? [] : await name(places.map((place) => pieces[place]!));
    forgetFormer();
    for (const [at, place] of places.entries()) {
      known[place] = answers[at]!;
      if (askedOf === rememberedOf) remember(texts[place]!, pieces[place]!, answers[at]!);
    }
    return known as KnownEquipment[];
  };
}

/**
 * Names come before the task is locked, in a transaction of their own: the lock under which new ones are added is
 * everybody's, and whoever ends tasks may wait for a row. Rejects as `name` and `finish` do.
 */
export function finishNamed(name: Name, finish: Finish): Finish {
  return async (read) => {
    if (read.named === undefined) return finish(read);
    const [known] = (await name([read.named.names])) as [KnownEquipment];
    return isKnownAs(known, read.named.known) ? finish(read) : { outcome: 'known-otherwise', known };
  };
}
