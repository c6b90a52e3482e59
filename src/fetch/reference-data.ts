/**
 * Makes, types and models of equipment: the same for every user, read page by page through the first connection that is
 * shown them, and remembered. A list that could not be read to its end is not, nor one of which an entry cannot be read:
 * it would be told of for a day after the provider has put it right.
 */
import type { RawFault, RawItem, RawRead, ReferenceKind } from '../model/provider-data';
import type { Caller } from './caller';
import type { EquipmentAddresses } from './equipment-addresses';
import type { ProviderDoors } from './options';
import { equipmentLimits, idOf } from './pages';
import { connectionReaches, faultOf, gravest, itemsOf, type ListParts, type Reach } from './reach';

export type Reference = (kind: ReferenceKind) => Promise<RawRead<RawItem[]>>;

export interface ReferenceParts extends ListParts {
  doors: ProviderDoors;
  equipment: EquipmentAddresses;
  /** Each call under a deadline of its own. */
  caller(): Caller;
}

const names: Record<ReferenceKind, string> = {
  makes: 'equipmentMakes',
  types: 'equipmentTypes',
  models: 'equipmentModels',
};
const rememberedMs = 86_400_000;
/** More is no list of makes, types or models. */
const entriesMax = 100_000;

/** Callers that come together share one read. Never rejects. A list of more than 100,000 entries is malformed. */
export function makeReference(parts: ReferenceParts): Reference {
  const remembered = new Map<ReferenceKind, { values: RawItem[]; untilMs: number }>();
  const reading = new Map<ReferenceKind, Promise<RawRead<RawItem[]>>>();

  /** What one user is refused, or a token that has just ended, keeps nobody from a list that is the same for all. */
  async function read(kind: ReferenceKind): Promise<RawRead<RawItem[]>> {
    const faults: RawFault[] = [];
    for (const reached of connectionReaches(parts.doors, null)) {
      const result = 'fault' in reached ? reached : await readThrough(kind, reached.reach);
      if ('value' in result) return result;
      faults.push(result.fault);
    }
    return { fault: gravest(faults) };
  }

  async function readThrough(kind: ReferenceKind, reach: Reach): Promise<RawRead<RawItem[]>> {
    const { doors, equipment } = parts;
    const caller = parts.caller();
    const catalog = await caller.catalog(reach.connection, false);
    if ('answer' in catalog) return { fault: faultOf(catalog.answer, null, null) };
    const first = equipment.collection(names[kind]);
    const walk = { first, operation: 'equipment-reference', reach, caller, embeds: [] } as const;
    const values: RawItem[] = [];
    for await (const line of itemsOf(parts, { ...walk, limits: equipmentLimits })) {
      if ('fault' in line) return line;
      values.push(line.item);
      if (values.length > entriesMax) {
        const detail = `expected at most ${entriesMax} entries, got more`;
        return { fault: { answer: null, detail, address: first, organizationId: null } };
      }
    }
    if (values.every(({ body }) => isReadable(body)))
      remembered.set(kind, { values, untilMs: doors.clock.nowMs() + rememberedMs });
    return { value: values };
  }

  return async (kind) => {
    const known = remembered.get(kind);
    if (known !== undefined && known.untilMs > parts.doors.clock.nowMs()) return { value: known.values };
    const running = reading.get(kind) ?? read(kind).finally(() => reading.delete(kind));
    reading.set(kind, running);
    return running;
  };
}

/** An entry has an id, and a name that is text where it has one. */
function isReadable(body: unknown): boolean {
  if (idOf(body) === null) return false;
  const { name } = body as { name?: unknown };
  return typeof name === 'string' || name === undefined || name === null;
}
