/**
 * Whether a quota of the far side holds the relay back. It does so after one send and not after the next; what comes again within a
 * minute is the same time, which is told once it begins and once it is over. Memory alone; how long to wait must not be here.
 */
import type { Clock } from '../tools/clock';
import type { RelayHooks } from './relay-options';

export interface HeldBack {
  /** For so long from now at least. */
  began(forMs: number): void;
  /** Before each turn: what was waited since is counted, and it may be over. */
  look(): void;
  /** Another leads, whom it may hold back still: that is told and counted there. */
  leave(): void;
}

/** For so long nothing is held back before it is said to be over. */
const overAfterMs = 60_000;

export function makeHeldBack(
  clock: Pick<Clock, 'steadyMs'>,
  hooks: Pick<RelayHooks, 'heldBack' | 'waited' | 'letGo'>,
): HeldBack {
  let held: { seenMs: number; untilMs: number; waitedMs: number } | null = null;
  function look(): void {
    if (held === null) return;
    const nowMs = clock.steadyMs();
    const passedMs = Math.min(nowMs, held.untilMs) - held.seenMs;
    if (passedMs > 0) hooks.waited?.(passedMs);
    held = { ...held, seenMs: held.seenMs + passedMs, waitedMs: held.waitedMs + passedMs };
    if (nowMs - held.untilMs < overAfterMs) return;
    hooks.letGo?.(held.waitedMs);
    held = null;
  }
  return {
    began(forMs) {
      // A turn that reads on may be held back many times.
      look();
      const nowMs = clock.steadyMs();
      hooks.heldBack?.(forMs, held !== null);
      const untilMs = Math.max(nowMs + forMs, held?.untilMs ?? 0);
      held = { seenMs: nowMs, untilMs, waitedMs: held?.waitedMs ?? 0 };
    },
    look,
    leave() {
      held = null;
    },
  };
}
