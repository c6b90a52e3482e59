/**
 * What the provider's sandbox allows against what is used of it: calls of the month, connected organizations, months. What
 * nears a limit is a condition, and what is used up stops listings that nobody waits for. It forbids nothing itself.
 */
import type { Condition } from '../model/alert';
import {
  monthsBetween,
  monthsLater,
  type SandboxLimit,
  type SandboxUse,
  type SandboxView,
  sandboxMost,
  useOf,
} from '../model/sandbox';
import { type CallBookDoors, makeCallBook } from './call-book';

export interface SandboxMeter {
  /** One call is about to be sent. null: it is booked; otherwise it is when this resolves, or the store is away. */
  called(): Promise<void> | null;
  view(): SandboxView;
  /** Why listings that nobody waits for must stop; null while they need not. */
  forbidden(): string | null;
  conditions(): Condition[];
  /** Reads what is booked by all, and how many organizations are connected. Throws what the store throws. */
  look(): Promise<void>;
  /** Gives back what was booked and not used. */
  end(): Promise<void>;
}

export interface MeterDoors extends CallBookDoors {
  /** How many organizations are connected, and how many of them were made for tests. */
  connected(): Promise<Connected>;
}

export interface Connected {
  all: number;
  test: number;
}

const nearShare = 0.8;
/** Of the calls of a month: what is left of them goes fast. */
const callsShare = 0.95;
/** So long before its end the time in the sandbox is urgent. */
const endUrgentMs = 7 * 86_400_000;
/** What a limit that is reached means until the provider moves the application to production. */
const untilThen: Record<SandboxLimit, string> = {
  calls: 'a sync waits until then, or for the next month',
  organizations: 'no further one can be connected until then',
  'test-organizations': 'an application has one until then',
  months: 'a sync waits until then',
};

/** Listings use these up. */
const stopsSync = new Set<SandboxLimit>(['calls', 'months']);

/** Counts nothing. */
export const productionMeter: SandboxMeter = {
  called: () => null,
  view: () => ({ plan: 'production', limits: [] }),
  forbidden: () => null,
  conditions: () => [],
  async look() {},
  async end() {},
};

/** `sinceMs`: the first day in the sandbox; null when it is not known. */
export function makeSandboxMeter(doors: MeterDoors, sinceMs: number | null): SandboxMeter {
  const { clock } = doors;
  const calls = makeCallBook(doors);
  let connected: Connected = { all: 0, test: 0 };
  const since = new Map<string, number>();

  function limits(): SandboxUse[] {
    const { used, month } = calls.count();
    const ofCalls = useOf('calls', used, `of ${month}`);
    const organizations = useOf('organizations', connected.all, 'connected now');
    const test = useOf('test-organizations', connected.test, 'of those named as such');
    return [ofCalls, organizations, test, ...monthsUsed(sinceMs, clock.nowMs())];
  }

  function conditionOf(use: SandboxUse): Condition[] {
    const { limit, used: count, most } = use;
    const share = count / most;
    // The one that every application has is no news.
    if (share < nearShare || (limit === 'test-organizations' && share <= 1)) {
      since.delete(limit);
      return [];
    }
    const nowMs = clock.nowMs();
    const fromMs = since.get(limit) ?? nowMs;
    since.set(limit, fromMs);
    const times = timesOf(limit);
    const name = isReached(use, times, nowMs) ? 'sandbox-limit' : 'sandbox-near';
    return [{ name, sinceMs: fromMs, detail: sentenceOf(use), labels: { limit }, ...times }];
  }

  function timesOf(limit: SandboxLimit): Times {
    if (limit === 'calls') return { overAtMs: monthsLater(Date.parse(calls.count().month), 1) };
    return limit === 'months' && sinceMs !== null ? { endsAtMs: endOf(sinceMs) } : {};
  }

  return {
    called: () => calls.called(),
    view: () => ({ plan: 'sandbox', limits: limits() }),
    forbidden() {
      const over = limits().find(({ limit, left }) => stopsSync.has(limit) && left === 0);
      return over ? `the ${over.most} ${over.limit} of the sandbox are used (${over.detail})` : null;
    },
    conditions: () => limits().flatMap(conditionOf),
    async look() {
      await calls.look();
      connected = await doors.connected();
    },
    end: () => calls.end(),
  };
}

type Times = Pick<Condition, 'endsAtMs' | 'overAtMs'>;

/** Does somebody have to act? As many organizations as are allowed are no fault, however long there are so many. */
function isReached({ limit, used, most }: SandboxUse, { endsAtMs }: Times, nowMs: number): boolean {
  if (endsAtMs !== undefined) return endsAtMs - nowMs <= endUrgentMs;
  return limit === 'calls' ? used / most >= callsShare : used > most;
}

function endOf(sinceMs: number): number {
  return monthsLater(sinceMs, sandboxMost.months);
}

function monthsUsed(sinceMs: number | null, nowMs: number): SandboxUse[] {
  if (sinceMs === null) return [];
  const end = new Date(endOf(sinceMs));
  return [useOf('months', monthsBetween(sinceMs, nowMs), `until ${end.toISOString().slice(0, 10)}`)];
}

function sentenceOf({ limit, used, most, detail }: SandboxUse): string {
  const next = used >= most ? ` Request the move to production; ${untilThen[limit]}.` : '';
  // Of what is not used up there can be any number, and a share of a few says nothing.
  if (used > most && !stopsSync.has(limit))
    return `${used} ${limit}, where the sandbox allows ${most} (${detail}).${next}`;
  return `${Math.floor((used / most) * 100)} % of the ${most} ${limit} of the sandbox are used (${detail}).${next}`;
}
