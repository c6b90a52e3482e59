/**
 * Finds what a mistyped name was probably meant to be. Pure; knows names, never values.
 */

const prefixes = ['WEBHOOK_', 'PROVIDER_', 'KAFKA_', 'ALERT_', 'PAGERDUTY_', 'OPERATIONS_'];

/** Kubernetes adds these for each service of a namespace; nobody typed them. */
const serviceLink = /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_[A-Z]+(_[A-Z]+)?)?)$/;

/** One sentence for each name that looks like a setting and is none. */
export function findStrangers(given: string[], known: string[]): string[] {
  const accepted = new Set(known);
  return given
    .filter((name) => prefixes.some((prefix) => name.startsWith(prefix)))
    .filter((name) => !accepted.has(name) && !serviceLink.test(name))
    .map((name) => {
      const match = nearest(name, known);
      return match === null ? `${name} is not a setting` : `${name} is not a setting; did you mean ${match}?`;
    });
}

/** The known name with the fewest edits, when they are few; ties go to the first. */
export function nearest(name: string, known: string[]): string | null {
  let best: string | null = null;
  let fewest = Math.max(2, Math.floor(name.length / 4)) + 1;
  for (const candidate of known) {
    const edits = editsBetween(name, candidate);
    if (edits < fewest) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** Levenshtein distance, row by row. */
function editsBetween(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_unused, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const substituted = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      const inserted = (current[column - 1] ?? 0) + 1;
      const removed = (previous[column] ?? 0) + 1;
      current.push(Math.min(substituted, inserted, removed));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
