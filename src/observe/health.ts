/**
 * Liveness is the event loop: whoever gets an answer knows that it turns. Readiness is the store, asked for a real
 * write, and whether the process still takes work. Neither Kafka nor the provider counts: restarting cures nothing
 * there.
 */
import { endsWithin, systemClock } from '../tools/clock';

export interface Health {
  live(): { status: 'live' };
  /** Answers within a second, whatever the store does. */
  ready(): Promise<{ status: 'ready' } | { status: 'not-ready'; reason: 'starting' | 'draining' | 'store' }>;
  /** Called when everything listens. */
  markStarted(): void;
  /** Called first when the process is to stop, so that no new work is sent to it. */
  markDraining(): void;
}

const readyMsMax = 1000;

/** `askStore` rejects, or does not answer, while deliveries cannot be stored: it is waited for 1 s. */
export function makeHealth(askStore: () => Promise<void>): Health {
  let state: 'starting' | 'started' | 'draining' = 'starting';
  let asking: Promise<boolean> | null = null;
  return {
    live: () => ({ status: 'live' }),
    ready: async () => {
      if (state !== 'started') return { status: 'not-ready', reason: state };
      // One question at a time: probes must not pile up behind a store that hangs.
      asking ??= ask(askStore).finally(() => {
        asking = null;
      });
      const answer = asking;
      const isStored = (await endsWithin(answer, readyMsMax, systemClock)) && (await answer);
      return isStored ? { status: 'ready' } : { status: 'not-ready', reason: 'store' };
    },
    markStarted: () => {
      if (state === 'starting') state = 'started';
    },
    markDraining: () => {
      state = 'draining';
    },
  };
}

async function ask(askStore: () => Promise<void>): Promise<boolean> {
  try {
    await askStore();
    return true;
  } catch {
    // Why is told where the store is used; here only whether.
    return false;
  }
}
