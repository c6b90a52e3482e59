/**
 * An answer that is longer than memory should be: lines of JSON, or bytes, written as they come. Its first piece is
 * awaited before the status is, so that what fails at once is still a problem document; a later failure breaks the
 * connection, which nobody takes for an end.
 */
import { once } from 'node:events';
import type { Response } from 'express';

export class Streamed {
  constructor(
    readonly mediaType: string,
    readonly headers: Record<string, string>,
    readonly pieces: AsyncIterable<string | Uint8Array>,
  ) {}
}

/** One JSON value a line (https://github.com/ndjson/ndjson-spec). */
export function streamedLines(values: AsyncIterable<unknown>): Streamed {
  return new Streamed('application/x-ndjson', {}, linesOf(values));
}

async function* linesOf(values: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const value of values) yield `${JSON.stringify(value)}\n`;
}

/** Throws what the first piece throws; resolves when all is written or the asker is gone. */
export async function sendStreamed(response: Response, streamed: Streamed): Promise<void> {
  const pieces = streamed.pieces[Symbol.asyncIterator]();
  let piece = await pieces.next();
  response.type(streamed.mediaType).set(streamed.headers);
  try {
    while (!piece.done) {
      if (response.destroyed) break;
      if (!response.write(piece.value))
        await Promise.race([once(response, 'drain'), once(response, 'close')]);
      piece = await pieces.next();
    }
    response.end();
  } catch {
    // What was written arrives; the end that an answer has does not.
    response.uncork();
    response.socket?.destroySoon();
  } finally {
    await pieces.return?.();
  }
}
