/**
 * The loop that keeps work in flight: up to `concurrency` at once, a new take as soon as there is room, asleep when
 * nothing is due. `step` does one round and waits for it, for tests that move by hand; `start` runs until stopped.
 */
import { type Clock, endsWithin } from '../tools/clock';

export interface WorkSource<Work> {
  take(limit: number): Promise<Work[]>;
  /** Never throws: every end of the work is an ending in the store. */
  attempt(work: Work, signal: AbortSignal): Promise<void>;
  /** How many may be taken now; 0 while the provider asked for a pause. */
  limit(wanted: number): number;
  /** Milliseconds until something falls due; null when nothing does. */
  nextDueInMs(): Promise<number | null>;
  /** Gives back what was taken and not begun or ended. */
  release(work: Work[]): Promise<void>;
  /** A round failed: the store is away. */
  failed(error: unknown): void;
}

export interface Run {
  step(): Promise<'worked' | 'empty'>;
  start(): void;
  /** Something may be due: look now. */
  wake(): void;
  /** Takes nothing more, waits for what is in flight up to `graceMs`, then cuts it off and gives it back. */
  stop(graceMs: number): Promise<void>;
}

/** Without news, the store is asked at least so often. */
const idleMsMax = 1000;
const storeAwayMs = 500;

export function makeRun<Work>(source: WorkSource<Work>, concurrency: number, clock: Clock): Run {
  const inFlight = new Map<Work, Promise<void>>();
  const cut = new AbortController();
  let stopping = false;
  let loop: Promise<void> | null = null;
  let woken: AbortController | null = null;
  let news = false;

  function wake(): void {
    news = true;
    woken?.abort();
  }

  function begin(work: Work): Promise<void> {
    const ended = source.attempt(work, cut.signal).finally(() => {
      inFlight.delete(work);
      wake();
    });
    inFlight.set(work, ended);
    return ended;
  }

  async function round(): Promise<number> {
    const room = source.limit(concurrency - inFlight.size);
    if (room <= 0) return 0;
    const taken = await source.take(room);
    if (stopping) {
      await source.release(taken);
      return 0;
    }
    for (const work of taken) void begin(work);
    return taken.length;
  }

  async function sleep(): Promise<void> {
    if (news || stopping) return;
    const room = source.limit(concurrency - inFlight.size) > 0;
    const dueInMs = room ? ((await source.nextDueInMs()) ?? idleMsMax) : idleMsMax;
    if (news || stopping) return;
    woken = new AbortController();
    await clock.wait(Math.min(Math.max(dueInMs, 1), idleMsMax), woken.signal);
    woken = null;
  }

  async function forever(): Promise<void> {
    while (!stopping) {
      news = false;
      try {
        const begun = await round();
        if (begun === 0) await sleep();
      } catch (error) {
        source.failed(error);
        await clock.wait(storeAwayMs, cut.signal);
      }
    }
  }

  return {
    async step() {
      const taken = await source.take(Math.max(0, source.limit(concurrency)));
      await Promise.all(taken.map(begin));
      return taken.length > 0 ? 'worked' : 'empty';
    },
    start() {
      loop ??= forever();
    },
    wake,
    async stop(graceMs) {
      stopping = true;
      wake();
      await endsWithin(Promise.all(inFlight.values()), graceMs, clock);
      const left = [...inFlight.keys()];
      cut.abort();
      if (left.length > 0) await source.release(left).catch(source.failed);
      if (loop !== null) await endsWithin(loop, graceMs, clock);
    },
  };
}
