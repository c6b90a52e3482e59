/**
 * Writes text to a file descriptor in the background, in order, one write at a time. What cannot be written now waits for the next
 * flush, up to a bound beyond which it is dropped: a disk without room for the log, and a reader that stands still, stop no work.
 */
import { write, writeSync } from 'node:fs';

/** What writes bundles. */
export interface BundleWriter {
  write(bundle: string): unknown;
  flush(): void;
  flushSync(): void;
  /** Lines that there was no room to keep, so far. */
  dropped(): number;
}

const writtenBytesMin = 65_536;
const writtenBytesMax = 262_144;
const keptBytesMax = 4_194_304;
/** A pipe that is full for a moment, at the end of the process. */
const fullTriesMax = 10;
const fullWaitMs = 100;

/**
 * Written in pieces of at most 256 KiB; of what cannot be written at most 4 MiB are kept, and a bundle. `flushSync` tries a pipe that is
 * full ten times more, throws what the system says, and leaves what is being written then to end.
 */
export function writeLines(fd: number): BundleWriter {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let written: Buffer | null = null;
  let dropped = 0;

  function begin(): void {
    if (written !== null || waitingBytes === 0) return;
    const all = Buffer.concat(waiting);
    const piece = all.subarray(0, writtenBytesMax);
    waiting = [all.subarray(piece.length)];
    waitingBytes = all.length - piece.length;
    written = piece;
    write(fd, piece, (error, bytes) => {
      written = null;
      const left = piece.subarray(error === null ? bytes : 0);
      waiting.unshift(left);
      waitingBytes += left.length;
      if (error === null && waitingBytes >= writtenBytesMin) begin();
    });
  }

  return {
    write(bundle) {
      if (waitingBytes >= keptBytesMax) {
        dropped += bundle.split('\n').length - 1;
        return;
      }
      const bytes = Buffer.from(bundle);
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes >= writtenBytesMin) begin();
    },
    flush: begin,
    flushSync() {
      const all = Buffer.concat(waiting);
      waiting = [];
      waitingBytes = 0;
      writeWhole(fd, all);
    },
    dropped: () => dropped,
  };
}

function writeWhole(fd: number, bytes: Buffer): void {
  let at = 0;
  for (let tries = 0; at < bytes.length; tries += 1) {
    try {
      at += writeSync(fd, bytes, at);
      tries = 0;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || tries >= fullTriesMax) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullWaitMs);
    }
  }
}
