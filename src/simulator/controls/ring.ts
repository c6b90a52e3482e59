// A list that keeps the newest entries: pushing is cheap and memory is bounded by the number kept.
// It knows nothing of what it holds.

export class Ring<T> {
  #entries: T[] = [];
  #next = 0;

  constructor(readonly kept: number) {}

  push(entry: T): void {
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % this.kept;
  }

  clear(): void {
    this.#entries = [];
    this.#next = 0;
  }

  /** Oldest first. */
  list(): T[] {
    if (this.#entries.length < this.kept) return [...this.#entries];
    return [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
  }
}
