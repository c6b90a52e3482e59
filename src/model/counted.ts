/**
 * A number with the thing that it counts, for a person: `1 event`, `2 events`. Pure.
 */

/** `one` is a word whose plural has an s. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}
