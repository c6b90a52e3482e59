// How long the sender waits for a 204 after something was healed, and after what. What is broken before a 204 has come
// stops the time, and the wait goes on when that is healed: then both are named. Pure, but for the clock it is given.

export type Recovery = { what: string; recoveredAfterMs: number };

export type Recoveries = {
  /** From now on nobody has to accept anything. */
  broken(): void;
  /** From now on somebody has to. */
  healed(what: string): void;
  accepted(): void;
  slowest: Recovery;
};

export function makeRecoveries(nowMs: () => number = Date.now): Recoveries {
  const slowest: Recovery = { what: 'nothing', recoveredAfterMs: 0 };
  let healedSince: string[] = [];
  let waitedMs = 0;
  let waitsFromMs: number | null = null;

  function stopTime(): void {
    if (waitsFromMs !== null) waitedMs += nowMs() - waitsFromMs;
    waitsFromMs = null;
  }

  return {
    slowest,
    broken: stopTime,
    healed(what) {
      stopTime();
      healedSince.push(what);
      waitsFromMs = nowMs();
    },
    accepted() {
      stopTime();
      if (waitedMs > slowest.recoveredAfterMs)
        Object.assign(slowest, { what: healedSince.join(', then '), recoveredAfterMs: waitedMs });
      healedSince = [];
      waitedMs = 0;
    },
  };
}
