/**
 * Walks what the service stands on, one line each: settings, store, provider, Kafka, sinks, alerts, clock. Asks through doors,
 * each for a bounded time, all at once; a part that fails says so in its line and hides no other.
 */

import type { CheckLine, CheckName } from '../model/api';
import { isProblem } from '../model/problem';
import { endsWithin, systemClock } from '../tools/clock';

export interface CheckDoors {
  /** Sentences that begin with the setting's name: what serving misses, and what is probably not meant. */
  settings: { missing: string[]; warnings: string[] };
  /** It receives only: where events and pages go stands in the settings of workers, and need not stand here. */
  receives: boolean;
  /**
   * Each resolves to what is worth knowing, or rejects with a message for people, as `CheckFailure` with the step that mends
   * it where that is not the usual one; null: not configured here. Who asks the store for something gives it less than
   * `timeoutMs`, and rejects as a `StoreFailure` or with `store.unavailable`: what is late here is the part itself.
   */
  store: (() => Promise<string | Found>) | null;
  provider: (() => Promise<Found>) | null;
  kafka: (() => Promise<string | Found | NotAsked>) | null;
  sinks: (() => Promise<string | Found>) | null;
  /** Whether somebody evaluates alerts. */
  alerts: (() => Promise<Found>) | null;
  /** How far the provider’s clock is ahead of ours by what it answered since then, whatever that was; null: nothing. */
  clockOffsetMs(sinceMs: number): number | null;
  nowMs(): number;
  timeoutMs?: number;
}

/** What is worth knowing of a part that does its work, and what to do where it is not all well; null where it is. */
export interface Found {
  detail: string;
  next: string | null;
}

/** Why a part is left out, where only the store knows that it is. */
export interface NotAsked {
  skipped: string;
}

/** Why a part fails, and what to do about just that. */
export class CheckFailure extends Error {
  constructor(
    message: string,
    readonly next: string,
  ) {
    super(message);
  }
}

/** What another line says more of. */
const storeFirst = 'Look at the store first.';

/** A part was not asked, since the store did not say what that takes. */
export class StoreFailure extends CheckFailure {
  constructor(message: string) {
    super(message, storeFirst);
  }
}

const timeoutMsDefault = 5000;
/** The provider refuses signatures five minutes off; a host that keeps time is off by much less than this. */
const offsetWarnMs = 10_000;
/** From here on somebody is paged. */
const offsetFailMs = 60_000;

/** Never rejects; takes as long as its slowest part, at most `timeoutMs`. A detail has at most 1,000 characters. */
export async function runCheck(doors: CheckDoors): Promise<CheckLine[]> {
  const sinceMs = doors.nowMs();
  const asked = await Promise.all(partsOf(doors).map((part) => askPart(part, doors.timeoutMs)));
  const [store] = asked as [Asked];
  const isStoreAway = store.line.state === 'failed';
  const lines = asked.map(({ line, lacksStore }) =>
    isStoreAway && lacksStore ? { ...line, ...notKnown } : line,
  );
  // A signature of another time is refused, so a part that fails may be the clock's doing.
  return [settingsLine(doors.settings), ...lines, clockLine(doors.clockOffsetMs(sinceMs))];
}

interface Part {
  name: CheckName;
  door: (() => Promise<string | Found | NotAsked>) | null;
  absent: string;
  next: string;
}

function partsOf({ receives, store, provider, kafka, sinks, alerts }: CheckDoors): Part[] {
  return [
    {
      name: 'store',
      door: store,
      absent: 'not asked',
      next: 'Do what it says; where that is nothing, look at DATABASE_URL and at the disk or server behind it.',
    },
    {
      name: 'provider',
      door: provider,
      absent: receives
        ? 'not asked: a receiver need not have what it takes: ask a worker'
        : 'not asked: it takes a worker that runs, or a store that can be read',
      next: 'Look at PROVIDER_URL, the credentials, this machine’s clock and the way out.',
    },
    {
      name: 'kafka',
      door: kafka,
      absent: receives
        ? 'KAFKA_BROKERS is not set here, and a receiver publishes nothing: ask a worker'
        : 'KAFKA_BROKERS is not set: whether a worker may go without is in the store, which cannot be read',
      next: 'Look at KAFKA_BROKERS.',
    },
    {
      name: 'sinks',
      door: sinks,
      absent: receives
        ? 'none set here, and a receiver pages nobody: ask a worker'
        : 'none set: alerts are log lines',
      next: 'Look at the sinks’ addresses.',
    },
    {
      name: 'alerts',
      door: alerts,
      absent: 'not asked: it takes a store that can be read',
      next: storeFirst,
    },
  ];
}

interface Asked {
  line: CheckLine;
  /** It failed, and for nothing but what the store did not say. */
  lacksStore: boolean;
}

/** The store's own line says why; the same sentence in each that hangs on it would hide which part is to be mended. */
const notKnown = { state: 'skipped', detail: 'not known while the store fails', next: null } as const;

async function askPart({ name, door, absent, next }: Part, timeoutMs = timeoutMsDefault): Promise<Asked> {
  const told = (
    state: CheckLine['state'],
    detail: string,
    step: string | null = null,
    lacksStore = false,
  ) => ({
    line: line(name, state, detail, step),
    lacksStore,
  });
  if (door === null) return told('skipped', absent);
  try {
    const said = await within(door, timeoutMs);
    if (typeof said === 'string') return told('ok', said);
    if ('skipped' in said) return told('skipped', said.skipped);
    return told(said.next === null ? 'ok' : 'warning', said.detail, said.next);
  } catch (error) {
    const isStores = error instanceof StoreFailure || isProblem(error, 'store.unavailable');
    // Alerts are nowhere else.
    const lacksStore = name !== 'store' && (isStores || name === 'alerts');
    const step = error instanceof CheckFailure ? error.next : lacksStore ? storeFirst : next;
    return told('failed', messageOf(error), step, lacksStore);
  }
}

function settingsLine({ missing, warnings }: CheckDoors['settings']): CheckLine {
  if (missing.length > 0) {
    const names = missing.map((sentence) => sentence.replace(/ .*$/s, ''));
    return line(
      'settings',
      'failed',
      [`missing: ${names.join(', ')}`, ...warnings].join('; '),
      '`tramline config` says what is accepted.',
    );
  }
  if (warnings.length > 0)
    return line('settings', 'warning', warnings.join('; '), 'See whether this is meant.');
  return line('settings', 'ok', 'complete');
}

function clockLine(offsetMs: number | null): CheckLine {
  if (offsetMs === null) return line('clock', 'skipped', 'no answer of the provider to compare with');
  // The Date header has whole seconds.
  const seconds = Math.round(offsetMs / 1000);
  const detail = `the provider’s clock is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} ours`;
  const far = Math.abs(offsetMs);
  if (far < offsetWarnMs) return line('clock', 'ok', detail);
  return line(
    'clock',
    far < offsetFailMs ? 'warning' : 'failed',
    detail,
    'Synchronize this machine’s clock.',
  );
}

const detailCharsMax = 1000;

function line(
  name: CheckName,
  state: CheckLine['state'],
  detail: string,
  next: string | null = null,
): CheckLine {
  return { name, state, detail: detail.slice(0, detailCharsMax), next };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function within<Said>(door: () => Promise<Said>, timeoutMs: number): Promise<Said> {
  const asked = door();
  if (await endsWithin(asked, timeoutMs, systemClock)) return asked;
  throw new Error(`no answer within ${timeoutMs / 1000} s`);
}
