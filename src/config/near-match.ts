/**
 * Finds what a mistyped name was probably meant to be, in an environment that holds the names of others as well. Pure;
 * knows names, never values.
 */

/** First words of settings that begin the names of other programs too: there only a near match is told. */
const shared = new Set(
  (
    'BODY DATABASE ENCRYPTION EQUIPMENT EVENT FIELD HOST INCLUDE LOG OTEL PORT PUBLIC READ REQUIRED RETRY ROLE ' +
    'SHUTDOWN SLACK STORE SUBSCRIPTION SYNC TRAMLINE'
  ).split(' '),
);

/** Kubernetes adds these for each service of a namespace; nobody typed them. */
const serviceLink = /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_[A-Z]+(_[A-Z]+)?)?)$/;

/**
 * One sentence for each name that looks like a setting and is none: under a first word that only settings have all that
 * are unknown, elsewhere what is an edit or two from a setting, or lacks its unit.
 */
export function findStrangers(given: string[], known: string[]): string[] {
  const accepted = new Set(known);
  const own = new Set(known.map(firstWord).filter((word) => !shared.has(word)));
  return given
    .filter((name) => !accepted.has(name) && !serviceLink.test(name))
    .flatMap((name) => {
      const isOwn = name.includes('_') && own.has(firstWord(name));
      const match =
        withoutUnit(name, known) ?? nearest(name, known, isOwn ? ownEdits(name) : foreignEdits(name));
      if (match !== null) return [`${name} is not a setting; did you mean ${match}?`];
      return isOwn ? [`${name} is not a setting`] : [];
    });
}

function firstWord(name: string): string {
  return name.slice(0, `${name}_`.indexOf('_'));
}

function ownEdits(name: string): number {
  return Math.max(2, Math.floor(name.length / 4));
}

/** Short names of others lie near each other by chance, HOME beside HOST: they need no word from us. */
function foreignEdits(name: string): number {
  if (name.length < 8 || !name.includes('_')) return 0;
  return name.length < 12 ? 1 : 2;
}

/** The first setting of two words or more that goes on where this name ends, but for a unit: READ_GAP, READ_GAP_SECONDS. */
function withoutUnit(name: string, known: string[]): string | null {
  const stem = name.replace(/_(MS|SECONDS?|MINUTES?|HOURS?|DAYS?)$/, '');
  return (stem.includes('_') && known.find((candidate) => candidate.startsWith(`${stem}_`))) || null;
}

/** The known name with the fewest edits, at most so many; ties go to the first. */
function nearest(name: string, known: string[], editsMax: number): string | null {
  let best: string | null = null;
  let fewest = editsMax + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= fewest) continue;
    const edits = editsBetween(name, candidate, fewest);
    if (edits < fewest) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** Levenshtein distance, row by row. No row has less than the one before: from `enough` on it is not counted to its end. */
function editsBetween(left: string, right: string, enough: number): number {
  let previous = Array.from({ length: right.length + 1 }, (_unused, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const substituted = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      const inserted = (current[column - 1] ?? 0) + 1;
      const removed = (previous[column] ?? 0) + 1;
      current.push(Math.min(substituted, inserted, removed));
    }
    if (Math.min(...current) >= enough) return enough;
    previous = current;
  }
  return previous[right.length] ?? 0;
}
