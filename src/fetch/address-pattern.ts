/**
 * The form of the addresses of a collection's items, learned from one item's own link: everything before its id. Pure;
 * an address made from it passes the gate like any other.
 */

/** What stands before the id; nothing stands behind it. */
export type AddressPattern = string;

/** Addresses may move without the catalog changing: what was learned of them is believed for this long only. */
export const believedForMs = 60_000;

/** null when the link is missing, does not end in the id, or names an owner that other items may not share. */
export function patternOf(
  self: string | undefined,
  id: string,
  owners: string[] = [],
): AddressPattern | null {
  const ending = `/${encodeURIComponent(id)}`;
  if (self === undefined || !self.endsWith(ending)) return null;
  const pattern = self.slice(0, self.length - ending.length + 1);
  const segments = pattern.split('/');
  return owners.some((owner) => segments.includes(encodeURIComponent(owner))) ? null : pattern;
}

export function addressOf(pattern: AddressPattern, id: string): string {
  return pattern + encodeURIComponent(id);
}
