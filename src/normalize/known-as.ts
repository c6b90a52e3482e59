/**
 * A document as the resource that it is known as here: the older endpoints and the newer API may call one piece of
 * equipment by different ids, and one of them says of it what the other leaves out. Pure.
 */
import type { KnownEquipment } from '../model/equipment-names';
import type { NormalizedDocument } from '../model/event';
import { contentHashOf } from './identity';

/** null: the document is what it says. */
export function documentOf(document: NormalizedDocument, known: KnownEquipment | null): NormalizedDocument {
  if (known === null) return document;
  const { id, principalId } = known;
  const saysAll = principalId === null || (document.facts.principalId ?? null) !== null;
  if (saysAll) return id === document.id ? document : { ...document, id };
  const facts = { ...document.facts, principalId };
  return { ...document, id, facts, contentHash: contentHashOf(facts) };
}
