/**
 * A normalized document for people: one fact a line, what is nested in few words. Pure.
 */
import { besides, visible } from './output';

/** Lines of at most 80 columns, broken between words; a word that is longer, such as an address, stays whole. */
export function documentLines(document: Record<string, unknown>): string[] {
  const width = Object.keys(document).reduce((most, name) => Math.max(most, name.length), 0);
  return Object.entries(document).flatMap(([name, value]) => {
    const [first = '–', ...rest] = wordsOf(value);
    return [
      `${name.padEnd(width)}  ${besides(first, width + 2)}`,
      ...rest.map((words) => `${' '.repeat(width)}  ${besides(words, width + 2)}`),
    ].flatMap((text) => text.split('\n'));
  });
}

/** One line for each entry of a list, one for anything else; what breaks lines in a text breaks none here. */
function wordsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.length === 0 ? ['none'] : value.map(phraseOf).map(visible);
  return [visible(phraseOf(value))];
}

function phraseOf(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return `[${value.map(phraseOf).join(', ')}]`;
  if (typeof value !== 'object') return String(value);
  const { value: amount, unit } = value as Record<string, unknown>;
  if (typeof amount === 'number') return `${amount} ${String(unit)}`;
  const { name, id, ...rest } = value as Record<string, unknown>;
  const more = Object.entries(rest)
    .filter(([key, fact]) => fact !== null && key !== 'erid' && key !== 'source')
    .map(([key, fact]) => `${key} ${phraseOf(fact)}`);
  const named = name ?? id;
  const head =
    named === undefined ? [] : [id === undefined || name === undefined ? String(named) : `${name} (${id})`];
  return [...head, ...more].join(', ') || '–';
}

/** A fact of a document as a column has it; null where it is none, or no text. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
