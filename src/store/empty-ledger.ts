/**
 * A ledger in which nothing was accepted yet, for every store to add to.
 */
import type { Ledger } from '../model/ledger';

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
