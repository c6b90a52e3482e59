/**
 * The account of notifications: each that was accepted stands on exactly one line. It imports nothing.
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

/** One in which nothing was accepted yet, to add to. */
export function emptyLedger(): Ledger {
  return {
    accepted: 0,
    published: 0,
    merged: 0,
    unchanged: 0,
    gone: 0,
    acted: 0,
    ignored: 0,
    parked: 0,
    quarantined: 0,
    discarded: 0,
    waiting: 0,
  };
}
