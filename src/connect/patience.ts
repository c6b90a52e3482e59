/**
 * What a consent asks of the provider once its user has answered: a consent cannot be answered twice, so a call that fails
 * for the moment is worth another. The browser waits meanwhile, so all that is tried again has one deadline.
 */
import type { Clock } from '../tools/clock';
import { GrantRefusal } from './grant-refusal';

const pausesMs = [500, 1500];
/** The provider may ask for more, up to this. */
const pauseMsMax = 2000;
/** A proxy may cut the page after a minute, and the last try may still take PROVIDER_TIMEOUT_MS. */
const triesMsMax = 5000;

/** Resolves as one of its tries does, at most three; throws `GrantRefusal`, and at once what else a try throws. */
export type Patience = <T>(
  ask: () => Promise<T>,
  mayRepeat?: (refusal: GrantRefusal) => boolean,
) => Promise<T>;

/**
 * For all that one consent asks: at most three tries of each, with pauses of 0.5 and 1.5 s, or of up to 2 s where the
 * provider asks for it; one that asks for more is not asked again, and none is once 5 s have passed since this was made.
 * Throws the first refusal where a later one only comes of it.
 */
export function makePatience(clock: Pick<Clock, 'wait' | 'steadyMs'>): Patience {
  const untilMs = clock.steadyMs() + triesMsMax;
  return async (ask, mayRepeat = () => true) => {
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
        if (error.fault !== 'unavailable' || !mayRepeat(error) || pauseMs > pauseMsMax) throw error;
        if (clock.steadyMs() + pauseMs >= untilMs) throw error;
        await clock.wait(pauseMs);
      }
    }
  };
}
