/**
 * What is kept of a document that cannot be trusted: its JSON text, bounded, for whoever must say what to do with it.
 * Pure; the store keeps it beside the reason.
 */

/** Enough for a person to see the fault and its surroundings; a field operation may be many megabytes. */
const keptBytesMax = 64 * 1024;

/** Cut at whole characters. A document that JSON cannot hold is kept as nothing. */
export function keptDocument(body: unknown): string | null {
  const text = JSON.stringify(body) as string | undefined;
  if (text === undefined) return null;
  const bytes = Buffer.from(text);
  if (bytes.length <= keptBytesMax) return text;
  let end = keptBytesMax;
  while (((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
