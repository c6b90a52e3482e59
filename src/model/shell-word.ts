/**
 * A word of a command that a person copies into a shell. Ids are the provider's, and users name themselves: what stands in
 * them must neither be a second word nor a second command, nor be taken for an option. Pure.
 */

/** Nothing here means anything to a shell. */
const plain = /^[\w@%+=:,./-]+$/;

/** What an option is given: as it is where a shell takes it for one word, else between single quotes. */
export function shellValue(text: string): string {
  return plain.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** What a command is about, its last word: as the value of an option is, and behind `--` where it begins as an option does. */
export function shellWord(text: string): string {
  return text.startsWith('-') ? `-- ${shellValue(text)}` : shellValue(text);
}
