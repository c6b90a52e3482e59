/**
 * The certificates and the key that new connections use: what their files say now, and where that does not fit, what they
 * said before. How files are read and judged is handed in.
 */
import type { Clock } from '../tools/clock';
import type { TlsFiles, TlsTexts } from './client-config';

export interface TlsDoors {
  /** Reads the files now; throws where what they say does not fit, with a line for each reason and no secret. */
  read(): TlsTexts;
  /** Is told once of each reason why what they say is not used. Holds no secret. */
  unfit(reason: string): void;
  clock: Pick<Clock, 'steadyMs'>;
}

/** Files are read while the process waits, and one that opens anew makes many connections at once. */
const readAgainMs = 5_000;

/** `first` is what the files said at the start. They are read at most once in 5 s, and twice then where they do not fit. */
export function makeTlsFiles(first: TlsTexts, { read, unfit, clock }: TlsDoors): TlsFiles {
  let texts = first;
  let reason: string | null = null;
  let readAtMs = Number.NEGATIVE_INFINITY;

  function look(): void {
    const before = reason;
    reason = null;
    try {
      // Between two of them a whole folder may be replaced by another, as Kubernetes does with a Secret.
      texts = tried(read) ?? read();
    } catch (error) {
      reason = (error as Error).message.replaceAll('\n', '; ');
      if (reason !== before) unfit(reason);
    }
  }
  function lookIfOld(): void {
    if (clock.steadyMs() - readAtMs < readAgainMs) return;
    readAtMs = clock.steadyMs();
    look();
  }
  return {
    now() {
      lookIfOld();
      return texts;
    },
    unfit() {
      lookIfOld();
      return reason;
    },
  };
}

function tried(read: TlsDoors['read']): TlsTexts | null {
  try {
    return read();
  } catch {
    return null;
  }
}
