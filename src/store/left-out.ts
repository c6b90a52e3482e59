/**
 * The bound of what one journey tells of a kind, and the step that says so where there is more. Pure.
 */
import type { ExplainStep } from '../model/inspection';

/** Of each kind of row at most so many are told, the newest. */
export const stepsMax = 200;

/** Stores look for one more, to know whether there is more. */
export const rowsMax = stepsMax + 1;

/** `atMs` is when the oldest of the 200 that are told happened. */
export function leftOutStep(atMs: number, what: string): ExplainStep {
  const text = `the newest ${stepsMax} ${what} are told here, older ones are not`;
  return { at: new Date(atMs).toISOString(), step: 'left-out', text };
}
