/**
 * What is known of the provider's trouble, so that an item is aged by its own failures only. A failure is the item's own
 * once another read through the same origin and connection succeeded since the item's last attempt. An origin that
 * only fails is left alone but for a trial now and then; a 429 holds the whole client key. Memory, bounded by the number of
 * origins and connections; only the pause of a 429 is told to whoever keeps it for other processes and later lives.
 */
import type { ReadingPause } from '../model/store';
import { type BackoffBounds, backoffMs } from '../tools/backoff';

interface OriginState {
  /** Failures in a row, of any connection, without a success between. */
  failures: number;
  /** No attempt before; 0 when the origin is not held. */
  heldUntilMs: number;
  /** When the trouble began. */
  sinceMs: number;
  detail: string;
}

export interface ProviderTrouble {
  name: 'client-refused' | 'provider-unavailable' | 'rate-limited';
  sinceMs: number;
  detail: string;
  labels: Record<string, string>;
}

export interface ProviderHealth {
  /** Milliseconds that nothing may be asked of the provider, for a 429; 0 when it may. */
  coolDownMs(nowMs: number): number;
  /** Milliseconds that this origin is left alone; 0 when it may be tried: then the caller is the trial. */
  heldMs(origin: string, nowMs: number): number;
  /** How long the origin is still left alone; asking takes no trial. */
  pauseMs(origin: string, nowMs: number): number;
  /** True when this ended an outage: what waited for it is to be made due. */
  succeeded(origin: string, connectionId: string, nowMs: number): boolean;
  failed(origin: string, detail: string, nowMs: number): void;
  rateLimited(retryAfterMs: number, nowMs: number): void;
  /** The pause that any process was asked for, as it is kept. */
  pauseHeard(pause: ReadingPause, nowMs: number): void;
  /** The client key lacks a scope or licence for something, whatever else succeeds. */
  clientRefused(detail: string, nowMs: number): void;
  /** Is a failure now the item's own, when its last attempt was at `lastAttemptMs`? */
  isOwn(origin: string, connectionId: string, lastAttemptMs: number | null): boolean;
  troubles(nowMs: number): ProviderTrouble[];
}

/** What is said of a refused client key when the provider gave no words. */
export const unnamedRefusal = 'the provider refuses the client key without saying why';

/** So many failures in a row, with no success, make an outage. */
const outageFailures = 5;
const trialBounds: BackoffBounds = { baseMs: 1000, maxMs: 30_000 };
const coolDownMsMax = 3_600_000;
/** Of many answers that ask for the same pause one is told on: what it may grow by until it is told again. */
const tellStepMs = 1000;
/** Longer than the longest back-off: a refusal that goes on is seen again before that. */
const clientRefusedMs = 900_000;

/** `tellPause` is told for how long the provider wants nothing to be asked. */
export function makeProviderHealth(
  random: () => number = Math.random,
  tellPause: (forMs: number) => void = () => {},
): ProviderHealth {
  const origins = new Map<string, OriginState>();
  const lastSuccess = new Map<string, number>();
  let coolUntilMs = 0;
  let coolSinceMs = 0;
  let toldUntilMs = 0;
  let refusal: { sinceMs: number; lastMs: number; detail: string } | null = null;

  const stateOf = (origin: string): OriginState => {
    let state = origins.get(origin);
    if (state === undefined) {
      state = { failures: 0, heldUntilMs: 0, sinceMs: 0, detail: '' };
      origins.set(origin, state);
    }
    return state;
  };

  return {
    coolDownMs: (nowMs) => Math.max(0, coolUntilMs - nowMs),
    heldMs(origin, nowMs) {
      const state = origins.get(origin);
      if (state === undefined || state.failures < outageFailures) return 0;
      if (state.heldUntilMs > nowMs) return state.heldUntilMs - nowMs;
      state.heldUntilMs = nowMs + trialMs(state.failures, random);
      return 0;
    },
    pauseMs(origin, nowMs) {
      return Math.max(0, (origins.get(origin)?.heldUntilMs ?? 0) - nowMs);
    },
    succeeded(origin, connectionId, nowMs) {
      lastSuccess.set(`${origin} ${connectionId}`, nowMs);
      const state = origins.get(origin);
      if (state === undefined || state.failures === 0) return false;
      const ended = state.failures >= outageFailures;
      origins.delete(origin);
      return ended;
    },
    failed(origin, detail, nowMs) {
      // No origin was asked: a token was not to be had.
      if (origin === '') return;
      const state = stateOf(origin);
      if (state.failures === 0) state.sinceMs = nowMs;
      state.failures += 1;
      state.detail = detail;
      if (state.failures === outageFailures) state.heldUntilMs = nowMs + trialMs(state.failures, random);
    },
    rateLimited(retryAfterMs, nowMs) {
      const forMs = Math.min(retryAfterMs, coolDownMsMax);
      if (coolUntilMs <= nowMs) coolSinceMs = nowMs;
      coolUntilMs = Math.max(coolUntilMs, nowMs + forMs);
      if (toldUntilMs > nowMs && nowMs + forMs < toldUntilMs + tellStepMs) return;
      toldUntilMs = nowMs + forMs;
      tellPause(forMs);
    },
    pauseHeard({ sinceMs, leftMs }, nowMs) {
      coolSinceMs = coolUntilMs <= nowMs ? sinceMs : Math.min(coolSinceMs, sinceMs);
      coolUntilMs = Math.max(coolUntilMs, nowMs + Math.min(leftMs, coolDownMsMax));
    },
    clientRefused(detail, nowMs) {
      const goesOn = refusal !== null && nowMs - refusal.lastMs < clientRefusedMs;
      refusal = { sinceMs: goesOn ? refusal!.sinceMs : nowMs, lastMs: nowMs, detail };
    },
    isOwn(origin, connectionId, lastAttemptMs) {
      if (lastAttemptMs === null) return false;
      return (lastSuccess.get(`${origin} ${connectionId}`) ?? 0) > lastAttemptMs;
    },
    troubles(nowMs) {
      const found: ProviderTrouble[] = [];
      for (const [origin, state] of origins) {
        if (state.failures < outageFailures) continue;
        const { sinceMs, detail } = state;
        found.push({ name: 'provider-unavailable', sinceMs, detail, labels: { origin } });
      }
      if (coolUntilMs > nowMs) {
        const detail = `the provider asked for a pause until ${new Date(coolUntilMs).toISOString()}`;
        found.push({ name: 'rate-limited', sinceMs: coolSinceMs, detail, labels: {} });
      }
      if (refusal !== null && nowMs - refusal.lastMs < clientRefusedMs) {
        const { sinceMs, detail } = refusal;
        found.push({ name: 'client-refused', sinceMs, detail, labels: {} });
      }
      return found;
    },
  };
}

function trialMs(failures: number, random: () => number): number {
  const bounds = { ...trialBounds, baseMs: trialBounds.baseMs * 2 };
  return trialBounds.baseMs / 2 + backoffMs(failures - outageFailures, bounds, random);
}
