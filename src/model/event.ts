/**
 * What Tramline publishes. An event is decided once: key, value and every header are bytes in the outbox before the
 * first attempt to send them. Identity, type and sequence are completed here, by pure functions that the store calls
 * inside the transaction that gives the sequence. CloudEvents 1.0, Kafka binary binding.
 */
import { hash } from 'node:crypto';
import { timeThatCame } from './modification-time';
import type { EventKind, ResourceKind } from './resource';

export type Change = 'created' | 'updated' | 'archived' | 'restored' | 'deleted' | 'blocked' | 'unblocked';

/** A document that left the normalizer: facts of the domain, without addresses and without times of ours. */
export interface NormalizedDocument {
  kind: ResourceKind;
  id: string;
  organizationId: string;
  /** The facts to publish; fits the kind's schema once id, organizationId, observedAt and source are added. */
  facts: Record<string, unknown>;
  /** SHA-256, hex, over the canonical facts. */
  contentHash: string;
  /** SHA-256, hex, over the wire document without its links: tells a new normalizer from a new fact. */
  wireHash: string;
  normalizerVersion: number;
  /** ISO 8601 UTC as the provider says it; null for kinds that have none. */
  modifiedTime: string | null;
  archived: boolean;
  /** Paths of fields that the normalizer does not know: counted, never fatal. */
  unknownFields: string[];
}

/** What the pipeline hands to the store when a read is finished: everything but type, id and sequence. */
export interface EventDraft {
  kind: ResourceKind;
  id: string;
  organizationId: string;
  contentHash: string;
  wireHash: string;
  normalizerVersion: number;
  /** Orders this state among others; null where the provider says none, or one that has not come yet. */
  modifiedTime: string | null;
  archived: boolean;
  /** The record's value: UTF-8 JSON, never changed afterwards. */
  value: string;
  /** Where the document was read: without credentials, also kept as an alias of the resource. */
  address: string;
  mediaType: string;
  observedAt: string;
}

/** What is the same for every event of an installation. */
export interface EventEnvelope {
  /** `ce_source`: the provider's catalog origin and vendor. */
  source: string;
  topicPrefix: string;
  /** A record larger than this (key, value and headers) is refused before it gets a sequence. */
  recordBytesMax: number;
}

/** The exact bytes of a record, as text: every header and the value are UTF-8. */
export interface EventRecord {
  eventId: string;
  topic: string;
  key: string;
  headers: [name: string, value: string][];
  value: string;
}

/** Twenty digits, so that sequences compare as text. */
function formatSequence(sequence: number): string {
  return String(sequence).padStart(20, '0');
}

/** `<prefix>.<kind>.v1` */
export function topicOf(topicPrefix: string, kind: EventKind): string {
  return `${topicPrefix}.${kind}.v1`;
}

/** The address under which the schema of a kind's value is published. */
export function dataschemaOf(kind: EventKind): string {
  return `https://schemas.tramline.io/event/${kind}.v1.schema.json`;
}

export interface RecordParts {
  kind: EventKind;
  key: string;
  sequence: number;
  change: Change;
  contentHash: string;
  value: string;
  observedAt: string;
  traceparent: string | null;
  /** True when no webhook announced the change. */
  reconciled: boolean;
}

/**
 * The record of one event. The same parts give the same bytes, and `ce_id` depends only on source, key, sequence and
 * content, so that a restarted process decides the same id.
 */
export function completeRecord(parts: RecordParts, envelope: EventEnvelope): EventRecord {
  const sequence = formatSequence(parts.sequence);
  const content = `${envelope.source}\n${parts.key}\n${sequence}\n${parts.change}\n${parts.contentHash}`;
  const digest = hash('sha256', content, 'hex');
  const eventId = digest.slice(0, 32);
  const headers: [string, string][] = [
    ['ce_specversion', '1.0'],
    ['ce_id', eventId],
    ['ce_source', envelope.source],
    ['ce_type', `io.tramline.${parts.kind}.${parts.change}.v1`],
    ['ce_subject', parts.key],
    ['ce_time', parts.observedAt],
    ['ce_dataschema', dataschemaOf(parts.kind)],
    ['ce_sequence', sequence],
  ];
  if (parts.reconciled) headers.push(['ce_reconciled', 'true']);
  headers.push(['content-type', 'application/json']);
  // What nobody's request led to begins a trace of its own, the same whenever it is decided.
  headers.push(['traceparent', parts.traceparent ?? `00-${eventId}-${digest.slice(32, 48)}-00`]);
  return {
    eventId,
    topic: topicOf(envelope.topicPrefix, parts.kind),
    key: parts.key,
    headers,
    value: parts.value,
  };
}

/** SHA-256, hex, over what a decision may give anew for the same id: `headers` is the JSON of their list, in their order. */
export function bytesHashOf(headers: string, value: string): string {
  return hash('sha256', `${headers}\n${value}`, 'hex');
}

