/**
 * Where a claim begins to look. What a row was before stays in its indexes for as long as anybody's snapshot is open, such as
 * a backup's: from their beginnings each claim would walk past all that was done meanwhile. So it begins with what a lane says
 * that may be due, and with the leases that ran out since the last claim. Once a minute it looks at all. Pure.
 */
import { besideMs } from '../set-back';

/** What the claims of this process looked at, by the store's clock. */
export interface Looked {
  atMs: number;
  /** At all. */
  wholeAtMs: number;
}

export interface LookFrom {
  isWhole: boolean;
  /** Leases that ran out until then are not looked for. */
  leasesMs: number;
}

const wholeEveryMs = 60_000;

export function nothingLooked(): Looked {
  return { atMs: Number.NEGATIVE_INFINITY, wholeAtMs: Number.NEGATIVE_INFINITY };
}

/** What somebody kept locked then is met by the claims of some seconds. After a clock that was set back nothing is known. */
export function lookFrom({ atMs, wholeAtMs }: Looked, nowMs: number): LookFrom {
  const isWhole = nowMs < atMs || nowMs - wholeAtMs >= wholeEveryMs;
  return { isWhole, leasesMs: isWhole ? 0 : atMs - besideMs };
}

/** To be called once it is committed, and only where nothing is left of it. */
export function noteLook(looked: Looked, { isWhole }: LookFrom, nowMs: number): void {
  looked.atMs = nowMs;
  if (isWhole) looked.wholeAtMs = nowMs;
}
