// Flood protection: so many calls a second for the client key, where a setting says how many.
// Promises a wait in whole seconds, and no limit by default, since the provider publishes none.
import type { Settings } from '../settings';
import { Refusal } from './refusal';

export class RateLimit {
  #second = 0;
  #calls = 0;

  constructor(
    readonly settings: Settings,
    readonly nowMs: () => number,
  ) {}

  /** Throws a 429 refusal with `Retry-After` for a call above the limit. */
  count(): void {
    const { callsPerSecond, retryAfterSeconds } = this.settings;
    if (callsPerSecond === 0) return;
    const second = Math.floor(this.nowMs() / 1_000);
    if (second !== this.#second) this.#calls = 0;
    this.#second = second;
    this.#calls += 1;
    if (this.#calls <= callsPerSecond) return;
    throw new Refusal(429, '', { headers: { 'Retry-After': String(retryAfterSeconds) } });
  }
}
