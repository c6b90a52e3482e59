// A start that fails, as one does whose store is not let go in time, is tried again, but not for ever: whoever never comes
// up must not keep the rest of the proof from being told.
import { setTimeout as delay } from 'node:timers/promises';

export const triesMax = 5;
const pauseMs = 1000;

/** What was started; or, after so many tries, null. `failed` is told of each that was in vain. */
export async function startInTries<Started>(
  start: () => Promise<Started>,
  failed: (error: Error) => void,
  pause: () => Promise<unknown> = () => delay(pauseMs),
): Promise<Started | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start();
    } catch (error) {
      failed(error as Error);
      if (tries === triesMax) return null;
      await pause();
    }
  }
}
