/**
 * From a normalized document to the draft of its event: the value is written here, once, and never again. Pure: the same
 * document read at the same time from the same address gives the same text. Type, id and sequence are the store's.
 */
import type { EventDraft, NormalizedDocument } from '../model/event';
import { timeThatCame } from '../model/modification-time';

/** Where and when the document was read; the address carries no credentials, `observedAt` is ISO 8601 UTC. */
export interface ReadFacts {
  address: string;
  mediaType: string;
  observedAt: string;
}

/** The value is JSON: id, organizationId, observedAt, source, then the facts in their order. Throws nothing. */
export function draftEvent(document: NormalizedDocument, read: ReadFacts): EventDraft {
  const { kind, id, organizationId, facts } = document;
  const { address, mediaType, observedAt } = read;
  const identity = { id, organizationId, observedAt, source: { address, mediaType } };
  return {
    kind,
    id,
    organizationId,
    contentHash: document.contentHash,
    wireHash: document.wireHash,
    normalizerVersion: document.normalizerVersion,
    modifiedTime: timeThatCame(document.modifiedTime, observedAt),
    archived: document.archived,
    value: writeValue(identity, facts),
    address,
    mediaType,
    observedAt,
  };
}

/** Identity first, for people who read; no fact of the same name can take its place. */
function writeValue(identity: Record<string, unknown>, facts: Record<string, unknown>): string {
  for (const name in identity) {
    if (Object.hasOwn(facts, name)) return JSON.stringify({ ...identity, ...facts, ...identity });
  }
  const [first, rest] = [JSON.stringify(identity), JSON.stringify(facts)];
  return rest === '{}' ? first : `${first.slice(0, -1)},${rest.slice(1)}`;
}
