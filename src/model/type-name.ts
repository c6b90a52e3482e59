/**
 * What came instead of what was expected, in a word for a person: the type alone, never the value, which may be a secret.
 * Pure.
 */

/** `object`: what an object is called here. */
export function typeNameOf(value: unknown, object = 'an object'): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? object : typeof value;
}
