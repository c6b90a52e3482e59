/**
 * The loop that keeps work in flight: up to `concurrency` occupy the far side at once, a new take as soon as one of them
 * leaves it, asleep when nothing is due. `step` does one round and waits for it, for tests that move by hand; `start`
 * runs until stopped.
 */
import { type Clock, endsWithin } from '../tools/clock';

export interface WorkSource<Work> {
  take(limit: number): Promise<Work[]>;
  /**
   * Never throws: every end of the work is an ending in the store. `left` may be called when the far side is no longer
   * needed, so that other work can begin while this one's ending is written.
   */
  attempt(work: Work, signal: AbortSignal, left: () => void): Promise<void>;
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

/** For each place on the far side, so much may be taken and not ended: behind what waits to end, others wait as well. */
const heldPerPlace = 2;
/** Without news, the store is asked at least so often. */
const idleMsMax = 1000;
const storeAwayMs = 500;

/**
 * Has at most `concurrency` in work at once, until it is stopped. While it runs, a source that fails is told of and
 * asked again after half a second; a step rejects as the source does.
 */
export function makeRun<Work>(source: WorkSource<Work>, concurrency: number, clock: Clock): Run {
  const cut = new AbortController();
  const hand = makeHand(source, concurrency, cut.signal, wake);
  let stopping = false;
  let loop: Promise<void> | null = null;
  let woken: AbortController | null = null;
  let news = false;

  function wake(): void {
    news = true;
    // With a reason, since the default one is an error with its stack.
    woken?.abort('woken');
  }

  /** True when there may be more to take at once. */
  async function round(): Promise<boolean> {
    if (hand.ahead.length > 0 && source.limit(1) <= 0) await source.release(hand.ahead.splice(0));
    const room = hand.room();
    if (room <= 0) return false;
    hand.asked();
    const taken = await source.take(room);
    if (stopping) {
      await source.release(taken);
      return false;
    }
    hand.hold(taken);
    return taken.length === room;
  }

  async function sleep(): Promise<void> {
    if (news || stopping) return;
    const dueInMs = hand.room() > 0 ? ((await source.nextDueInMs()) ?? idleMsMax) : idleMsMax;
    if (news || stopping) return;
    woken = new AbortController();
    await clock.wait(Math.min(Math.max(dueInMs, 1), idleMsMax), woken.signal);
    woken = null;
  }

  async function forever(): Promise<void> {
    while (!stopping) {
      news = false;
      try {
        if (!(await round())) await sleep();
      } catch (error) {
        source.failed(error);
        await clock.wait(storeAwayMs, cut.signal);
      }
    }
  }

  return {
    async step() {
      const taken = await source.take(Math.max(0, source.limit(concurrency)));
      await Promise.all(taken.map(hand.begin));
      return taken.length > 0 ? 'worked' : 'empty';
    },
    start() {
      loop ??= forever();
    },
    wake,
    async stop(graceMs) {
      stopping = true;
      const ahead = hand.ahead.splice(0);
      wake();
      await endsWithin(Promise.all(hand.begun.values()), graceMs, clock);
      const left = [...ahead, ...hand.begun.keys()];
      cut.abort();
      if (left.length > 0) await source.release(left).catch(source.failed);
      if (loop !== null) await endsWithin(loop, graceMs, clock);
    },
  };
}

/**
 * What is taken and not ended: some occupies the far side, some waits for its ending in the store, and a little is taken
 * ahead, as much as is likely to find a place before the next take is answered.
 */
function makeHand<Work>(
  source: WorkSource<Work>,
  concurrency: number,
  signal: AbortSignal,
  changed: () => void,
) {
  const begun = new Map<Work, Promise<void>>();
  const ahead: Work[] = [];
  let occupied = 0;
  let leftSinceAsked = 0;

  function begin(work: Work): Promise<void> {
    let present = true;
    const leave = () => {
      if (!present) return;
      present = false;
      occupied -= 1;
      leftSinceAsked += 1;
      beginNext();
      changed();
    };
    occupied += 1;
    const ended = source.attempt(work, signal, leave).finally(() => {
      begun.delete(work);
      leave();
      changed();
    });
    begun.set(work, ended);
    return ended;
  }

  function beginNext(): void {
    while (ahead.length > 0 && occupied < concurrency && source.limit(1) > 0)
      void begin(ahead.shift() as Work);
  }

  return {
    begun,
    ahead,
    begin,
    /** How many to take now. */
    room(): number {
      const places = concurrency - occupied - ahead.length + leftSinceAsked;
      return source.limit(Math.min(places, heldPerPlace * concurrency - begun.size - ahead.length));
    },
    asked(): void {
      leftSinceAsked = 0;
    },
    hold(taken: Work[]): void {
      ahead.push(...taken);
      beginNext();
    },
  };
}
