/**
 * Wire document → domain document: pure, bounded, and total. Whatever is handed in, the answer is a document that fits the
 * schema of its kind or a coded refusal with the path of what cannot be trusted. No addresses and no times of ours.
 */
import type { NormalizedDocument } from '../model/event';
import type { ResourceKind } from '../model/resource';
import { readEquipment } from './equipment';
import { checkFacts } from './event-schemas';
import { readFieldOperation } from './field-operation';
import { contentHashOf, wireHashOf } from './identity';
import { asRecord, Fault, type FaultCode, ownValue, type Reading, wrongType } from './reading';
import type { ResourceFacts } from './resource-facts';

export { checkEventValue, eventSchemas } from './event-schemas';
export type { FaultCode } from './reading';

/** Rises with every change of this room that makes another document of the same wire facts. */
export const normalizerVersion = 2;

export type Normalized =
  | { ok: true; document: NormalizedDocument }
  | { ok: false; path: string; code: FaultCode; detail: string };

const readers: Record<ResourceKind, (body: unknown, reading: Reading) => ResourceFacts> = {
  equipment: readEquipment,
  'field-operation': readFieldOperation,
};

const kindByType = new Map<string, ResourceKind>([
  ['Machine', 'equipment'],
  ['Implement', 'equipment'],
  ['FieldOperation', 'field-operation'],
]);

/**
 * Reads a parsed body of the provider; its `@type` decides the kind. Refusals carry a JSON pointer, a stable code and a
 * detail that quotes no value. Never throws; the work is linear in the body, which may hold a million values, 64 levels
 * deep. `includeOperatorNames`: whether names of persons are published.
 */
export function normalizeDocument(body: unknown, options: { includeOperatorNames: boolean }): Normalized {
  try {
    // First, because this walk is what makes it safe to read on.
    const wireHash = wireHashOf(body);
    const kind = kindOf(body);
    const reading: Reading = { includeOperatorNames: options.includeOperatorNames, unknown: new Set() };
    const { id, organizationId, facts, modifiedTime, archived } = readers[kind](body, reading);
    const fault = checkFacts(kind, facts);
    if (fault !== null) return { ok: false, code: 'schema-mismatch', ...fault };
    const contentHash = contentHashOf(facts);
    const unknownFields = [...reading.unknown];
    return {
      ok: true,
      document: {
        kind,
        id,
        organizationId,
        facts,
        contentHash,
        wireHash,
        normalizerVersion,
        modifiedTime,
        archived,
        unknownFields,
      },
    };
  } catch (error) {
    if (error instanceof Fault)
      return { ok: false, path: error.path, code: error.code, detail: error.message };
    // Not JSON.parse's work: an object whose reading throws.
    return { ok: false, path: '', code: 'unreadable', detail: 'the document cannot be read' };
  }
}

function kindOf(body: unknown): ResourceKind {
  const type = ownValue(asRecord(body, ''), '@type');
  if (type === undefined || type === null) throw new Fault('/@type', 'required', 'expected a type, got none');
  if (typeof type !== 'string') throw wrongType(type, '/@type', 'text');
  const kind = kindByType.get(type);
  if (kind === undefined) throw new Fault('/@type', 'unknown-type', 'the type is not one that is published');
  return kind;
}
