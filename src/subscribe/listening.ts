/**
 * Since when deliveries are listened to without a break, as the store knows it: one that restarts every few minutes would
 * never find anybody silent else. This process notes its own part.
 */
import type { WebhookSecrets } from '../model/store';
import type { Clock } from '../tools/clock';

export interface Listening {
  /** What came before could not be heard. */
  sinceMs(): number;
  /** When it was last noted: what came after may have been refused, or heard by others only. */
  untilMs(): number;
  /** To be called in each step: what passed since the last call counts unless this process stood still. */
  note(): Promise<void>;
}

/** A break longer than `lapseMs` begins it anew, of this process or of all. Rejects as the store does. */
export function makeListening(
  store: Pick<WebhookSecrets, 'noteListening'>,
  clock: Clock,
  lapseMs: number,
): Listening {
  let sinceMs = clock.nowMs();
  let notedMs = clock.steadyMs();

  return {
    sinceMs: () => sinceMs,
    untilMs: () => clock.nowMs() - (clock.steadyMs() - notedMs),
    async note() {
      const atMs = clock.steadyMs();
      const forMs = atMs - notedMs;
      sinceMs = await store.noteListening(forMs <= lapseMs ? forMs : 0, lapseMs);
      notedMs = atMs;
    },
  };
}
