/**
 * For how long brokers hold back what is sent next, since a quota of theirs is used up: as they told it, until it is over. Who is
 * told waits before the next send: in one it would wait until that is taken for a broker that gives no answer. Memory alone.
 */
import type { Clock } from '../tools/clock';

export interface Throttle {
  /** Nothing more is taken for so long from now; for less than 1 s kafkajs waits itself. */
  told(forMs: number): void;
  /** Of several brokers the longest; 0 where nothing is held back. */
  leftMs(): number;
}

/** Much less than a send may take. */
export const toldMsMin = 1_000;

export function makeThrottle(clock: Pick<Clock, 'steadyMs'>): Throttle {
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    told(forMs) {
      if (forMs >= toldMsMin) untilMs = Math.max(untilMs, clock.steadyMs() + forMs);
    },
    leftMs: () => Math.max(0, untilMs - clock.steadyMs()),
  };
}
