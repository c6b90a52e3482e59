/**
 * Whether the equipment API answers where it is said to be: it has a base address of its own, and no link leads there.
 */
import { wordsIn } from '../model/answer-words';
import type { Connection } from '../model/connection';
import { shownAddress } from '../model/shown-address';
import type { Caller } from './caller';
import type { EquipmentAddresses } from './equipment-addresses';
import type { Pages, PartialEnd } from './pages';

export interface LookParts {
  equipment: EquipmentAddresses;
  pages: Pages;
}

/** A rule, a pause and a refusal of the user or the client are answers. */
const answered: readonly string[] = [
  'forbidden',
  'reauthorize',
  'client-refused',
  'no-access',
  'rate-limited',
  'aborted',
];

/** One call, for makes of equipment, which are the same for everybody: null where it was answered, else what came. Never throws. */
export async function lookAtEquipment(
  { equipment, pages }: LookParts,
  connection: Connection,
  caller: Caller,
): Promise<string | null> {
  const first = equipment.collection('equipmentMakes');
  const listing = { first, operation: 'equipment-reference', connection, call: caller.call } as const;
  for await (const page of pages({ ...listing, limits: { most: 100, wanted: 1 } })) {
    const isTold = page.partial && !answered.includes(page.verdict?.kind ?? '');
    return isTold ? troubleOf(page) : null;
  }
  return null;
}

/** For whoever set the address, which is no page of anything. The provider's words come last: a credential may be cut off there. */
function troubleOf({ address, detail, verdict }: PartialEnd): string {
  const shown = (address === null ? null : shownAddress(address)) ?? 'no readable address';
  if (verdict?.kind === 'gone') return `nothing is found at ${shown} (status ${verdict.certain ? 410 : 404})`;
  const words = verdict === null ? detail : (wordsIn(verdict) ?? verdict.kind);
  return words.includes(shown)
    ? `no list of makes came: ${words}`
    : `no list of makes came from ${shown}: ${words}`;
}
