/**
 * What the rules of every store depend on, whatever keeps the rows.
 */
import type { EventEnvelope } from '../model/event';
import type { ReplayCounts } from '../model/replay';

export interface StoreRules {
  envelope: EventEnvelope;
  /** Address and media type that access events name as their source. */
  catalogAddress: string;
  catalogMediaType: string;
  leaseMs: number;
  /** A resource is read at most once in this time. */
  readGapMs: number;
  probeMs: number;
  probeMsMax: number;
  /** Of all organizations and all processes together, in any minute. */
  probesPerMinute: number;
  journalMs: number;
  eventMs: number;
  /** While the log is larger, superseded events go before their time, the oldest first. */
  eventBytesMax: number;
  /** Of this process: what a higher one has read is left to whoever has that. */
  normalizerVersion: number;
}

/** What only a newer version may read is put off for so long; the newer one has it back as soon as it looks. */
export const leftToNewerMs = 3_600_000;
/** A claim puts off so many, and a round more. */
export const leftToNewerMax = 1000;

/** However large the log is, an event stays so long: who follows it meets it. */
export const eventKeptMs = 60_000;

/** The place of a walk of retention that has come to its end; it begins anew, at 0, once all of them have. */
export const walkEnded = -1;

/**
 * When a resource may be read again: not before the gap after its last read is over. A time of reading that is ahead of now is
 * one from before the clock was set back: it holds nothing up for longer.
 */
export function freeAtMs(readAtMs: number | null, nowMs: number, gapMs: number): number {
  return readAtMs === null ? nowMs : Math.min(readAtMs, nowMs) + gapMs;
}

/** The longest time in which hints of one organization cause no more than one probe. */
const hintedGapMsMax = 60_000;

/** Hints cause at most one probe of an organization in this time: a minute, or four of the first pauses where they are shorter. */
export function hintedGapMs({ probeMs }: Pick<StoreRules, 'probeMs'>): number {
  return Math.min(hintedGapMsMax, 4 * probeMs);
}

/** A sync that was left so long ago says too little of today: another one begins. */
export const resumableMs = 86_400_000;
/** So many runs of a sync, and so many replays, stay on record. */
export const runsKept = 100;
/** So many resources of an organization may be missed at once, whatever their share is. */
export const absentMin = 20;

/** What is unsent is counted up to so many rows: a number above it would cost its reading, and says no more. */
export const unsentCountedMax = 100_000;

/** A page of the log of events holds no more bytes, unless its first event alone does. */
export const eventsBytesMax = 8_000_000;

/** Names of `meta` that remember whose access is to be told as soon as it is learned. */
export const untoldPrefix = 'untold-access:';

/**
 * Names of `meta` that hold, by kind of event, a number at or below which none is given any more: another life of the store may
 * have given it. A key that has its own above goes on from there.
 */
export const numberFloorPrefix = 'number-floor:';

/**
 * Names of `meta` that hold, by kind of event, the number up to which records of any key may be gone that this store never had: up to
 * it nobody knows whether an event is the newest of its key.
 */
export const lostFloorPrefix = 'lost-floor:';

/** Of a row of the outbox that is named so: what `meta` holds under this prefix for its kind. `kind` is how a store takes that from its key. */
export const floorBy = (prefix: string, kind: string): string =>
  `coalesce((SELECT value FROM meta WHERE name = '${prefix}' || ${kind}), 0)`;

/**
 * Of a row of the outbox that is named so, refused by Kafka, released, and its key's newest: its state. One that never went out is set
 * aside where another life of the store may have given its number; one that did stays refused where records are gone.
 */
export const releasedState = (row: string, kind: string): string =>
  `CASE WHEN ${row}.sequence <= ${floorBy(lostFloorPrefix, kind)} AND ${row}.log_offset IS NOT NULL THEN 3
    WHEN ${row}.sequence <= ${floorBy(numberFloorPrefix, kind)} AND ${row}.log_offset IS NULL THEN 4 ELSE 0 END`;

/**
 * Of a key's row `s` in `sequences`: the number of its newest event that was sent, or is to be. Numbers above it were
 * refused by Kafka, and no record has them; the one below may be a record of another life of the store.
 */
export const newestNumber = 'CASE WHEN s.sequence > s.refused THEN s.sequence ELSE s.below_refused END';

/**
 * Of a row of the outbox that is named so: the task as which its resource is read, whatever address its event came through; where
 * none is that resource's, the one at that address. `kind` and `id` are how a store takes them from the row's key.
 */
export const readTaskBy = (row: string, kind: string, id: string): string => `coalesce(
  (SELECT p.id FROM tasks p WHERE p.kind = ${kind} AND p.resource_id = ${id}),
  (SELECT coalesce(p.joined_to, p.id) FROM tasks p WHERE p.id = ${row}.task_id))`;

/**
 * Of a task that falls due though no notification came: at rest, nothing announced what its read will find. What was set aside
 * stays as announced as it was.
 */
export const asAnnounced = `reconciled = (state = 'done' OR reconciled),
  traceparent = CASE WHEN state = 'done' THEN NULL ELSE traceparent END`;

/**
 * What is asked of a record of the outbox that was never published, whose id is `of`, while nothing newer of its key was decided: its
 * resource stands on no topic as it is held here. `asked`: its task, as the store reads that, or a column of `o`.
 */
export const unpublishedOf = (of: string, asked: string): string => `SELECT ${asked}
  FROM outbox o JOIN sequences s ON s.key = o.key AND s.sequence = o.sequence
  WHERE o.id = ${of} AND o.log_offset IS NULL`;

/** Of `quarantine`: a refused record is kept that nothing else tells the end of, as long as a read tells of that record. */
export const tellsRecord =
  'coalesce((SELECT o.state = 3 FROM outbox o WHERE o.id = quarantine.outbox_id), false)';

/** The counts with which a replay begins. */
export function nothingReplayed(): ReplayCounts {
  return { selected: 0, keys: 0, replayed: 0 };
}
