// Remembers used nonces so that none is accepted twice. Stricter than RFC 5849 section 3.3, which lets a nonce come
// again with another timestamp: here it is refused as long as a request of its age could still be accepted.
// Memory is bounded by the requests of two spans of ten minutes.

const SPAN_SECONDS = 600;

export class Nonces {
  #current = new Set<string>();
  #before = new Set<string>();
  #since = 0;

  /** True the first time; `nowSeconds` moves the window. */
  use(nonce: string, nowSeconds: number): boolean {
    if (nowSeconds - this.#since >= SPAN_SECONDS) {
      this.#before = nowSeconds - this.#since < 2 * SPAN_SECONDS ? this.#current : new Set();
      this.#current = new Set();
      this.#since = nowSeconds;
    }
    if (this.#current.has(nonce) || this.#before.has(nonce)) return false;
    this.#current.add(nonce);
    return true;
  }
}
