// The JSON object a client sent: its media type, its form, and the names it may hold.
// Promises the provider's refusals for everything else. What the fields mean is checked where they are used.
import { isObject, type JsonObject } from '../json';
import { type Exchange, header, mediaType } from './exchange';
import { type Problem, Refusal } from './refusal';

/** Throws 415 for another media type than the API's own, 400 for what is not a JSON object. */
export function jsonObject(exchange: Exchange): JsonObject {
  const wanted = mediaType(exchange);
  const sent = (header(exchange, 'content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  if (sent !== wanted) throw new Refusal(415, `Content-Type must be ${wanted}`);
  let value: unknown;
  try {
    value = JSON.parse(exchange.body?.toString() ?? '');
  } catch {
    throw new Refusal(400, 'The body is not JSON.');
  }
  if (isObject(value)) return value;
  throw new Refusal(400, 'The body must be an object.');
}

/** A problem for each name that is not among the known ones. */
export function unknownNames(body: JsonObject, known: readonly string[]): Problem[] {
  return Object.keys(body)
    .filter((name) => !known.includes(name))
    .map((field) => ({ message: `${field} is not known here`, field, value: body[field] ?? null }));
}
