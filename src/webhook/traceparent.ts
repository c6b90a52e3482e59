/**
 * The caller's trace, where its header is valid (W3C Trace Context, section 3.2). Pure.
 */

const valid = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The header as it came, or null: absent, invalid, repeated, or of a version that is not known yet. */
export function readTraceparent(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && valid.test(header) ? header : null;
}
