/**
 * Standard output for log lines: gathered to bundles, written in the background, at most a quarter of a second late.
 * What a line says is not known here.
 */
import { destination } from 'pino';

export interface StandardOutput {
  write(text: string): void;
  /** Writes out what is gathered before it returns; for the end of the process. Never throws. */
  close(): void;
}

/** What writes bundles: pino's own destination. */
export interface BundleWriter {
  write(bundle: string): unknown;
  flush(): void;
  flushSync(): void;
}

/** The writer measures all that it holds with each write: hundreds of lines each cost a copy of those before. */
const bundleCharacters = 32_768;
const writtenBytesMin = 65_536;
const writtenBytesMax = 262_144;
/** A reader of the log should not wait for a bundle to fill. */
const lateMs = 250;

/** Written in pieces of at most 256 KiB. */
export function openStandardOutput(writer: BundleWriter = openWriter()): StandardOutput {
  let gathered = '';
  let closed = false;

  function handOver(): void {
    if (gathered === '') return;
    const bundle = gathered;
    gathered = '';
    writer.write(bundle);
  }

  // Before the writer's own listener, which writes out what it was given.
  process.prependListener('exit', handOver);
  const flusher = setInterval(() => {
    handOver();
    writer.flush();
  }, lateMs).unref();
  return {
    write(text) {
      gathered += text;
      if (closed || gathered.length >= bundleCharacters) handOver();
    },
    close() {
      closed = true;
      clearInterval(flusher);
      process.off('exit', handOver);
      try {
        handOver();
        writer.flushSync();
      } catch {
        // Standard output is gone: there is nobody left to tell.
      }
    },
  };
}

function openWriter(): BundleWriter {
  return destination({ fd: 1, sync: false, minLength: writtenBytesMin, maxWrite: writtenBytesMax });
}
