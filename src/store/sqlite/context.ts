/**
 * What every verb of the embedded store leans on: the database, the clock, the settings that rules depend on, and what
 * is kept in memory beside the tables (lanes, organizations), undone when a group of calls is rolled back.
 */
import type { Condition } from '../../model/alert';
import type { StuckLog } from '../../model/inspection';
import type { QuarantineReason } from '../../model/notification';
import type { Seen } from '../set-back';
import type { StoreRules } from '../store-rules';
import type { Database } from './database';
import type { Lanes } from './lanes';
import type { OrganizationCache } from './organization-cache';
import type { Undo } from './transaction';

export interface StoreSettings extends StoreRules {
  /** `:memory:` or a path. */
  file: string;
}

export interface Lease {
  untilMs: number;
  fence: number;
  lane: string;
  /** Of the lane's organization when it was taken; 0 when it has none. */
  epoch: number;
}

export interface Context {
  database: Database;
  settings: StoreSettings;
  /** The store's clock, in milliseconds since the epoch. */
  nowMs(): number;
  /** By `nowMs`, of whoever called it. */
  seen: Seen;
  lanes: Lanes;
  organizations: OrganizationCache;
  /** Taken tasks by id: this process is the only one, so a lease need not be in a table. */
  leases: Map<number, Lease>;
  /** What each process told of itself, by its name. */
  conditions: Map<string, { untilMs: number; conditions: Condition[] }>;
  /** How far retention has walked through the log, the journals and what was set aside; 0 when it begins anew. */
  swept: { position: number; delivery: number; readOfTask: number; readWithFence: number; aside: number };
  /** While a ledger is told, and since when retention of deliveries has waited for one; null when it does not. */
  ledger: { untilMs: number; waitingSinceMs: number | null };
  /** Why the call that is executed set things aside. */
  setAside: QuarantineReason[];
  /** Since when each attempt to move the write-ahead log into the file has failed; null when the last one did not. */
  logStuck: StuckLog | null;
  /** Registers how to take back a change in memory when the transaction around this call is rolled back. */
  undo(action: Undo): void;
  /** Gives the next revision, persisted with the transaction; nobody is given it again, also where that is lost. */
  nextRevision(): number;
  /** A revision for a take, above the task's last fence. */
  nextFence(last: number): number;
  currentRevision(): number;
  /** False when who noted that revision may lean on what was answered then, and lost since. */
  soundRevision(noted: number): boolean;
  /** Gives the next public position, persisted with the transaction. */
  nextPosition(): number;
}
