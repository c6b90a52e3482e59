/**
 * The rows that tell what a delivery said of each task and what came of it, as every store hands them over. Shapes and columns only.
 */
import type { EntryToTell, ToldEvent } from './event-steps';

export interface DeliveryToTell {
  received_at: number;
  message_id: string | null;
  traceparent: string | null;
  notifications: number;
  elements: string;
}

export const readColumns =
  'task_id, fence, generation, outcome, reason, event_id, swept, connection_id, switched_from, at';

/**
 * What a read makes of the line of the notifications that it covers: 0 where its settling read may tell it anew, 1 where the
 * line is final with it, 2 where it was final before. A version that does not know of this writes 0.
 */
export const finality = { open: 0, final: 1, late: 2 };

/**
 * The outcome of a read that found nothing at an address whose notifications were told already: what it read for had the
 * resource itself read. It tells of no notification. Its reason says so where that was a sync or a replay.
 */
export const passedOn = { outcome: 'passed-on', reconciled: 'reconciled' };

/**
 * Of the reads of one generation the first in this order tells what became of it, to the ledger and to a journey alike: a
 * settling read tells its line anew, unless it found nothing where the read before it had published; whatever is read after
 * it for another reason tells nothing of the notification.
 */
export const tellingFirst = `outcome = '${passedOn.outcome}', finality = ${finality.late},
  outcome = 'published' DESC, fence DESC`;

export interface ReadToTell {
  task_id: number;
  fence: number;
  generation: number;
  outcome: string;
  reason: string | null;
  event_id: string | null;
  /** Retention has taken that event; a number where the store has no booleans. */
  swept: boolean | number;
  connection_id: string | null;
  /** The connection that the resource was kept with until this read. */
  switched_from: string | null;
  at: number;
}

/** A read, or an operator's word that ended a task as one would: then with the entry that it was given up as, if it had one. */
export interface ToldRead extends ReadToTell {
  givenUp: GivenUp | null;
}

/** The reason of a read's row that says that its organization was forgotten. */
export const forgottenReason = 'organization-forgotten';

/** A task that is not done, with the access of its lane's organization. */
export interface TaskToTell {
  state: string;
  due_at: number | null;
  attempts: number;
  code: string | null;
  detail: string | null;
  /** Of its organization, or `forgotten`; null where it is of none. */
  access: string | null;
  /** What an operator has of it while it is quarantined. */
  entry_id: number | null;
  entry_at: number | null;
  entry_reason: string | null;
  entry_path: string | null;
}

/** What retention folded of a task's notifications while no read had covered them. Columns of tasks `t`. */
export interface FoldedToTell {
  folded: number;
  folded_first_at: number;
  folded_last_at: number;
}

export const foldedColumns = 't.folded, t.folded_first_at, t.folded_last_at';

/** What a notification of the delivery made of its task. */
export interface Marked {
  element: number;
  generation: number;
}

/** The read that tells what the delivery said of one task, with its events; or the task, while none covers it. */
export type Covered = { hints: Marked[] } & (
  | { read: ToldRead; events: ToldEvent[] }
  | { waiting: TaskToTell | undefined }
);

/** What an operator has of a notification or of a task. */
export interface AsideToTell extends EntryToTell {
  path: string;
}

/** That of a task which was given up, or tried once more. */
export interface GivenUp extends AsideToTell {
  detail: string | null;
}

/** That of a notification, by its number; `raw` is its redacted text, cut where it is long. */
export interface ElementEntry extends AsideToTell {
  element: number | null;
  raw: string | null;
}

/** One of whichever delivery. */
export interface RefusedEntry extends ElementEntry {
  delivery_id: number;
}

/** No index leads from an address to entries that name it: so many are looked at, those with the highest numbers. */
export const refusedLookedAtMax = 2000;

/** `end` and `key` are written as the store's parameters and columns are; every key ends with nothing. */
export const endsWith = (key: string, end: string): string =>
  `substr(${key}, length(${key}) - length(${end}) + 1) = ${end}`;

/** Of reads: not those that decided events of another resource, which stood at the address before. `end` is that of its keys. */
export const decidedNothingBut = (end: string): string =>
  `NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = reads.event_id AND NOT (${endsWith('o.key', end)}))`;
