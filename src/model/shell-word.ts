/**
 * A word of a command that a person copies into a shell. Ids are the provider's, and users name themselves: what stands in
 * them must neither be a second word nor a second command. Pure.
 */

/** Nothing here means anything to a shell. */
const plain = /^[\w@%+=:,./-]+$/;

/** The text as it is where a shell takes it for one word, else between single quotes. */
export function shellWord(text: string): string {
  return plain.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
