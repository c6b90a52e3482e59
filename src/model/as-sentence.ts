/**
 * Words of others as one sentence among several: they end with a stop of their own, or are given one. Imports nothing.
 */

/** With a stop where it has none: another sentence follows it. Nothing stays nothing. */
export function asSentence(text: string): string {
  return text === '' || /[.!?…]["”)]?$/u.test(text) ? text : `${text}.`;
}
