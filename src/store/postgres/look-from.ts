/**
 * Where a claim begins to look. What a row was before stays in its indexes for as long as anybody's snapshot is open, such as
 * a backup's: from their beginnings each claim would walk past all that was done meanwhile. So it begins with what a lane says
 * that may be due, and with the leases that ran out since the last claim. Once a minute it looks at all.
 */
import { besideMs } from '../set-back';

/** What the claims of this process looked at, by the store's clock. */
export interface Looked {
  atMs: number;
  /** At all, or tried to. */
  wholeAtMs: number;
  /** How many connections had been made by then. */
  connections: number;
}

export interface LookFrom {
  isWhole: boolean;
  /** Leases that ran out until then are not looked for. */
  leasesMs: number;
}

const wholeEveryMs = 60_000;

export function nothingLooked(): Looked {
  return { atMs: Number.NEGATIVE_INFINITY, wholeAtMs: Number.NEGATIVE_INFINITY, connections: 0 };
}

/** The server behind a new connection may be another, which has leases that ran out long ago. */
export function forgetFormer(looked: Looked, connections: number): void {
  if (looked.connections !== connections) Object.assign(looked, nothingLooked(), { connections });
}

/** What somebody kept locked then is met by the claims of some seconds. After a clock that was set back nothing is known. */
export function lookFrom({ atMs, wholeAtMs }: Looked, nowMs: number): LookFrom {
  const isWhole = nowMs < Math.max(atMs, wholeAtMs) || nowMs - wholeAtMs >= wholeEveryMs;
  return { isWhole, leasesMs: isWhole ? 0 : atMs - besideMs };
}

/**
 * To be called before it is looked at: a look at all for which the server has no time is not begun again by each claim. Those
 * that follow a first one, or one since the clock was set back, look for leases from then on.
 */
export function noteBegun(looked: Looked, { isWhole }: LookFrom, nowMs: number): void {
  if (!isWhole) return;
  looked.wholeAtMs = nowMs;
  if (looked.atMs > nowMs || looked.atMs === Number.NEGATIVE_INFINITY) looked.atMs = nowMs;
}

/** To be called once it is committed. Where leases are left of it, the next one begins there again. */
export function noteLook(looked: Looked, { isWhole }: LookFrom, nowMs: number, areLeft: boolean): void {
  if (!areLeft) looked.atMs = nowMs;
  else if (isWhole) looked.wholeAtMs = Number.NEGATIVE_INFINITY;
}
