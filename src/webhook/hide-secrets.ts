/**
 * Current secrets in a text, hidden wherever they stand, also as JSON writes them. There may be thousands of them, and a
 * delivery of hundreds of elements waits for it: the text is walked once, whatever their number. Pure.
 */
import type { Secret } from '../tools/secret';

export const hidden = '[secret]';

/** A value of one or two characters is in every text; hiding it would hide nothing and spoil everything. */
const charsMin = 3;
const marksCount = 2 ** 18;

interface Index {
  /** By a hash of its first characters, whether any value begins so: most places of a text are passed by this alone. */
  marks: Uint8Array;
  /** By their first characters and by length, the longest first. */
  values: Map<string, [chars: number, values: Set<string>][]>;
}

const indexes = new WeakMap<readonly Secret[], Index>();

/**
 * Hides every character that belongs to any occurrence of any of them, also of those that overlap. A list that is handed in
 * again is not read again.
 */
export function hideSecrets(text: string, secrets: readonly Secret[]): string {
  let index = indexes.get(secrets);
  if (index === undefined) {
    index = indexOf(secrets);
    indexes.set(secrets, index);
  }
  let clean = '';
  let from = 0;
  let end = 0;
  for (let at = 0; at + charsMin <= text.length; at += 1) {
    if (index.marks[markOf(text, at)] === 0) continue;
    const chars = charsAt(text, at, index);
    if (chars === 0) continue;
    // One that begins within another is hidden with it.
    if (at >= end) {
      clean += text.slice(from, at) + hidden;
      end = at;
    }
    end = Math.max(end, at + chars);
    from = end;
  }
  return clean + text.slice(from);
}

/** How long the longest value is that stands here; 0 where none does. */
function charsAt(text: string, at: number, { values }: Index): number {
  for (const [chars, those] of values.get(text.slice(at, at + charsMin)) ?? []) {
    if (those.has(text.slice(at, at + chars))) return chars;
  }
  return 0;
}

function indexOf(secrets: readonly Secret[]): Index {
  const marks = new Uint8Array(marksCount);
  const byStart = new Map<string, Map<number, Set<string>>>();
  for (const value of secrets.flatMap(written)) {
    if (value.length < charsMin) continue;
    marks[markOf(value, 0)] = 1;
    const start = value.slice(0, charsMin);
    const byLength = byStart.get(start) ?? new Map<number, Set<string>>();
    byStart.set(start, byLength);
    byLength.set(value.length, (byLength.get(value.length) ?? new Set()).add(value));
  }
  const longestFirst = (byLength: Map<number, Set<string>>) =>
    [...byLength].sort(([left], [right]) => right - left);
  return { marks, values: new Map([...byStart].map(([start, each]) => [start, longestFirst(each)])) };
}

/** As it is, and as JSON writes it, where it is not too short to be hidden. */
function written(secret: Secret): string[] {
  const value = secret.open();
  return value.length < charsMin ? [] : [value, JSON.stringify(value).slice(1, -1)];
}

function markOf(text: string, at: number): number {
  const two = text.charCodeAt(at) * 64 + text.charCodeAt(at + 1);
  return (two * 64 + text.charCodeAt(at + 2)) % marksCount;
}