/** Bytes that a record takes on the wire, within a few bytes: key, value and headers in UTF-8. */
export function recordBytes(record: EventRecord): number {
  let bytes = Buffer.byteLength(record.key) + Buffer.byteLength(record.value);
  for (const [name, value] of record.headers) bytes += name.length + Buffer.byteLength(value) + 4;
  return bytes + 32;
}

/** What was published last under a key, as far as the next decision needs it. */
export interface PublishedState {
  contentHash: string;
  wireHash: string;
  normalizerVersion: number;
  modifiedTime: string | null;
  archived: boolean;
  deleted: boolean;
}

export type ChangeDecision =
  | { change: Change; reason: string }
  | { change: null; reason: 'same-content' | 'older-than-published' | 'new-normalizer' | 'older-normalizer' };

/**
 * What a read means, given what was published last. Another version of the normalizer re-baselines silently where the
 * wire facts are equal, otherwise it publishes; an older normalizer than the stored one decides nothing. Where it has `moved`, what
 * was published last stands under the key of its former owner, and nothing under that of its new one.
 */
export function changeOf(previous: PublishedState | null, draft: EventDraft, moved = false): ChangeDecision {
  if (previous === null) return { change: 'created', reason: 'first-seen' };
  if (draft.normalizerVersion < previous.normalizerVersion)
    return { change: null, reason: 'older-normalizer' };
  // Also after a deletion or a move: a read model that lags shows what was there before.
  if (isOlder(draft.modifiedTime, timeThatCame(previous.modifiedTime, draft.observedAt)))
    return { change: null, reason: 'older-than-published' };
  if (moved) return { change: 'created', reason: 'moved' };
  if (previous.deleted) return { change: 'created', reason: 'seen-again' };
  if (draft.contentHash === previous.contentHash) return { change: null, reason: 'same-content' };
  if (draft.normalizerVersion > previous.normalizerVersion && draft.wireHash === previous.wireHash) {
    return { change: null, reason: 'new-normalizer' };
  }
  if (draft.archived !== previous.archived) {
    return { change: draft.archived ? 'archived' : 'restored', reason: 'archived-flag' };
  }
  return { change: 'updated', reason: 'content' };
}

function isOlder(time: string | null, than: string | null): boolean {
  return time !== null && than !== null && Date.parse(time) < Date.parse(than);
}

/** The value of a `deleted` event: no facts, and where the resource went when it moved to another organization. */
export function deletedValue(parts: {
  id: string;
  organizationId: string;
  observedAt: string;
  address: string;
  mediaType: string;
  movedTo: string | null;
}): string {
  const { id, organizationId, observedAt, address, mediaType, movedTo } = parts;
  const source = { address, mediaType };
  return JSON.stringify(
    movedTo === null
      ? { id, organizationId, observedAt, source }
      : { id, organizationId, observedAt, source, movedTo },
  );
}

/** A row of the outbox by its number, and what it holds: a failover that loses it gives the number to another event. */
export interface EventRow {
  /** Order of commit within the store. */
  row: number;
  eventId: string;
}

/** A row of the outbox as the relay sends it. */
export interface OutboxRow extends EventRow {
  topic: string;
  key: string;
  sequence: number;
  headers: [name: string, value: string][];
  value: string;
  /** When the earliest notification behind it was accepted, for freshness; null when none was, or when it was parked. */
  acceptedAtMs: number | null;
}

/** Where a row of the outbox stands. */
export interface RowPlace {
  row: number;
  /** null for the embedded log, as is the offset. */
  partition: number | null;
  offset: string | null;
}

/** What a broker, or the embedded log, acknowledged. */
export interface Acknowledgement extends EventRow, RowPlace {}

/** A published event as `tramline events` shows it. */
export interface PublishedEvent {
  position: number;
  record: EventRecord;
  topic: string;
  partition: number | null;
  offset: string | null;
  /** Why headers and value cannot be read back: then they are empty. null when they can. */
  damaged: string | null;
}

/**
 * The slot of a key, a whole number in [0, 2^31): murmur2 of its UTF-8 bytes as Kafka's own clients compute it. A topic
 * of n partitions keeps the key in partition `slot % n`, so store and publisher set the same rows aside.
 */
export function slotOf(key: string): number {
  const bytes = Buffer.from(key);
  const { length } = bytes;
  const mix = 0x5bd1e995;
  let hash = 0x9747b28c ^ length;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    let word = Math.imul(bytes.readInt32LE(at), mix);
    word = Math.imul(word ^ (word >>> 24), mix);
    hash = Math.imul(hash, mix) ^ word;
  }
  const rest = length - at;
  if (rest > 0) hash = Math.imul(hash ^ bytes.readUIntLE(at, rest), mix);
  hash = Math.imul(hash ^ (hash >>> 13), mix);
  return (hash ^ (hash >>> 15)) & 0x7fffffff;
}
