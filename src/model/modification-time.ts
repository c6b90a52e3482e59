/**
 * Whether a provider's time of modification can order the states of a resource. The one rule for reads and listings, and
 * for what is stored already. Pure; what is published is not touched by it.
 */

/** As far as two clocks may be apart: a provider refuses signatures that are off by more. */
const clocksApartMsMax = 300_000;

/**
 * The time itself; null where there is none, or where it had not come yet when the document was read: such a state is
 * ordered by the reads alone, as that of a kind without times. Both are ISO 8601; a time that cannot be read is null.
 * Clocks may be 5 minutes apart.
 */
export function timeThatCame(modifiedTime: string | null, observedAt: string): string | null {
  if (modifiedTime === null) return null;
  return Date.parse(modifiedTime) <= Date.parse(observedAt) + clocksApartMsMax ? modifiedTime : null;
}
