/**
 * The events that one decision about a resource consists of. Pure: whoever calls gives them their sequences and keeps them.
 */
import {
  type Change,
  completeRecord,
  deletedValue,
  type EventDraft,
  type EventEnvelope,
  type RecordParts,
  recordBytes,
} from '../model/event';
import { type EventKind, keyOf, type ResourceKind } from '../model/resource';

/** An event without its sequence. */
export interface DecidedEvent<Kind extends EventKind = ResourceKind> extends Omit<RecordParts, 'sequence'> {
  kind: Kind;
}

/** One that is to be kept, with what is on record beside it. */
export interface EventToWrite extends DecidedEvent<EventKind> {
  taskId: number | null;
  /** Forgotten where the organization's access changed since: the time that passed was its customer's, not ours. */
  acceptedAtMs: number | null;
  /** What the event traces to, for `explain`. */
  cause: string;
}

/**
 * None when there is no change; a move is a deletion under each former owner's key and a creation under the new one's.
 * `too-large` is said before a sequence is given, so that a refused document leaves no gap. A record is counted byte by
 * byte where its value and 16 KiB of headers might be too much.
 */
export function eventsOf(
  read: { draft: EventDraft; traceparent: string | null; reconciled: boolean },
  change: Change | null,
  movedFrom: string[],
  envelope: EventEnvelope,
): DecidedEvent[] | 'too-large' {
  if (change === null) return [];
  const { draft, traceparent, reconciled } = read;
  const { kind, id, observedAt, address, mediaType } = draft;
  const common = { kind, observedAt, traceparent, reconciled };
  const decided: DecidedEvent = {
    ...common,
    key: keyOf(draft.organizationId, kind, id),
    change,
    contentHash: draft.contentHash,
    value: draft.value,
  };
  if (isTooLarge(decided, envelope)) return 'too-large';
  const movedTo = draft.organizationId;
  const left = movedFrom.map(
    (organizationId): DecidedEvent => ({
      ...common,
      key: keyOf(organizationId, kind, id),
      change: 'deleted',
      contentHash: 'deleted',
      value: deletedValue({ id, organizationId, observedAt, address, mediaType, movedTo }),
    }),
  );
  return [...left, decided];
}

/** The organizations that it left by being this one's: its former owner, and wherever else it stands by the topics. */
export function leftBy(
  { organizationId }: Pick<EventDraft, 'organizationId'>,
  stood: string[],
  moved: string | null,
): string[] {
  const left = new Set([...stood, ...(moved === null ? [] : [moved])]);
  left.delete(organizationId);
  return [...left];
}

/** Generous for what is in a record beside its value. */
const headersBytesMax = 16_384;

/** A text has at most three bytes for each of its units: most records need no closer look. */
function isTooLarge(decided: DecidedEvent, envelope: EventEnvelope): boolean {
  if (3 * decided.value.length + headersBytesMax <= envelope.recordBytesMax) return false;
  return recordBytes(completeRecord({ ...decided, sequence: 0 }, envelope)) > envelope.recordBytesMax;
}
