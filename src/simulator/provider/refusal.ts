// An answer that is an error, in the provider's three body shapes: thrown by routes, written by the entry.
// Promises that a refusal says only what the provider would say. No route decides here.
import { randomUUID } from 'node:crypto';
import type { Json } from '../json';

export interface RefusalDetails {
  headers?: Record<string, string>;
  /** The offending parameter and its value, in the shapes that have room for them. */
  field?: string;
  value?: Json;
  /** Further problems of the same request, an entry each. */
  more?: readonly Problem[];
}

export interface Problem {
  message: string;
  field: string;
  value?: Json;
}

export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly details: RefusalDetails = {},
  ) {
    super(message);
  }
}

/** The 400 that names every problem of a body. `problems` must not be empty. */
export function invalid(problems: readonly Problem[]): Refusal {
  const [first, ...more] = problems;
  return new Refusal(400, first!.message, { field: first!.field, value: first!.value ?? null, more });
}

/** `errors`: the platform's object; `list`: the array of the field operation documents; `gud`: the equipment API's. */
export type ErrorShape = 'errors' | 'list' | 'gud';

/** The error body in one of the three shapes; the equipment API spells the identifier `gud`. */
export function errorBody(refusal: Refusal, shape: ErrorShape): Json {
  const { field, value, more = [] } = refusal.details;
  const problems = [{ message: refusal.message, field, value }, ...more];
  if (shape === 'errors') {
    return {
      '@type': 'Errors',
      errors: problems.map(({ message }) => ({ '@type': 'Error', guid: randomUUID(), message })),
      otherAttributes: {},
    };
  }
  return problems.map((problem) => ({
    [shape === 'gud' ? 'gud' : 'guid']: randomUUID(),
    message: problem.message,
    code: refusal.status,
    ...(problem.field === undefined ? {} : { field: problem.field }),
    ...(problem.value === undefined ? {} : { invalidValue: problem.value }),
  }));
}
