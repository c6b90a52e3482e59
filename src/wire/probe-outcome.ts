/**
 * What became of a probe that was asked for on demand, whichever process makes it: the store tells when it has ended, and
 * what it found.
 */
import type { Organizations } from '../model/store';
import type { Clock } from '../tools/clock';

const lookMs = 100;

/** What is told where the worker that made the probe, of a version before, does not say what it found: its answer is in the access. */
const byAWorker = 'by-a-worker';

/**
 * What the last probe of the organization found, once none is due or under way any more: one that was under way when it was
 * asked for says nothing about now. `by-a-worker` where it has ended and nobody said what it found; null only when that
 * takes longer than `withinMs`. Throws what the store throws.
 */
export async function probeOutcome(
  store: Pick<Organizations, 'probing'>,
  organizationId: string,
  clock: Clock,
  withinMs: number,
): Promise<string | null> {
  const untilMs = clock.steadyMs() + withinMs;
  for (;;) {
    const { probing, found } = await store.probing(organizationId);
    if (!probing) return found ?? byAWorker;
    if (clock.steadyMs() >= untilMs) return null;
    await clock.wait(lookMs);
  }
}
