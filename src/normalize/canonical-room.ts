/**
 * Room for one canonical text at a time, as the UTF-8 bytes that are hashed: gathering strings instead makes hundreds of
 * short-lived ones for each document. It grows with a document and is given up after a large one. No rules of what is
 * written are here.
 */

const bytesFirst = 65_536;
const bytesKept = 1_048_576;

export class CanonicalRoom {
  #bytes = Buffer.allocUnsafeSlow(bytesFirst);
  #at = 0;

  /** Whatever was written before is gone, and bytes that were handed out are written over. */
  begin(): void {
    if (this.#bytes.length > bytesKept) this.#bytes = Buffer.allocUnsafeSlow(bytesFirst);
    this.#at = 0;
  }

  /** What was written since the beginning: valid until the next. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  /** Text of ASCII characters, as it stands. */
  plain(text: string): void {
    const { length } = text;
    this.#reserve(length);
    const bytes = this.#bytes;
    const start = this.#at;
    for (let at = 0; at < length; at += 1) bytes[start + at] = text.charCodeAt(at);
    this.#at = start + length;
  }

  copy(from: Uint8Array): void {
    const { length } = from;
    this.#reserve(length);
    const bytes = this.#bytes;
    const start = this.#at;
    for (let at = 0; at < length; at += 1) bytes[start + at] = from[at] as number;
    this.#at = start + length;
  }

  /** As JSON.stringify writes text; most needs no escape, which is found out while it is written. */
  quoted(text: string): void {
    const { length } = text;
    this.#reserve(length + 2);
    const bytes = this.#bytes;
    const start = this.#at + 1;
    for (let at = 0; at < length; at += 1) {
      const code = text.charCodeAt(at);
      if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) {
        this.#escaped(JSON.stringify(text));
        return;
      }
      bytes[start + at] = code;
    }
    bytes[start - 1] = 0x22;
    bytes[start + length] = 0x22;
    this.#at = start + length + 1;
  }

  #escaped(text: string): void {
    this.#reserve(text.length * 3);
    this.#at += this.#bytes.write(text, this.#at);
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, needed));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
