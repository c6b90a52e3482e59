/**
 * Counts calls against the limits of the provider's sandbox, for all processes together and across restarts: they are
 * booked in the store in blocks, before they are made, so that no call waits for a disk and a process that dies has
 * counted at most one block too many, never one call too few for good. It forbids nothing itself.
 */
import type { Condition } from '../model/alert';
import {
  monthOf,
  monthsBetween,
  monthsLater,
  type SandboxLimit,
  type SandboxUse,
  type SandboxView,
  sandboxMost,
  useOf,
} from '../model/sandbox';
import type { Syncs } from '../model/store';
import type { Clock } from '../tools/clock';

export interface SandboxMeter {
  /** One call is made. */
  called(): void;
  view(): SandboxView;
  /** Why listings that nobody waits for must stop; null while they need not. */
  forbidden(): string | null;
  conditions(): Condition[];
  /** Reads what is booked by all, and how many organizations are connected. Throws what the store throws. */
  look(): Promise<void>;
  /** Gives back what was booked and not used. */
  end(): Promise<void>;
}

export interface MeterDoors {
  store: Pick<Syncs, 'countCalls'>;
  /** How many organizations are connected, and how many of them were made for tests. */
  connected(): Promise<Connected>;
  /** A booking failed; it is made again with the next one. */
  failed(error: unknown): void;
  clock: Clock;
}

export interface Connected {
  all: number;
  test: number;
}

/** So many calls are booked ahead; so many a crash may have counted too many. */
export const blockCalls = 50;
const bookAt = 20;
const nearShare = 0.8;
const limitShare = 0.95;
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
  called() {},
  view: () => ({ plan: 'production', limits: [] }),
  forbidden: () => null,
  conditions: () => [],
  async look() {},
  async end() {},
};

/** `sinceMs`: the first day in the sandbox; null when it is not known. */
export function makeSandboxMeter(doors: MeterDoors, sinceMs: number | null): SandboxMeter {
  const { store, clock, failed } = doors;
  let month = monthOf(clock.nowMs());
  /** Booked by all processes, this one's unused block included. */
  let booked = 0;
  /** Booked by this process and not used; negative: used and not booked yet. */
  let ahead = 0;
  let booking: Promise<void> | null = null;
  let connected: Connected = { all: 0, test: 0 };
  const since = new Map<string, number>();

  /**
   * Only one at a time; what is used meanwhile is in the next. Of one that was under way when the month turned nothing
   * is known of the new month.
   */
  function book(calls: number): Promise<void> {
    const bookedOf = month;
    booking ??= store
      .countCalls(bookedOf, calls)
      .then((total) => {
        if (bookedOf !== month) return;
        booked = total;
        ahead += calls;
      }, failed)
      .finally(() => {
        booking = null;
      });
    return booking;
  }

  function turnMonth(): void {
    const today = monthOf(clock.nowMs());
    if (today === month) return;
    month = today;
    booked = 0;
    ahead = 0;
  }

  const used = () => Math.max(0, booked - ahead);

  function limits(): SandboxUse[] {
    turnMonth();
    const calls = useOf('calls', used(), `of ${month}`);
    const organizations = useOf('organizations', connected.all, 'connected now');
    const test = useOf('test-organizations', connected.test, 'of those named as such');
    return [calls, organizations, test, ...monthsUsed(sinceMs, clock.nowMs())];
  }

  function conditionOf(use: SandboxUse): Condition[] {
    const { limit, used: count, most } = use;
    const share = count / most;
    const name = share >= limitShare ? 'sandbox-limit' : 'sandbox-near';
    // The one that every application has is no news.
    if (share < nearShare || (limit === 'test-organizations' && share <= 1)) {
      since.delete(limit);
      return [];
    }
    const fromMs = since.get(limit) ?? clock.nowMs();
    since.set(limit, fromMs);
    return [{ name, sinceMs: fromMs, detail: sentenceOf(use), labels: { limit } }];
  }

  return {
    called() {
      turnMonth();
      ahead -= 1;
      if (ahead < bookAt) void book(blockCalls - ahead);
    },
    view: () => ({ plan: 'sandbox', limits: limits() }),
    forbidden() {
      const over = limits().find(({ limit, left }) => stopsSync.has(limit) && left === 0);
      return over ? `the ${over.most} ${over.limit} of the sandbox are used (${over.detail})` : null;
    },
    conditions: () => limits().flatMap(conditionOf),
    async look() {
      turnMonth();
      // One that is under way may be of the month before.
      await booking;
      await book(0);
      connected = await doors.connected();
    },
    async end() {
      await booking;
      if (ahead !== 0) await book(-ahead);
    },
  };
}

function monthsUsed(sinceMs: number | null, nowMs: number): SandboxUse[] {
  if (sinceMs === null) return [];
  const end = new Date(monthsLater(sinceMs, sandboxMost.months));
  return [useOf('months', monthsBetween(sinceMs, nowMs), `until ${end.toISOString().slice(0, 10)}`)];
}

function sentenceOf({ limit, used, most, detail }: SandboxUse): string {
  const next = used >= most ? ` Request the move to production; ${untilThen[limit]}.` : '';
  return `${Math.floor((used / most) * 100)} % of the ${most} ${limit} of the sandbox are used (${detail}).${next}`;
}
