/**
 * Whether a body may be read at all, by what its headers call it: JSON (`application/json` or `application/*+json`), in
 * UTF-8, without a content encoding. Pure.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { RefusalReason } from './refusals';

const json = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
const utf8 = /^(?:utf-?8|"utf-?8")$/;

/** Why the body is not read, or null. Parameters other than `charset` are of no concern (RFC 8259, section 11). */
export function checkMediaType(headers: IncomingHttpHeaders): RefusalReason | null {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return 'content-encoding';
  const type = headers['content-type'];
  if (type === 'application/json') return null;
  if (type === undefined) return 'media-type';
  const [essence = '', ...parameters] = type.toLowerCase().split(';');
  if (!json.test(essence.trim())) return 'media-type';
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=', 2);
    if (name.trim() === 'charset' && !utf8.test(value.trim())) return 'media-type';
  }
  return null;
}
