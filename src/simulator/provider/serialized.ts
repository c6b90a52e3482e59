// Answers kept as text until the resource behind them changes: the provider is also the far side of load tests.
// Bounded: when 20,000 are kept, all are forgotten and made again as they are asked for.
import type { JsonObject } from '../json';

const KEPT_MAX = 20_000;

export class Serialized {
  readonly #kept = new Map<string, { revision: number; text: string }>();

  /** The text for a form of a resource, made anew when its revision is another than the kept one's. */
  get(form: string, revision: number, make: () => JsonObject): string {
    const kept = this.#kept.get(form);
    if (kept?.revision === revision) return kept.text;
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear();
    const text = JSON.stringify(make());
    this.#kept.set(form, { revision, text });
    return text;
  }
}
