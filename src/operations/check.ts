/**
 * Walks what the service stands on, one line each: settings, store, provider, Kafka, sinks, alerts, clock. Asks through doors,
 * each for a bounded time, all at once; a part that fails says so in its line and hides no other.
 */

import type { CheckLine, CheckName } from '../model/api';

export interface CheckDoors {
  /** Sentences that begin with the setting's name: what serving misses, and what is probably not meant. */
  settings: { missing: string[]; warnings: string[] };
  /** It receives only: where events and pages go stands in the settings of workers, and need not stand here. */
  receives: boolean;
  /**
   * Each resolves to what is worth knowing, or rejects with a message for people, as `CheckFailure` with the step that mends
   * it where that is not the usual one; null: not configured here.
   */
  store: (() => Promise<string | Found>) | null;
  provider: (() => Promise<Found>) | null;
  kafka: (() => Promise<string | Found>) | null;
  sinks: (() => Promise<string>) | null;
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
export const storeFirst = 'Look at the store first.';

const timeoutMsDefault = 5000;
/** The provider refuses signatures five minutes off; a host that keeps time is off by much less than this. */
const offsetWarnMs = 10_000;
/** From here on somebody is paged. */
const offsetFailMs = 60_000;

/** Never rejects; takes as long as its slowest part, at most `timeoutMs`. A detail has at most 1,000 characters. */
export async function runCheck(doors: CheckDoors): Promise<CheckLine[]> {
  const timeoutMs = doors.timeoutMs ?? timeoutMsDefault;
  const ask = async (
    name: CheckName,
    door: (() => Promise<string | Found>) | null,
    absent: string,
    next: string,
  ) => {
    if (door === null) return line(name, 'skipped', absent);
    try {
      const said = await within(door, timeoutMs);
      if (typeof said === 'string') return line(name, 'ok', said);
      return line(name, said.next === null ? 'ok' : 'warning', said.detail, said.next);
    } catch (error) {
      return line(name, 'failed', messageOf(error), error instanceof CheckFailure ? error.next : next);
    }
  };
  const sinceMs = doors.nowMs();
  const asked = await Promise.all([
    ask('store', doors.store, 'not asked', 'Look at DATABASE_URL and at the disk or server behind it.'),
    ask(
      'provider',
      doors.provider,
      doors.receives
        ? 'not asked: a receiver need not have what it takes: ask a worker'
        : 'not asked: it takes a worker that runs, or a store that can be read',
      'Look at PROVIDER_URL, the credentials, this machine’s clock and the way out.',
    ),
    ask(
      'kafka',
      doors.kafka,
      doors.receives
        ? 'KAFKA_BROKERS is not set here, and a receiver publishes nothing: ask a worker'
        : 'KAFKA_BROKERS is not set: events go to the embedded log',
      'Look at KAFKA_BROKERS.',
    ),
    ask(
      'sinks',
      doors.sinks,
      doors.receives
        ? 'none set here, and a receiver pages nobody: ask a worker'
        : 'none set: alerts are log lines',
      'Look at the sinks’ addresses.',
    ),
    ask('alerts', doors.alerts, 'not asked: it takes a store that can be read', storeFirst),
  ]);
  // A signature of another time is refused, so a part that fails may be the clock's doing.
  return [settingsLine(doors.settings), ...asked, clockLine(doors.clockOffsetMs(sinceMs))];
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
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  try {
    return await Promise.race([door(), late]);
  } finally {
    clearTimeout(timer);
  }
}
