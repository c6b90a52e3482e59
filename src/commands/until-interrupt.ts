/**
 * A provider whose files end with the interrupt: a line that drips would hold an answer until its deadline, and with it the
 * person who wants the shell back. Nothing else of it is changed.
 */
import type { ProviderApi } from '../model/provider-data';

type Files = Pick<ProviderApi, 'fileContent'>;

/** Throws as `provider` does, and the signal's reason at once where it is aborted; what was asked for is then left to itself. */
export function untilInterrupt(provider: Files, signal: AbortSignal): Files {
  return {
    async fileContent(id, from, version) {
      const content = await orInterrupt(provider.fileContent(id, from, version), signal);
      return { ...content, chunks: chunksUntil(content.chunks, signal) };
    },
  };
}

async function* chunksUntil(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal) {
  const each = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await orInterrupt(each.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // It ends after the piece that is under way, which nobody waits for.
    void each.return?.().catch(() => {});
  }
}

function orInterrupt<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
