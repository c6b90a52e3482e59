/**
 * What the relay picks, and when: by the dozen rows are picked so far apart, and those that come next while the ones before
 * are sent. So what is in hand is left out of a pick: by its rows, since one that a replay sends again stands before them.
 * Sends and marks nothing.
 */
import type { OutboxRow } from '../model/event';
import type { HeldPartition, Outbox } from '../model/store';
import type { Lead } from './lead';
import type { RelayOptions } from './relay-options';

/** Each send costs the store a commit and the broker a request, whatever is in it: by the dozen, rows are picked so far apart. */
const gatheredRowsMin = 12;
const pickedApartMs = 10;
/** Why nothing more gathers; a reason of its own, since the default one is an error with its stack. */
const over = 'over';

export interface PickParts {
  outbox: Pick<Outbox, 'pickUnsent'>;
  lead: Pick<Lead, 'held'>;
}

/** Picks throw what the outbox throws. */
export class Picks {
  private last = { rows: 0, atMs: 0 };
  private gathering = new AbortController();
  private ahead: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly parts: PickParts,
    private readonly options: Pick<RelayOptions, 'clock' | 'batchRows' | 'batchBytes'>,
  ) {}

  /** How long to let rows gather: while they come by the dozen, what is left since the last were picked. */
  gatherMs(): number {
    const { rows, atMs } = this.last;
    const gathers = rows >= gatheredRowsMin && rows < this.options.batchRows;
    return gathers ? Math.max(0, atMs + pickedApartMs - this.nowMs()) : 0;
  }

  /** The first of a turn: nothing is in hand. */
  first(held: HeldPartition[]): Promise<OutboxRow[]> {
    return this.pick(held, []);
  }

  /**
   * What comes after `rows` while those are sent; none where so few come that they are sent at once. It is picked once what was
   * before is `marked`, whose failure it throws, and nothing of `rows` may be before it has settled: what it leaves out is unsent all
   * the while, and no replay can have that go again.
   */
  next(held: HeldPartition[], rows: OutboxRow[], marked: Promise<void>): Promise<OutboxRow[]> {
    this.gathering = new AbortController();
    const picking = this.pickBehind(held, rows, marked, this.gathering.signal);
    this.ahead = picking.catch(() => {});
    return picking;
  }

  /** There is no hurry any more: lets nothing gather, and waits until what was begun is picked. Never rejects. */
  async settle(): Promise<void> {
    this.gathering.abort(over);
    await this.ahead;
  }

  private async pickBehind(
    held: HeldPartition[],
    rows: OutboxRow[],
    marked: Promise<void>,
    settling: AbortSignal,
  ): Promise<OutboxRow[]> {
    await marked;
    if (rows.length < gatheredRowsMin) return [];
    const gatherMs = this.gatherMs();
    if (gatherMs > 0) await this.options.clock.wait(gatherMs, settling);
    if (settling.aborted) return [];
    return this.pick(
      held,
      rows.map(({ row }) => row),
    );
  }

  private async pick(held: HeldPartition[], inHand: number[]): Promise<OutboxRow[]> {
    const { outbox, lead } = this.parts;
    const { batchRows, batchBytes } = this.options;
    const atMs = this.nowMs();
    const rows = await outbox.pickUnsent(batchRows, batchBytes, held, lead.held(), inHand);
    this.last = { rows: rows.length, atMs };
    return rows;
  }

  private nowMs(): number {
    return this.options.clock.steadyMs();
  }
}
