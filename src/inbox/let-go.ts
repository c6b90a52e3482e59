/**
 * What becomes of a task whose ending could not be written. It must not wait for its lease, since the store may be back
 * in a second; what can never be written must not come back for ever; and a store that gives tasks out and takes no
 * endings must not have the provider asked each second. Nothing is decided about the read itself.
 */
import { isProblem } from '../model/problem';
import type { Inbox } from '../model/store';
import type { TakenTask } from '../model/task';
import type { Clock } from '../tools/clock';
import { heldBy, sharedWaitMsMax } from './decide-ending';

export interface LetGoDoors {
  store: Pick<Inbox, 'postpone' | 'quarantineTask'>;
  clock: Clock;
}

/** Between two tries. */
const againMs = 1000;

/**
 * A call that the store refused: an operator looks at it. A store that was away, or a fault of ours: once it is back, it
 * waits for `backMs`, where the store is at fault no longer than what waits for the provider, and not at all once that has taken what
 * another read found (`takesAgain`). Tries until the lease is over or `signal` aborts. Never throws.
 */
export async function letGo(
  task: TakenTask,
  error: unknown,
  times: { leaseMs: number; backMs: number; takesAgain(): boolean },
  { store, clock }: LetGoDoors,
  signal: AbortSignal,
): Promise<void> {
  if (isProblem(error, 'store.closed')) return;
  const held = heldBy(task);
  const give = (): Promise<void> => {
    if (isProblem(error, 'store.refused')) {
      return store.quarantineTask({
        ...held,
        reason: 'store-refused',
        path: '',
        detail: error.message,
        raw: null,
      });
    }
    const waits = { ...held, own: false, agedMs: 0 };
    if (isProblem(error)) {
      const dueInMs = times.takesAgain() ? 0 : Math.min(times.backMs, sharedWaitMsMax);
      return store.postpone({ ...waits, dueInMs, code: 'store-away', detail: error.message });
    }
    const detail = error instanceof Error ? error.name : null;
    return store.postpone({ ...waits, dueInMs: times.backMs, code: 'fault', detail });
  };
  const untilMs = clock.nowMs() + times.leaseMs;
  while (clock.nowMs() < untilMs) {
    await clock.wait(againMs, signal);
    if (signal.aborted) return;
    try {
      return await give();
    } catch (again) {
      if (!isProblem(again, 'store.unavailable')) return;
    }
  }
}
