/**
 * The ids that a list has shown, so that a record that comes again, since the list shifted between its pages or leads back
 * into itself, is not shown twice.
 */

/** Those that were listed last. */
const shownMax = 100_000;

/** True for an id that is new, and for what has none: null. Remembers 100,000 ids at most. */
export function makeShownIds(): (id: string | null) => boolean {
  const shown = new Set<string>();
  return (id) => {
    if (id === null) return true;
    if (shown.has(id)) return false;
    if (shown.size >= shownMax) shown.clear();
    shown.add(id);
    return true;
  };
}
