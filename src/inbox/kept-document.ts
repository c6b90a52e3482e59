/**
 * What is kept of a document that cannot be trusted: its JSON text, bounded, for whoever must say what to do with it,
 * without names of persons where no event has them. Pure; the store keeps it beside the reason.
 */

/** Enough for a person to see the fault and its surroundings; a field operation may be many megabytes. */
const keptBytesMax = 64 * 1024;

/** Cut at whole characters, at 64 KiB. A document that JSON cannot hold is kept as nothing. */
export function keptDocument(body: unknown, options: { includeOperatorNames: boolean }): string | null {
  const text = JSON.stringify(body, options.includeOperatorNames ? undefined : withoutNames) as
    | string
    | undefined;
  if (text === undefined) return null;
  const bytes = Buffer.from(text);
  if (bytes.length <= keptBytesMax) return text;
  let end = keptBytesMax;
  while (((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** Of operators, in whatever shape they came, only what they are known by is kept. */
function withoutNames(key: string, value: unknown): unknown {
  if (key !== 'operators') return value;
  return (Array.isArray(value) ? value : [value]).map((operator: unknown) => {
    const { operatorId = null } = (operator ?? {}) as { operatorId?: unknown };
    return { operatorId };
  });
}
