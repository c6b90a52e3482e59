/**
 * Work that one process does at a time: under a named lease that is renewed while it lasts. When the lease is lost, the
 * work is cut, since another process may have begun it.
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
  if (!(await store.holdLease(name, holder, leaseMs))) return false;
  const ended = new AbortController();
  const keep = async (): Promise<void> => {
    for (;;) {
      await clock.wait(leaseMs / 3, ended.signal);
      if (ended.signal.aborted) return;
      if (!(await store.holdLease(name, holder, leaseMs).catch(() => false))) return cut.abort();
    }
  };
  void keep();
  try {
    await work();
    return true;
  } finally {
    ended.abort();
    await store.holdLease(name, holder, 0).catch(() => false);
  }
}
