/**
 * What a run has come to so far, counted in memory for whoever looks at it. Bounded; decides nothing.
 */
import type { Access } from '../model/organization';
import {
  type ClientRefusal,
  type SyncCounts,
  type SyncTrouble,
  type SyncView,
  type SyncWanted,
  syncTroubles,
} from '../model/sync';
import { ListingCount } from './listing-count';

const namedMax = 100;
/** An address, where a customer acts, and the provider's words. */
const detailCharsMax = 1500;
const refusalCharsMax = 300;

/** `unlisted`: an organization that no listing holds, though all were read to their end; for who looks it may come later. */
type LeftTrouble = SyncTrouble | 'unlisted';

export interface Left {
  scope: string;
  detail: string;
  trouble: LeftTrouble;
}

const noCounts: Readonly<SyncCounts> = {
  listed: 0,
  changed: 0,
  unchanged: 0,
  published: 0,
  left: 0,
  pages: 0,
  calls: 0,
};

export class Progress {
  readonly counts: SyncCounts = { ...noCounts };
  readonly listings = new ListingCount();
  /** Those that are to be listed, and those of them that nothing more is listed of. */
  readonly organizations = { known: new Set<string>(), done: new Set<string>() };
  /** What the client is refused, by scope, as far as the store or this run knows; at most 100. */
  refused: Map<string, ClientRefusal> = new Map();
  /** Of them, what this run left unread, or did not come to. */
  readonly stillRefused = new Set<string>();
  readonly #skipped: SyncView['skipped'] = [];
  readonly #partial = new Map<string, Omit<Left, 'scope'>>();
  run: number | null = null;
  resumed = false;
  /** It stopped before it began, since another process is at one. */
  isElsewhere = false;
  state: SyncView['state'] = 'running';
  reason: string | null = null;
  /** Milliseconds since the epoch; null while no pause of the provider is waited for. */
  waitsUntilMs: number | null = null;
  /** Met beside the listings that are named. */
  readonly #troubles = new Set<LeftTrouble>();
  #endedAtMs: number | null = null;

  constructor(
    readonly wanted: SyncWanted,
    readonly startedAtMs: number,
  ) {}

  /** `forgotten` was what an operator decided: nobody has to act. */
  skip(id: string, access: Access | 'forgotten'): void {
    if (access !== 'forgotten') this.#troubles.add('customer-must-act');
    if (this.#skipped.length < namedMax) this.#skipped.push({ id, access });
  }

  refuse(scope: string, message: string | null, nowMs: number): void {
    const sinceMs = this.refused.get(scope)?.sinceMs ?? nowMs;
    if (this.refused.size < namedMax || this.refused.has(scope))
      this.refused.set(scope, { sinceMs, message: message?.slice(0, refusalCharsMax) ?? null });
  }

  leavePartial(scope: string, detail: string, trouble: LeftTrouble): void {
    if (trouble !== 'none' && trouble !== 'unlisted')
      for (const one of this.refused.keys())
        if (scope === 'organizations' || isWithin(one, scope)) this.stillRefused.add(one);
    if (this.#partial.size < namedMax || this.#partial.has(scope))
      this.#partial.set(scope, { detail: detail.slice(0, detailCharsMax), trouble });
    else this.#troubles.add(trouble);
  }

  /** What could not be read of a scope, and of those below it, says nothing any more: it is read otherwise, or once more. */
  withdraw(of: string): void {
    for (const those of [this.#partial, this.stillRefused])
      for (const scope of those.keys()) if (isWithin(scope, of)) those.delete(scope);
  }

  /** What was not read to its end. At most 100. */
  left(): Left[] {
    return [...this.#partial].map(([scope, told]) => ({ scope, ...told }));
  }

  /** Nothing was left but what waits for customers, or is not shown to a user, of organizations that were listed whole. */
  isAllRead(): boolean {
    const met = this.#met();
    return !met.has('later') && !met.has('failed') && !this.#partial.has('organizations');
  }

  #met(): Set<LeftTrouble> {
    return new Set([...this.#troubles, ...[...this.#partial.values()].map(({ trouble }) => trouble)]);
  }

  /** Nothing is left that another run, later, could read where this one could not. */
  isWhole(): boolean {
    const met = this.#met();
    return !met.has('later') && !met.has('unlisted');
  }

  end(state: 'ended' | 'stopped', reason: string | null, nowMs: number): void {
    this.state = state;
    this.reason = reason;
    this.#endedAtMs = nowMs;
  }

  view(nowMs: number): SyncView {
    const { counts, listings, organizations, run, resumed, state, reason, startedAtMs, wanted } = this;
    const met = this.#met();
    if (met.has('unlisted')) met.add('later');
    return {
      state,
      run,
      ...wanted,
      resumed,
      ...counts,
      tookMs: Math.round((this.#endedAtMs ?? nowMs) - startedAtMs),
      startedAt: new Date(startedAtMs).toISOString(),
      organizations: { done: organizations.done.size, known: organizations.known.size },
      listings: listings.view(),
      skipped: [...this.#skipped],
      partial: this.left().map(({ scope, detail }) => ({ scope, detail })),
      trouble: syncTroubles.findLast((trouble) => met.has(trouble)) ?? 'none',
      waitsUntil: this.waitsUntilMs === null ? null : new Date(this.waitsUntilMs).toISOString(),
      reason,
    };
  }
}

function isWithin(scope: string, of: string): boolean {
  return scope === of || scope.startsWith(`${of}/`);
}

/** Before any run. */
export function idleView(): SyncView {
  return {
    state: 'idle',
    run: null,
    organizationId: null,
    full: false,
    resumed: false,
    ...noCounts,
    tookMs: 0,
    startedAt: null,
    organizations: { done: 0, known: 0 },
    listings: { done: 0, read: 0, known: 0, total: null },
    skipped: [],
    partial: [],
    trouble: 'none',
    waitsUntil: null,
    reason: null,
  };
}
