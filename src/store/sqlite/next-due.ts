/**
 * When the next task, or probe, may be taken, so that nobody has to look before. Only looks; nothing is taken here.
 */
import type { Context } from './context';
import { heldForMs } from './pauses';
import { nextProbeMs } from './probes';

export function nextDueInMs(context: Context, what: 'task' | 'probe'): number | null {
  const dueMs = what === 'probe' ? nextProbeMs(context) : nextTaskMs(context);
  return dueMs === null ? null : Math.max(heldForMs(context, what), dueMs - context.nowMs());
}

/** A lease that runs out makes its task due. */
function nextTaskMs(context: Context): number | null {
  let next = context.lanes.nextDueMs((id) => context.organizations.openAtMs(id));
  for (const { untilMs } of context.leases.values()) next = Math.min(next ?? untilMs, untilMs);
  return next;
}
