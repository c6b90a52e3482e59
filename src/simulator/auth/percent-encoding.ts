// Percent-encoding as RFC 5849 section 3.6 wants it, and the form decoding of section 3.4.1.3.1.
// Promises to refuse malformed input (undefined) rather than to guess. Nothing about signatures here.

/** RFC 5849 section 3.6: everything but ALPHA, DIGIT, `-`, `.`, `_`, `~` is encoded, with upper-case hex digits. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The text behind strict percent-encoding; undefined where a `%` is not followed by two hex digits or the bytes are not UTF-8. */
export function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The pairs of a query or form body, `+` read as a space, in order; undefined when something is malformed. */
export function parseForm(text: string): [name: string, value: string][] | undefined {
  const pairs: [string, string][] = [];
  for (const part of text.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const name = percentDecode((at < 0 ? part : part.slice(0, at)).replaceAll('+', ' '));
    const value = at < 0 ? '' : percentDecode(part.slice(at + 1).replaceAll('+', ' '));
    if (name === undefined || value === undefined) return undefined;
    pairs.push([name, value]);
  }
  return pairs;
}
