/**
 * Lists whose order means nothing. They are published in an order of their own, so that the provider's order is neither
 * seen nor taken for a change.
 */
import { z } from 'zod';
import { contentTextOf } from './identity';
import { type Facts, Fault, type Part, type ShapePart } from './reading';

const itemsMax = 10_000;

/** A set ordered by the first of the named fields that an entry carries. At most 10,000 entries. */
export function setBy(part: ShapePart, ...names: string[]): Part {
  return setOf(part, (entry) => {
    const index = names.findIndex((name) => typeof entry[name] === 'string');
    // With its place, so that an id never meets an equal name.
    return index < 0 ? '' : `${index} ${String(entry[names[index] ?? ''])}`;
  });
}

/**
 * A set in the order of `keyOf`, entries of equal key in the order of their content. The provider may send one entry
 * without its list. At most 10,000 entries; more throw `too-many`.
 */
export function setOf(part: ShapePart, keyOf: (entry: Facts) => string): Part {
  return {
    schema: z.array(part.schema),
    read(value, path, reading) {
      if (!Array.isArray(value)) return [part.read(value, path, reading)];
      if (value.length > itemsMax) throw new Fault(path, 'too-many', `more than ${itemsMax} entries`);
      const entries = value.map((entry, index) => part.read(entry, `${path}/${index}`, reading));
      return entries.length < 2 ? entries : sorted(entries, keyOf);
    },
  };
}

function sorted(facts: Facts[], keyOf: (entry: Facts) => string): Facts[] {
  const entries = facts.map((entry) => ({ entry, key: keyOf(entry), content: '' }));
  // Written out only where keys are equal, and then once: most lists never need it.
  const contentOnce = (of: { entry: Facts; content: string }) => {
    if (of.content === '') of.content = contentTextOf(of.entry);
    return of.content;
  };
  return entries
    .sort(
      (left, right) => compareText(left.key, right.key) || compareText(contentOnce(left), contentOnce(right)),
    )
    .map(({ entry }) => entry);
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
