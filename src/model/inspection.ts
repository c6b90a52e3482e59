/**
 * What people read of the store, and what they decide about what was set aside. Pages are bounded, and no read outlives a
 * page. Any verb may throw `store.unavailable` (nothing was changed; try again) or `store.closed`.
 */
import type { PublishedEvent } from './event';
import type { Ledger } from './ledger';
import type { Element, QuarantineReason } from './notification';
import type { Access } from './organization';
import type { TaskState } from './task';

export interface TaskView {
  id: number;
  state: TaskState | 'parked';
  address: string;
  organizationId: string | null;
  kind: string | null;
  resourceId: string | null;
  generation: number;
  attempts: number;
  dueAt: string | null;
  code: string | null;
  detail: string | null;
}

export interface QuarantineView {
  id: string;
  what: 'notification' | 'delivery' | 'task' | 'record';
  reason: QuarantineReason;
  path: string;
  detail: string | null;
  organizationId: string | null;
  address: string | null;
  deliveryId: string | null;
  at: string;
  state: 'waiting' | 'released' | 'discarded';
  raw: string | null;
}

export interface ExplainStep {
  at: string;
  step: string;
  text: string;
  [detail: string]: unknown;
}

/** What one call of retention did. */
export interface Swept {
  /** Rows that were deleted. */
  rows: number;
  /** There may be more to delete now: the walk through log and journals has not come to its end. */
  more: boolean;
}

/** A write-ahead log that grows, since it cannot be moved into the store's file. */
export interface StuckLog {
  sinceMs: number;
  /** What the last attempt met. */
  detail: string;
}

export interface Inspection {
  listTasks(filter: { state: TaskView['state'] | null; limit: number; after: number }): Promise<TaskView[]>;
  listQuarantine(filter: { limit: number; after: string | null }): Promise<QuarantineView[]>;
  showQuarantine(id: string): Promise<QuarantineView | null>;
  /**
   * A task is read afresh; so is the resource of a record, which itself is sent only while it is the newest of its key.
   * Refused for what is neither.
   */
  releaseQuarantine(id: string): Promise<'released' | 'not-found' | 'refused'>;
  /**
   * Releases a notification as what its kept bytes were judged to be now. Refused when they are still bad, or when it
   * was not authenticated.
   */
  rejudge(id: string, element: Element): Promise<'released' | 'not-found' | 'refused'>;
  discardQuarantine(id: string): Promise<'discarded' | 'not-found'>;
  /**
   * Published events above a position, in order: as many as asked for, or fewer when they are large; none when there are
   * no more. One that is damaged is among them and says so. Up to `floor` only the newest event of each key is still kept; `last` is
   * the highest position that was given.
   */
  listEvents(filter: {
    after: number;
    limit: number;
    type: string | null;
    organizationId: string | null;
  }): Promise<{ events: PublishedEvent[]; floor: number; last: number }>;
  /**
   * The journey of a delivery (`d12`), an event id, a resource's address or key, or the key of an organization's access; null
   * when it is unknown.
   */
  explain(
    of: string,
  ): Promise<{ of: string; what: 'delivery' | 'event' | 'resource'; steps: ExplainStep[] } | null>;
  ledger(): Promise<Ledger>;
  counts(): Promise<{
    due: number;
    /** What is due among them. */
    waiting: number;
    parked: number;
    quarantined: number;
    /** 100,000 says that there are as many or more. */
    unsent: number;
    /** Of the oldest notification that waits to be read in an active organization, however its read is put off; null when none does. */
    oldestWaitingAgeMs: number | null;
    /** Without those that only deliveries named: nobody knows whether they may be read. */
    organizations: Record<Access, number>;
  }>;
  /** For how long nobody holds a named lease: 0 while somebody does, null where nobody ever did. */
  leaseFreeMs(name: string): Promise<number | null>;
  /**
   * Deletes what is beyond its retention, and looks at a bounded number of rows a call: whoever calls it until there is no
   * more has looked at all of them once.
   */
  sweep(): Promise<Swept>;
  /** How much of the disk it takes: of the embedded store what is in use, of the scaled one the whole database. */
  storeBytes(): Promise<number>;
  /** Of the embedded store, when each attempt failed since some time; null otherwise. A server looks after its own. */
  logStuck(): Promise<StuckLog | null>;
  /**
   * Writes and commits nothing but a heartbeat: true readiness for deliveries. Of `all`, whether what endings and publishing
   * write to can be written as well: a scaled store may take deliveries and do nothing else.
   */
  ready(of?: 'deliveries' | 'all'): Promise<void>;
}
