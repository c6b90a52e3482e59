/**
 * One call of our own API, as a command makes it: what is named in its address, and what goes as a body so that it stands in
 * no address. Shapes only.
 */
import type { Shape } from './answer-shapes';
import type { HttpAnswer } from './http-answer';

/** What is null is left out. */
export type Query = Record<string, string | number | null>;

export interface Call {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  query?: Query;
  body?: unknown;
}

/** Resolves to the answer, which is of this shape; throws problems. */
export type Ask = <Answer>(shape: Shape<Answer>, call: Call) => Promise<Answer>;

/**
 * Resolves to an answer of 200 whose body is not read yet; throws problems for others. It is given up when nothing comes for
 * `idleMs`.
 */
export type Open = (call: Call, idleMs: number) => Promise<HttpAnswer>;
