/**
 * What a journey says when a resource was read through another connection than before: a connection is kept until it
 * fails, so another one is news. The row of the read that took over keeps which one it was. Nothing is published. Pure.
 */
import type { ExplainStep } from '../model/inspection';

/** The connection that a read takes the resource over from; null when it goes on through the same, or had none. */
export function switchedFrom(resource: { connection_id?: unknown }, connectionId: string): string | null {
  const kept = (resource.connection_id ?? null) as string | null;
  return kept === connectionId ? null : kept;
}

/** None where the read went through the same connection, or is from before its row had a place for it. */
export function switchSteps(
  { connection_id: to, switched_from: from }: { connection_id: string | null; switched_from: string | null },
  at: string,
): ExplainStep[] {
  if (from === null) return [];
  const text = `read through connection ${to} instead of ${from}`;
  return [{ at, step: 'connection-switched', text, from, to }];
}
