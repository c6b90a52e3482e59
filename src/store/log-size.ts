/**
 * How large the log of published events is: a sum that retention keeps beside its walk. It counts on from the position that
 * it has come to, and takes away what it deletes, so that no event has to be counted where it is written. Once a day it is
 * counted anew: a version that does not know of it may have deleted some. Pure.
 */

export interface LogSize {
  /** Events up to this position are counted. */
  until: number;
  bytes: number;
  /** When it was begun to count, in milliseconds since the epoch. */
  sinceMs: number;
}

const countedAnewMs = 86_400_000;

/** The names in `meta`. */
export const logSizeNames = ['log-counted', 'log-bytes', 'log-counted-since'] as const;

/** What `meta` says; nothing is counted where it says nothing. */
export function logSizeOf(values: ReadonlyMap<string, number>): LogSize {
  const [until, bytes, sinceMs] = logSizeNames.map((name) => values.get(name) ?? 0) as [
    number,
    number,
    number,
  ];
  return { until, bytes, sinceMs };
}

export function logSizeValues({ until, bytes, sinceMs }: LogSize): [string, number][] {
  const values = [until, bytes, sinceMs];
  return logSizeNames.map((name, at) => [name, values[at]!]);
}

/** To be asked where a walk begins: what it is counted on from. */
export function countedFrom(size: LogSize, nowMs: number): LogSize {
  const isTrusted = size.sinceMs <= nowMs && nowMs < size.sinceMs + countedAnewMs;
  return isTrusted ? size : { until: 0, bytes: 0, sinceMs: nowMs };
}

/** Of what was deleted, the bytes that were counted. */
export function uncounted(gone: readonly { position: number; bytes: number }[], until: number): number {
  return gone.reduce((sum, { position, bytes }) => (position <= until ? sum + bytes : sum), 0);
}
