/**
 * What a journey says when a resource was read through another connection than before: a connection is kept until it
 * fails, so another one is news. Nothing is published for it. Pure.
 */
import type { ExplainStep } from '../model/inspection';

/** To be asked read by read, in order; what each task was read through is remembered. */
export function makeSwitchSteps(): (task: unknown, connectionId: unknown, at: string) => ExplainStep[] {
  const last = new Map<unknown, unknown>();
  return (task, to, at) => {
    const from = last.get(task) ?? null;
    if (to === null) return [];
    last.set(task, to);
    if (from === null || from === to) return [];
    const text = `read through connection ${to} instead of ${from}`;
    return [{ at, step: 'connection-switched', text, from, to }];
  };
}
