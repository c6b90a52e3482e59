/**
 * What became of a probe that another process makes: only the store is shared, and it tells that the probe has ended and
 * what the access is since; what the provider said is known to the worker that heard it.
 */
import type { Organizations } from '../model/store';
import type { Clock } from '../tools/clock';

const lookMs = 100;

/**
 * `by-a-worker` once no probe of the organization is due or under way any more; null when that takes longer than
 * `withinMs`. Throws what the store throws.
 */
export async function probedElsewhere(
  store: Pick<Organizations, 'isProbing'>,
  organizationId: string,
  clock: Clock,
  withinMs: number,
): Promise<'by-a-worker' | null> {
  const untilMs = clock.steadyMs() + withinMs;
  while (await store.isProbing(organizationId)) {
    if (clock.steadyMs() >= untilMs) return null;
    await clock.wait(lookMs);
  }
  return 'by-a-worker';
}
