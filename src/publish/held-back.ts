/**
 * Whether a quota of the far side holds the relay back. It does so after one send and not after the next; what comes again within a
 * minute is the same time, which is told once it begins and once it is over. Memory alone; how long to wait must not be here.
 */
import type { Clock } from '../tools/clock';
import type { RelayHooks } from './relay-options';

export interface HeldBack {
  /** For so long from now. */
  began(forMs: number): void;
  /** At least once in a while: it may be over. */
  look(): void;
}

/** For so long nothing is held back before it is said to be over. */
const overAfterMs = 60_000;

export function makeHeldBack(
  clock: Pick<Clock, 'steadyMs'>,
  hooks: Pick<RelayHooks, 'heldBack' | 'letGo'>,
): HeldBack {
  let held: { untilMs: number; waitedMs: number } | null = null;
  return {
    began(forMs) {
      hooks.heldBack?.(forMs, held !== null);
      held = { untilMs: clock.steadyMs() + forMs, waitedMs: (held?.waitedMs ?? 0) + forMs };
    },
    look() {
      if (held === null || clock.steadyMs() - held.untilMs < overAfterMs) return;
      hooks.letGo?.(held.waitedMs);
      held = null;
    },
  };
}
