/**
 * What can be an id of the provider's: what events are keyed by, stored under, and written into addresses and on command
 * lines. One rule, so that nothing is listed by an id under which it could not be read. Pure.
 */

/** UTF-16 units. */
export const idCharactersMax = 256;

/**
 * As text: an integer that has lost no digits, or 1 to 256 characters without control characters and unpaired surrogates,
 * which UTF-8 would make equal to others. null for everything else.
 */
export function idText(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  if (typeof value !== 'string' || value === '' || value.length > idCharactersMax) return null;
  return value.isWellFormed() && !/\p{Cc}/u.test(value) ? value : null;
}
