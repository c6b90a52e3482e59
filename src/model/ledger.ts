/**
 * The account of notifications: each that was accepted stands on exactly one line. Types only.
 */

/** One line per notification: what became of it. */
export type LedgerLine =
  | 'published'
  | 'merged'
  | 'unchanged'
  | 'gone'
  | 'acted'
  | 'ignored'
  | 'parked'
  | 'quarantined'
  | 'discarded'
  | 'waiting';

export type Ledger = Record<LedgerLine, number> & { accepted: number };
