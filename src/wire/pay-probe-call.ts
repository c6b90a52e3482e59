/**
 * The further calls of a probe wait for the budget of calls that all processes share. One that waited for long is made all
 * the same, and counts: in a budget of fewer than a dozen a minute no probe of several calls would ever end otherwise.
 */
import type { Organizations } from '../model/store';
import type { Clock } from '../tools/clock';

/** Less than an attempt may take, with what its calls take. */
const patienceMs = 5000;

/** Resolves when one more call may be made, after at most five seconds; at once where the store cannot be asked. */
export async function payProbeCall(
  store: Pick<Organizations, 'payProbeCall'>,
  clock: Pick<Clock, 'wait'>,
): Promise<void> {
  let leftMs = patienceMs;
  try {
    for (;;) {
      const inMs = await store.payProbeCall(leftMs <= 0);
      if (inMs <= 0) return;
      const waitMs = Math.min(inMs, leftMs);
      leftMs -= waitMs;
      await clock.wait(waitMs);
    }
  } catch {
    // Nothing comes of the answer either: the probe is made again when the store is back.
  }
}
