/**
 * Tells while what deliveries are known by cannot be opened: a process that is started so refuses them, and says nothing
 * else of it. Pure but for since when.
 */
import type { Condition } from '../model/alert';
import type { Clock } from '../tools/clock';
import type { HeldSecrets } from './held-secrets';

/** At most one condition, of what the provider is known to use. Never throws. */
export function makeUnopenedWatch(
  book: Pick<HeldSecrets, 'unopened'>,
  clock: Pick<Clock, 'nowMs'>,
): () => Condition[] {
  let sinceMs: number | null = null;
  return () => {
    const [first] = book.unopened().filter(({ state }) => state === 'active');
    if (first === undefined) {
      sinceMs = null;
      return [];
    }
    sinceMs ??= clock.nowMs();
    const which = first.kind === 'authorization' ? 'Authorization value' : 'token of a subscription';
    const detail =
      `The ${which} by which deliveries are known cannot be opened: ${first.why}. A process that did not know it before ` +
      'refuses them; for how long the provider repeats them is not known';
    return [{ name: 'decryption-failed', detail, sinceMs }];
  };
}
