/**
 * The id of a delivery or of an event as a person brings it along: a paste brings a space, and other programs write ids in
 * capitals. Pure.
 */

/** Without what stands around it; in small letters where it is such an id, anything else as it is. */
export function asCopied(text: string): string {
  const told = text.trim();
  return /^(d\d+|[0-9a-f]{32})$/i.test(told) ? told.toLowerCase() : told;
}
