/**
 * The first of many by their names, and how many more there are, for a person who reads one line: `4711, 4712 and 3 more`.
 * Pure.
 */

export function firstNamed(names: readonly string[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
