/**
 * What a consent asks of the provider once its user has answered: a consent cannot be answered twice, so a call that fails
 * for the moment is worth another. The browser waits meanwhile.
 */
import type { Clock } from '../tools/clock';
import { GrantRefusal } from './grant-refusal';

const pausesMs = [500, 1500];
/** The provider may ask for more, up to this. */
const pauseMsMax = 2000;

/**
 * At most three tries, with pauses of 0.5 and 1.5 s, or of up to 2 s where the provider asks for it; one that asks for more
 * is not asked again. Throws the first refusal where a later one only comes of it.
 */
export async function patiently<T>(ask: () => Promise<T>, clock: Pick<Clock, 'wait'>): Promise<T> {
  let first: GrantRefusal | null = null;
  for (let tried = 0; ; tried += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof GrantRefusal)) throw error;
      first ??= error;
      const pauseMs = Math.max(pausesMs[tried] ?? Number.POSITIVE_INFINITY, error.retryAfterMs ?? 0);
      // What is refused once more after no answer was taken the first time: that nobody answered is what went wrong.
      if (error.fault === 'refused') throw first;
      if (error.fault !== 'unavailable' || pauseMs > pauseMsMax) throw error;
      await clock.wait(pauseMs);
    }
  }
}
