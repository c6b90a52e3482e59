/**
 * The provider's own words in an error body: three JSON shapes, OAuth's, plain text, or none at all. Lenient: whatever
 * cannot be read is no message. What is stored, published and told of them is made here, so e-mail addresses end here. Pure.
 */
import { hideAddresses } from '../model/hide-addresses';

const bodyBytesRead = 16_384;
const messageCharsMax = 500;
const messagesMax = 3;
const pageTypes = new Set(['text/html', 'application/xhtml+xml']);

/**
 * As `shown`; null when the body says nothing a person could read. At most 3 messages of a list are told. Bounds as
 * `shown` does.
 */
export function errorMessageOf(body: Buffer, mediaType: string): string | null {
  if (body.length === 0 || mediaType === 'text/html') return null;
  const text = body.toString('utf8', 0, bodyBytesRead);
  const messages = messagesOf(parse(text));
  if (messages !== null) return shown(messages.slice(0, messagesMax).join('; '));
  return /^\s*[{[<]/.test(text) ? null : shown(text);
}

/** Written for a person by something on the way; no error of the provider is. */
export function isPage(body: Buffer, mediaType: string): boolean {
  return pageTypes.has(mediaType) || /^\s*</.test(body.toString('utf8', 0, bodyBytesRead));
}

/**
 * A body that none of the provider's errors has: a page, or JSON of another shape that does not speak of the caller's
 * rights either. Plain text and nothing at all also come from the provider.
 */
export function isForeign(body: Buffer, mediaType: string): boolean {
  if (isPage(body, mediaType)) return true;
  const text = body.toString('utf8', 0, bodyBytesRead);
  const value = parse(text);
  const hasFields = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  return hasFields && messagesOf(value) === null && !/token|auth|credential/i.test(text);
}

/**
 * The provider's words for a person to read: one line, at most 500 characters, `[address]` in place of e-mail addresses;
 * null when nothing is left.
 */
export function shown(text: string): string | null {
  // Cut first, generously, so that the pattern never sees more than a page of text.
  const plain = text.slice(0, messageCharsMax * 4).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ');
  const line = hideAddresses(plain).trim().slice(0, messageCharsMax);
  return line === '' ? null : line;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** null when the value has none of the known shapes. */
function messagesOf(value: unknown): string[] | null {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap((error) => messagesOf(error) ?? []);
  if (typeof value !== 'object' || value === null) return null;
  const fields = value as Record<string, unknown>;
  if (Array.isArray(fields.errors)) return messagesOf(fields.errors);
  for (const name of ['message', 'error_description', 'error', 'detail', 'title']) {
    const message = fields[name];
    if (typeof message === 'string') return [message];
  }
  return null;
}
