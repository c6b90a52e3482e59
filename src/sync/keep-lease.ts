/**
 * Work that one process does at a time: under a named lease that is renewed while it lasts. When the lease is lost, the
 * work is cut, since another process may have begun it. A renewal without an answer loses nothing before the lease has run
 * out: it is asked for again.
 */
import type { Outbox } from '../model/store';
import type { Clock } from '../tools/clock';

export interface LeaseOf {
  name: string;
  holder: string;
  leaseMs: number;
}

/** False, and nothing done, when another has the lease. Rejects as `work` does, and as the store does. */
export async function underLease(
  store: Pick<Outbox, 'holdLease'>,
  { name, holder, leaseMs }: LeaseOf,
  clock: Clock,
  cut: AbortController,
  work: () => Promise<void>,
): Promise<boolean> {
  let untilMs = clock.steadyMs() + leaseMs;
  if (!(await store.holdLease(name, holder, leaseMs))) return false;
  const ended = new AbortController();
  let renewal: Promise<boolean | null> = Promise.resolve(true);
  const keep = async (): Promise<void> => {
    let waitMs = leaseMs / 3;
    for (;;) {
      await clock.wait(Math.min(waitMs, untilMs - clock.steadyMs()), ended.signal);
      if (ended.signal.aborted) return;
      const askedMs = clock.steadyMs();
      if (askedMs < untilMs) renewal = store.holdLease(name, holder, leaseMs).catch(() => null);
      const held = await renewal;
      // What ran out may have been another's since, however soon it is held again.
      if (held === false || clock.steadyMs() >= untilMs) return cut.abort();
      if (held) untilMs = askedMs + leaseMs;
      waitMs = leaseMs / (held ? 3 : 12);
    }
  };
  void keep();
  try {
    await work();
    return true;
  } finally {
    ended.abort();
    // One that is under way would take the lease again after it was given back.
    await renewal;
    await store.holdLease(name, holder, 0).catch(() => false);
  }
}
