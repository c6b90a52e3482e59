/**
 * What a run has come to so far, counted in memory for whoever looks at it. Bounded; decides nothing.
 */
import type { SyncCounts, SyncView } from '../model/sync';

const namedMax = 100;

export interface Wanted {
  organizationId: string | null;
  full: boolean;
}

export class Progress {
  readonly counts: SyncCounts = { listed: 0, changed: 0, unchanged: 0, published: 0, pages: 0, calls: 0 };
  readonly listings = { done: 0, known: 0 };
  readonly #skipped: SyncView['skipped'] = [];
  readonly #partial: SyncView['partial'] = [];
  run: number | null = null;
  resumed = false;
  state: SyncView['state'] = 'running';
  reason: string | null = null;
  #endedAtMs: number | null = null;

  constructor(
    readonly wanted: Wanted,
    readonly startedAtMs: number,
  ) {}

  skip(id: string, access: string): void {
    if (this.#skipped.length < namedMax) this.#skipped.push({ id, access });
  }

  leavePartial(scope: string, detail: string): void {
    if (this.#partial.length < namedMax) this.#partial.push({ scope, detail: detail.slice(0, 300) });
  }

  isWhole(): boolean {
    return this.#partial.length === 0;
  }

  end(state: 'ended' | 'stopped', reason: string | null, nowMs: number): void {
    this.state = state;
    this.reason = reason;
    this.#endedAtMs = nowMs;
  }

  view(nowMs: number): SyncView {
    const { counts, listings, run, resumed, state, reason, startedAtMs, wanted } = this;
    return {
      state,
      run,
      ...wanted,
      resumed,
      ...counts,
      tookMs: Math.round((this.#endedAtMs ?? nowMs) - startedAtMs),
      startedAt: new Date(startedAtMs).toISOString(),
      listings: { ...listings },
      skipped: [...this.#skipped],
      partial: [...this.#partial],
      reason,
    };
  }
}

/** Before any run. */
export function idleView(): SyncView {
  return {
    ...{ state: 'idle', run: null, organizationId: null, full: false, resumed: false },
    ...{ listed: 0, changed: 0, unchanged: 0, published: 0, pages: 0, calls: 0, tookMs: 0 },
    ...{ startedAt: null, listings: { done: 0, known: 0 }, skipped: [], partial: [], reason: null },
  };
}
