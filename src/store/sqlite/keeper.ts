/**
 * When calls are answered: at once where what they did may be forgotten, otherwise when it is on disk. There is one flush
 * at a time, and nobody waits for it but who is to be answered: what is made meanwhile is committed when it has ended.
 */
import type { Call, CallResult, Engine, Performed } from './engine';

export interface Answered<Asker> {
  asker: Asker;
  results: CallResult[];
}

export interface Keeper<Asker> {
  /** Executes the calls in order. Each asker is answered once, those whose calls must be on disk in a later turn. */
  serve(asker: Asker, calls: Call[]): void;
  /** Puts on disk what nobody waits for; false while a flush is under way, which does not hold it. */
  rest(): boolean;
  /** Commits and closes the engine once no flush is under way, and then tells. */
  close(closed: () => void): void;
}

interface Waiting<Asker> {
  asker: Asker;
  performed: Performed;
}

/**
 * Takes over when the engine flushes. `lost`: a flush failed, so that nobody knows what of its commit is on disk, and
 * nobody who waits is answered any more. What waits is bounded by who calls.
 */
export function makeKeeper<Asker>(
  engine: Engine,
  answer: (answered: Answered<Asker>[]) => void,
  lost: (error: Error) => void,
): Keeper<Asker> {
  let waiting: Waiting<Asker>[] = [];
  let isFlushing = false;
  let closed: (() => void) | null = null;
  // A log whose flush failed may be held in memory alone, and what follows in it would be lost with it.
  engine.checkpoint(true);
  engine.flushApart();

  function answerAll(groups: Waiting<Asker>[]): void {
    answer(groups.map(({ asker, performed }) => ({ asker, results: performed.results })));
  }

  function keep(): void {
    const groups = waiting;
    waiting = [];
    if (!engine.commit()) {
      answerAll(groups);
      return;
    }
    isFlushing = true;
    engine.flush((error) => {
      if (error !== null) {
        lost(error);
        return;
      }
      isFlushing = false;
      answerAll(groups);
      if (waiting.length > 0) keep();
      else if (closed !== null) closeNow(closed);
    });
    engine.checkpoint();
  }

  function closeNow(then: () => void): void {
    engine.commit();
    engine.checkpoint(true);
    engine.close();
    then();
  }

  return {
    serve(asker, calls) {
      const performed = engine.perform(calls);
      // What may build on rows that are not committed is answered with them: a task taken of one could be another's.
      if (!performed.lasting && waiting.length === 0) answer([{ asker, results: performed.results }]);
      else {
        waiting.push({ asker, performed });
        if (!isFlushing) keep();
      }
    },
    rest() {
      if (isFlushing) return false;
      if (engine.isOpen()) keep();
      return true;
    },
    close(then) {
      if (isFlushing) closed = then;
      else closeNow(then);
    },
  };
}
