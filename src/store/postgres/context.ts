/**
 * What every verb of the scaled store leans on. Several processes share the store: nothing that a rule depends on is kept
 * in memory, and whatever a verb changes it has locked before. Locks are taken in this order, sorted within each kind:
 * organizations, tasks, unclaimed resources, sequences, rows of the outbox, ends of topics, the last position, lanes.
 */
import type { QuarantineReason } from '../../model/notification';
import type { News } from '../../model/store';
import type { Seen } from '../set-back';
import type { StoreRules } from '../store-rules';
import type { LaneChanges } from './lanes';
import type { Looked } from './look-from';
import type { Statements } from './server/database';

export interface PostgresSettings extends StoreRules {
  /** `postgres://user:password@host:port/database` */
  url: string;
  /** Connections of this process at most. */
  connections: number;
}

export interface Context {
  /** Statements of the transaction that the verb is called in. */
  database: Statements;
  settings: PostgresSettings;
  /** The store's clock when the transaction began, in milliseconds since the epoch. */
  nowMs(): number;
  /** What stands for the store's clock, for tests; null where it is the clock itself. */
  toldMs: number | null;
  /** By all transactions of this process. */
  seen: Seen;
  looked: Looked;
  /** What becomes of lanes: written as the last thing of the transaction. */
  lanes: LaneChanges;
  /** What other processes are told once the transaction is committed. */
  news: Set<News>;
  /** Called once the transaction is committed. */
  committed: (() => void)[];
  /** Why things were set aside: told once the transaction is committed. */
  setAside: QuarantineReason[];
  /** Whoever has the store wants to be rid of it: what goes on page by page ends with this one. */
  isClosing(): boolean;
}

/** Runs one transaction of a verb that needs several, so that no read outlives a page. */
export type InTransaction = <Result>(work: (context: Context) => Promise<Result>) => Promise<Result>;
