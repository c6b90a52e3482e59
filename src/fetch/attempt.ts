/**
 * One attempt: one deadline and one reason to stop for all calls of a read, and what they cost together. The calls of
 * an attempt follow one another; whatever is under way when it is cut is stopped at once.
 */
import type { ReadCost } from '../model/answer';

/** Why an attempt was cut: its time is over, or the process stops. */
export type Cut = 'deadline' | 'aborted';

export class Attempt {
  readonly cost: ReadCost = { calls: 0, bytes: 0, tookMs: 0, status: null };
  /** null while it may go on. */
  cut: Cut | null = null;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = () => this.#stop('aborted');
  #onCut: ((cut: Cut) => void) | null = null;

  constructor(timeoutMs: number, signal?: AbortSignal) {
    this.#timer = setTimeout(() => this.#stop('deadline'), timeoutMs);
    this.#signal = signal;
    if (signal?.aborted) this.cut = 'aborted';
    else signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** What stops the call that is under way; null when none is. */
  whenCut(stop: ((cut: Cut) => void) | null): void {
    this.#onCut = stop;
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
    this.#signal?.removeEventListener('abort', this.#abort);
    this.cost.tookMs = performance.now() - this.#startedAt;
    return this.cost;
  }

  #stop(cut: Cut): void {
    this.cut ??= cut;
    this.#onCut?.(this.cut);
  }
}
