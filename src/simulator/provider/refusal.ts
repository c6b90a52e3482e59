// An answer that is an error, in the provider's three body shapes: thrown by routes, written by the entry.
// Promises that a refusal says only what the provider would say. No route decides here.
import { randomUUID } from 'node:crypto';
import type { Json } from '../json';

export class Refusal extends Error {
  /** `field` and `value` name the offending parameter in the shapes that have room for it. */
  constructor(
    readonly status: number,
    message: string,
    readonly details: { headers?: Record<string, string>; field?: string; value?: string } = {},
  ) {
    super(message);
  }
}

/** `errors`: the platform's object; `list`: the array of the field operation documents; `gud`: the equipment API's. */
export type ErrorShape = 'errors' | 'list' | 'gud';

/** The error body in one of the three shapes; the equipment API spells the identifier `gud`. */
export function errorBody(refusal: Refusal, shape: ErrorShape): Json {
  const guid = randomUUID();
  if (shape === 'errors') {
    return {
      '@type': 'Errors',
      errors: [{ '@type': 'Error', guid, message: refusal.message }],
      otherAttributes: {},
    };
  }
  const { field, value } = refusal.details;
  return [
    {
      [shape === 'gud' ? 'gud' : 'guid']: guid,
      message: refusal.message,
      code: refusal.status,
      ...(field === undefined ? {} : { field }),
      ...(value === undefined ? {} : { invalidValue: value }),
    },
  ];
}
