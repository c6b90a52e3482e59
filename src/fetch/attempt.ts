/**
 * One attempt: one deadline and one reason to stop for all calls of a read, and what they cost together. The calls of
 * an attempt follow one another; whatever is under way when it is cut is stopped at once.
 */
import type { ReadCost } from '../model/answer';

/** Why an attempt was cut: its time is over, or the process stops. */
export type Cut = 'deadline' | 'aborted';

/** A deadline that is noticed so much late passed while this process stood still: it was stopped, or had no processor. */
const noticedLateMs = 100;
/** For so long what came meanwhile is taken, once, since timers run before anything is received: it may be a token that is given but once. */
const takenLateMs = 1000;

/** Resolves when the next call may be made; must not reject. */
export type Pay = () => Promise<void>;

/** One listener for all attempts under a signal: a listener each costs more than the rest of an attempt's account. */
const attemptsBySignal = new WeakMap<AbortSignal, Set<(cut: Cut) => void>>();

function stopsUnder(signal: AbortSignal): Set<(cut: Cut) => void> {
  const known = attemptsBySignal.get(signal);
  if (known !== undefined) return known;
  const stops = new Set<(cut: Cut) => void>();
  attemptsBySignal.set(signal, stops);
  signal.addEventListener('abort', () => {
    for (const stop of [...stops]) stop('aborted');
  });
  return stops;
}

export class Attempt {
  readonly cost: ReadCost = { calls: 0, resends: 0, bytes: 0, tookMs: 0, status: null };
  /** null while it may go on. */
  cut: Cut | null = null;
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout;
  readonly #stops: Set<(cut: Cut) => void> | null;
  #onCut: ((cut: Cut) => void) | null = null;
  readonly #stop = (cut: Cut): void => {
    this.cut ??= cut;
    this.#onCut?.(this.cut);
  };

  readonly #pay: Pay | null;

  /** `pay`: what each call waits for; left out where calls cost nothing. Ends a second late at most, where this process stood still. */
  constructor(timeoutMs: number, signal?: AbortSignal, pay: Pay | null = null) {
    this.#pay = pay;
    this.#timer = setTimeout(() => {
      const stoodStill = performance.now() - this.#startedAt - timeoutMs >= noticedLateMs;
      if (stoodStill) this.#timer = setTimeout(this.#stop, takenLateMs, 'deadline');
      else this.#stop('deadline');
    }, timeoutMs);
    if (signal?.aborted) this.cut = 'aborted';
    this.#stops = signal === undefined || signal.aborted ? null : stopsUnder(signal);
    this.#stops?.add(this.#stop);
  }

  /** What stops the call that is under way; null when none is. */
  whenCut(stop: ((cut: Cut) => void) | null): void {
    this.#onCut = stop;
  }

  /** Resolves when one more call may be made, or when the attempt is cut: then none is made any more. */
  async paid(): Promise<void> {
    if (this.#pay !== null && this.cut === null) await this.during(this.#pay());
  }

  /** Waits for work that other attempts share: a cut ends the wait, never the work. The promise must not reject. */
  during<T>(work: Promise<T>): Promise<T | Cut> {
    if (this.cut !== null) return Promise.resolve(this.cut);
    return new Promise((resolve) => {
      this.whenCut(resolve);
      void work.then((result) => {
        this.whenCut(null);
        resolve(result);
      });
    });
  }

  /** Must be called once, whatever happened: frees the timer and closes the account. */
  end(): ReadCost {
    clearTimeout(this.#timer);
    this.#stops?.delete(this.#stop);
    this.cost.tookMs = performance.now() - this.#startedAt;
    return this.cost;
  }
}
