/**
 * Standard output for log lines: gathered to bundles, written in the background, at most a quarter of a second late.
 * What a line says is not known here.
 */
import { type BundleWriter, writeLines } from './write-lines';

export interface StandardOutput {
  write(text: string): void;
  /** Writes out what is gathered before it returns; for the end of the process. Never throws. */
  close(): void;
  /** Lines that could not be written and are gone, so far. */
  dropped(): number;
}

/** Hundreds of lines become bytes together: each would be a buffer of its own. */
const bundleCharacters = 32_768;
/** A reader of the log should not wait for a bundle to fill. */
const lateMs = 250;

/** Written in pieces of at most 256 KiB. */
export function openStandardOutput(writer: BundleWriter = writeLines(1)): StandardOutput {
  let gathered = '';
  let closed = false;

  function handOver(): void {
    if (gathered === '') return;
    const bundle = gathered;
    gathered = '';
    writer.write(bundle);
  }

  function writeOut(): void {
    try {
      handOver();
      writer.flushSync();
    } catch {
      // Standard output is gone, or its disk is full: there is nobody left to tell.
    }
  }

  process.prependListener('exit', writeOut);
  const flusher = setInterval(() => {
    handOver();
    writer.flush();
  }, lateMs).unref();
  return {
    write(text) {
      gathered += text;
      if (closed) writeOut();
      else if (gathered.length >= bundleCharacters) handOver();
    },
    close() {
      closed = true;
      clearInterval(flusher);
      process.off('exit', writeOut);
      writeOut();
    },
    dropped: () => writer.dropped(),
  };
}
