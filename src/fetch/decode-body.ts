/**
 * Undoes the content encoding of a body that was received whole: gzip in one layer, or none. A gzip stream that ends
 * early is an error, and what it expands to is capped while it expands.
 */
import { gunzip, gunzipSync } from 'node:zlib';

/** The body, or why there is none. */
export type Decoded = Buffer | 'encoding-refused' | 'body-too-large' | 'body-cut';

/** Below this many bytes the thread pool costs more than it spares: at worst 8 MB are expanded in place. */
const inPlaceBytesMax = 8192;

/**
 * Decodes at once where that is cheap (8 KiB received), otherwise later; what comes out has at most `bodyBytesMax`.
 * Never throws or rejects.
 */
export function decodeBody(
  received: Buffer,
  encoding: string | undefined,
  bodyBytesMax: number,
): Decoded | Promise<Decoded> {
  if (encoding === undefined || encoding === '' || encoding === 'identity') return received;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') return 'encoding-refused';
  if (received.length === 0) return received;
  const bounds = { maxOutputLength: bodyBytesMax };
  if (received.length > inPlaceBytesMax) {
    return new Promise((resolve) => {
      gunzip(received, bounds, (error, decoded) => resolve(error === null ? decoded : codeOf(error)));
    });
  }
  try {
    return gunzipSync(received, bounds);
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): 'body-too-large' | 'body-cut' {
  return (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE' ? 'body-too-large' : 'body-cut';
}
