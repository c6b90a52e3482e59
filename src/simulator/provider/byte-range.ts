// Which bytes of a file a request asks for: a Range header (RFC 9110 section 14), or the parameters offset and size.
// Pure. Several ranges at once are answered with the whole file, as the RFC allows.

export interface ByteRange {
  from: number;
  /** Exclusive. */
  to: number;
}

export type AskedRange = { range: ByteRange } | { whole: true } | { unsatisfiable: true };

export function askedRange(
  rangeHeader: string | undefined,
  query: URLSearchParams,
  bytes: number,
): AskedRange {
  const offset = query.get('offset');
  const size = query.get('size');
  if (offset !== null || size !== null) {
    const from = whole(offset ?? '0');
    const count = whole(size ?? String(bytes));
    if (from === undefined || count === undefined || count === 0) return { unsatisfiable: true };
    return bounded(from, from + count, bytes);
  }
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(rangeHeader?.replaceAll(' ', '') ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return { whole: true };
  if (first === '') return bounded(Math.max(0, bytes - Number(last)), bytes, bytes);
  if (last !== '' && Number(last) < Number(first)) return { whole: true };
  return bounded(Number(first), last === '' ? bytes : Number(last) + 1, bytes);
}

function bounded(from: number, to: number, bytes: number): AskedRange {
  return from >= bytes ? { unsatisfiable: true } : { range: { from, to: Math.min(to, bytes) } };
}

function whole(text: string): number | undefined {
  return /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}
