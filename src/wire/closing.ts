/**
 * How what belongs to a process ends: each part for itself. What one of them meets is told and keeps no other from its end,
 * and none is waited for beyond its share of the grace.
 */
import { type Clock, endsWithin } from '../tools/clock';

export interface Closing {
  /**
   * Resolves when it has ended, well or not; what resolves to false did not, and is told by whoever knows why. To be called as soon as
   * it begins: what rejects while something else is waited for would end the process. Never rejects.
   */
  settled(work: Promise<unknown>): Promise<void>;
  /** The same of several, but no longer than until that share of the grace, from 0 to 1, is over. */
  settledBy(share: number, works: (Promise<unknown> | undefined)[]): Promise<void>;
  /** Milliseconds until that share of the grace is over; 0 when it is. */
  leftMs(share: number): number;
  /** Whether all of it ended well, and in time. */
  isClean(): boolean;
}

/** The grace begins now. `failed` hears what parts reject with. */
export function makeClosing(graceMs: number, clock: Clock, failed: (error: unknown) => void): Closing {
  const beganMs = clock.steadyMs();
  let clean = true;
  const leftMs = (share: number) => Math.max(0, beganMs + graceMs * share - clock.steadyMs());
  async function settled(work: Promise<unknown>): Promise<void> {
    try {
      if ((await work) === false) clean = false;
    } catch (error) {
      clean = false;
      failed(error);
    }
  }
  return {
    settled,
    async settledBy(share, works) {
      const all = works.flatMap((work) => (work === undefined ? [] : [settled(work)]));
      if (!(await endsWithin(Promise.all(all), leftMs(share), clock))) clean = false;
    },
    leftMs,
    isClean: () => clean,
  };
}
