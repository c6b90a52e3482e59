/**
 * What is known of the provider's trouble: who is not answered, which pause it asked for, whether it refuses the client
 * key. A 429 holds the whole client key. Memory alone; only the pause of a 429 is told to whoever keeps it for other
 * processes and later lives.
 */
import type { ReadingPause } from '../model/store';
import { type ClientRefusals, makeClientRefusals } from './client-refusals';
import { makeOutages, type Outages } from './outages';

export interface ProviderHealth extends Omit<Outages, 'setBack' | 'storeTold'> {
  /** What was taken just now, as it is: it says what the store's clock shows. */
  taken<Work extends { takenAtMs: number }>(tasks: Work[], nowMs: number): Work[];
  /** Milliseconds that nothing may be asked of the provider, for a 429; 0 when it may. Notices where the clock was set back. */
  coolDownMs(nowMs: number): number;
  rateLimited(retryAfterMs: number, nowMs: number): void;
  /** The pause that any process was asked for, as it is kept now; null: none. */
  pauseHeard(pause: ReadingPause | null, nowMs: number): void;
  /** The client key lacks a scope or licence for this, whatever else succeeds. */
  clientRefused: ClientRefusals['refused'];
  /** This was read, or is known not to be there: the client key is not refused it any more. */
  clientServed: ClientRefusals['served'];
  /** What waited since the client key was refused was made due then, by whichever process. */
  refusedHastened: ClientRefusals['hastened'];
}

/** A pause that the provider asks for is how it works; one that lasts is worth somebody's look. */
const limitLastsMs = 60_000;
/** What is limited again so soon after a pause is still the same trouble. */
const limitGapMs = 10_000;
const coolDownMsMax = 3_600_000;
/** Of many answers that ask for the same pause one is told on: what it may grow by until it is told again. */
const tellStepMs = 1000;
/** What a clock is corrected by from one moment to the next; by more it was set back. */
const setBackMsMin = 1000;

/**
 * `tellPause` is told for how long the provider wants nothing to be asked. A cool-down is cut at 1 h. Where the clock is set back by
 * 1 s or more, all that is known goes back with it: nothing waits the longer for it.
 */
export function makeProviderHealth(
  random: () => number = Math.random,
  tellPause: (forMs: number) => void = () => {},
): ProviderHealth {
  const outages = makeOutages(random);
  const refusals = makeClientRefusals();
  /** As it was asked for here, and as it was heard of last. */
  let askedUntilMs = Number.NEGATIVE_INFINITY;
  let heardUntilMs = Number.NEGATIVE_INFINITY;
  let coolSinceMs = 0;
  let toldUntilMs = 0;
  let lastMs = Number.NEGATIVE_INFINITY;

  function heedClock(nowMs: number): void {
    const byMs = lastMs - nowMs;
    lastMs = nowMs;
    if (byMs < setBackMsMin) return;
    askedUntilMs -= byMs;
    heardUntilMs -= byMs;
    coolSinceMs -= byMs;
    toldUntilMs -= byMs;
    outages.setBack(byMs);
    refusals.setBack(byMs);
  }

  const coolUntilMs = () => Math.max(askedUntilMs, heardUntilMs);
  const beginsAnew = (nowMs: number) => nowMs > coolUntilMs() + limitGapMs;

  return {
    ...outages,
    coolDownMs(nowMs) {
      heedClock(nowMs);
      return Math.max(0, coolUntilMs() - nowMs);
    },
    rateLimited(retryAfterMs, nowMs) {
      heedClock(nowMs);
      const forMs = Math.min(retryAfterMs, coolDownMsMax);
      if (beginsAnew(nowMs)) coolSinceMs = nowMs;
      askedUntilMs = Math.max(askedUntilMs, nowMs + forMs);
      if (toldUntilMs > nowMs && nowMs + forMs < toldUntilMs + tellStepMs) return;
      toldUntilMs = nowMs + forMs;
      tellPause(forMs);
    },
    taken(tasks, nowMs) {
      heedClock(nowMs);
      if (tasks[0] !== undefined) outages.storeTold(tasks[0].takenAtMs, nowMs);
      return tasks;
    },
    pauseHeard(pause, nowMs) {
      heedClock(nowMs);
      if (pause === null) {
        heardUntilMs = Math.min(heardUntilMs, nowMs);
        return;
      }
      const { sinceMs, leftMs } = pause;
      coolSinceMs = beginsAnew(nowMs) ? sinceMs : Math.min(coolSinceMs, sinceMs);
      // In the place of what was heard before: where its clock was set back the store brings it nearer.
      heardUntilMs = nowMs + Math.min(leftMs, coolDownMsMax);
    },
    clientRefused: refusals.refused,
    clientServed: refusals.served,
    refusedHastened: refusals.hastened,
    troubles(nowMs) {
      const found = outages.troubles(nowMs);
      const untilMs = coolUntilMs();
      if (untilMs > nowMs && untilMs - coolSinceMs > limitLastsMs) {
        const detail = `The provider asked for a pause until ${new Date(untilMs).toISOString()}.`;
        found.push({ name: 'rate-limited', sinceMs: coolSinceMs, detail, labels: {} });
      }
      const refusal = refusals.lasting(nowMs);
      if (refusal !== null) found.push({ name: 'client-refused', ...refusal, labels: {} });
      return found;
    },
  };
}
