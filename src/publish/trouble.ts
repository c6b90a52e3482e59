/**
 * Why a relay has no producer that may send, since when, when it tries again, and when it lets another try, also where a
 * producer alone is of no use: it may be this process alone that cannot reach Kafka. Nothing here acts.
 */
import type { Condition } from '../model/alert';
import { type BackoffBounds, backoffMs } from '../tools/backoff';
import type { RelayOptions } from './relay-options';
import { boundsUntilTold } from './untold';

/** Who has led for so long and could write nothing lets another try, */
const ledMs = 30_000;
/** and asks for the lease again so much later: a standby has looked several times, also where the store is slow. */
const standBackMs = 3_000;

const notYetWritten =
  'Nothing could be written before another process took over, and nothing was written since.';

export interface Trouble {
  isOver(): boolean;
  /** `canWrite`: nor is there anything else that this process alone may fail at; true when left out. */
  over(canWrite?: boolean): void;
  /** Does nothing where there is trouble already. */
  began(sinceMs: number, detail: string): void;
  /** Another failure: nothing is tried until a time that grows with the failures in a row, once it is told also beyond 2.5 s. */
  pause(bounds: BackoffBounds, detail: string): void;
  /** Nothing is tried for so long. */
  wait(forMs: number): void;
  /** The same, but that is no time in which nothing could be written. */
  holdBack(forMs: number): void;
  /** Until when nothing is to be done. */
  untilMs(): number;
  isPausing(): boolean;
  /** This relay begins to lead; what was told by who led before, since then, lasts until it is over. */
  takeOver(toldSinceMs: number | null): void;
  /** Whether this relay has led for 30 s with this trouble. */
  lastsLong(): boolean;
  /** Whether it has for 30 s written nothing, and is failing; that is told from now on, whoever leads next. */
  isInVain(failing: Pick<Condition, 'sinceMs' | 'detail'> | null): boolean;
  /** Whether it has led and written nothing for 30 s since then. */
  hasLedSince(sinceMs: number): boolean;
  /** What is told of it from now on: the newest that was met says most. Nothing where there is no trouble. */
  met(detail: string): void;
  /** For 3 s this relay does not ask for the lease. */
  standBack(): void;
  /** `over`: it is to ask for the lease; null when it does not stand back. */
  standing(): 'back' | 'over' | null;
  /** The relay asks for the lease. */
  asks(): void;
  /** What a person should know, once it lasts. */
  condition(): Condition | null;
}

/** One trouble at a time; pure but for the clock's time. */
export function makeTrouble(options: RelayOptions): Trouble {
  const { clock, conditionAfterMs, random } = options;
  let trouble: { sinceMs: number; attempts: number; detail: string } | null = null;
  let resumeAtMs = Number.NEGATIVE_INFINITY;
  let leadsSinceMs = Number.NEGATIVE_INFINITY;
  let wellAtMs = Number.NEGATIVE_INFINITY;
  let standsBackUntilMs: number | null = null;
  const nowMs = () => clock.steadyMs();
  function began(sinceMs: number, detail: string): void {
    trouble ??= { sinceMs, attempts: 0, detail };
  }
  const hasLedSince = (sinceMs: number) => nowMs() - Math.max(leadsSinceMs, wellAtMs, sinceMs) >= ledMs;
  return {
    isOver: () => trouble === null,
    over(canWrite = true) {
      trouble = null;
      if (canWrite) wellAtMs = nowMs();
    },
    began,
    pause(bounds, detail) {
      const attempts = (trouble?.attempts ?? 0) + 1;
      const sinceMs = trouble?.sinceMs ?? nowMs();
      trouble = { sinceMs, attempts, detail };
      const now = boundsUntilTold(bounds, nowMs() - sinceMs, conditionAfterMs);
      resumeAtMs = nowMs() + Math.max(now.baseMs, backoffMs(attempts, now, random));
    },
    wait(forMs) {
      resumeAtMs = nowMs() + forMs;
    },
    holdBack(forMs) {
      resumeAtMs = nowMs() + forMs;
      wellAtMs = resumeAtMs;
    },
    untilMs: () => standsBackUntilMs ?? resumeAtMs,
    isPausing: () => nowMs() < resumeAtMs,
    takeOver(toldSinceMs) {
      leadsSinceMs = nowMs();
      if (toldSinceMs !== null) began(toldSinceMs, notYetWritten);
    },
    lastsLong: () => trouble !== null && hasLedSince(trouble.sinceMs),
    isInVain(failing) {
      if (failing === null || !hasLedSince(failing.sinceMs)) return false;
      began(failing.sinceMs, failing.detail);
      return true;
    },
    hasLedSince,
    met(detail) {
      if (trouble !== null) trouble = { ...trouble, detail };
    },
    standBack() {
      standsBackUntilMs = nowMs() + standBackMs;
      leadsSinceMs = standsBackUntilMs;
      resumeAtMs = Math.max(resumeAtMs, standsBackUntilMs);
    },
    standing() {
      if (standsBackUntilMs === null) return null;
      return nowMs() < standsBackUntilMs ? 'back' : 'over';
    },
    asks() {
      standsBackUntilMs = null;
    },
    condition() {
      if (trouble === null || nowMs() - trouble.sinceMs < conditionAfterMs) return null;
      const { sinceMs, detail } = trouble;
      return { name: 'kafka-unavailable', sinceMs, detail };
    },
  };
}
