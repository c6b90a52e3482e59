/**
 * What time costs while a state of the platform lasts: until when what waits for its end is kept, or why no such time is
 * known, and how urgent that makes its alert. Pure.
 */
import type { Condition, ConditionName, Severity } from '../model/alert';
import { type KeptUntil, keptUntil } from './kept-until';
import { plainTime } from './plain-text';

export interface ConditionTime {
  severity: Severity;
  /** `until_when` is a time, or says in words why there is none. */
  annotations: Pick<KeptUntil['annotations'], 'until_when'> & Partial<KeptUntil['annotations']>;
  sentence: string;
}

/** Due reads wait, and the journal keeps them one by one for a time. */
const holdsReads = [
  'client-refused',
  'decryption-failed',
  'organization-unread',
  'provider-unavailable',
  'rate-limited',
] as const;
type HoldsReads = (typeof holdsReads)[number];

const unannounced =
  'What changes meanwhile is not announced here; for how long the provider keeps its announcements is not known. ' +
  '`tramline sync` finds what changed, as it is then.';
const unsent =
  'Decided events wait in the store in their order, however long it takes; none is lost while the store has space.';

const sentences: Partial<Record<ConditionName, string>> = {
  'delivery-secret-unopened':
    'What is refused for it the provider announces again; for how long is not known. `tramline sync` finds what it gave up.',
  'kafka-unavailable': unsent,
  'topic-denied': unsent,
  'listings-unread':
    'What the provider announces is read as always; what changed there and was never announced is not found.',
  'store-log-stuck':
    'It keeps no delivery and no event back before the disk is full; what is in the log is kept.',
  'store-unavailable':
    'What is answered 503 for it, the provider announces again; for how long is not known. ' +
    '`tramline sync` finds what it gave up.',
  'subscription-ended': unannounced,
  'subscription-expired': unannounced,
  'subscription-silent': unannounced,
};

/** What the provider keeps for a time that nobody knows: a day of it may be more than it keeps. */
const keptAtProvider: ReadonlySet<ConditionName> = new Set([
  'store-unavailable',
  'subscription-ended',
  'subscription-expired',
  'subscription-silent',
]);
const unknownMsMax = 86_400_000;
/** What ends at a known time is told again so long before it, by another severity: a user's consent takes days to get. */
const toldAgainMs = 7 * 86_400_000;

const atProvider = 'not known: the provider does not say for how long it keeps what it could not announce';
const lossless = 'no end: nothing is lost by it, however long it lasts';
const inStore = 'no end while the store has space: what is decided waits in its order';
const untilWhen: Record<Exclude<ConditionName, HoldsReads>, string> = {
  'clock-off': 'not known: it depends on what is refused for it, and on how far off it is',
  'delivery-secret-unopened': 'not known: the provider does not say how often it repeats what was refused',
  'kafka-unavailable': inStore,
  'listings-unread': 'no end: it is over when a sync has read them to their end',
  'organizations-unlisted': 'no end: what is announced of them is set aside for an operator',
  'sandbox-limit': 'not known: the provider does not say what it does above a limit',
  'sandbox-near': 'nothing waits yet',
  'store-behind-topics': 'no end: it is over when the full sync has ended',
  'store-log-stuck': 'not known: it lasts until the disk is full',
  'store-unavailable':
    'not known: the provider does not say for how long it repeats what it could not deliver',
  'subscription-ended': atProvider,
  'subscription-expired': atProvider,
  'subscription-silent': atProvider,
  'token-expiring': 'not known: the consent names no end',
  'topic-denied': inStore,
};

/** What a time that is known means, before it and after it. */
const ends: Partial<Record<ConditionName, (end: string, isOver: boolean) => string>> = {
  'sandbox-limit': sandboxEnd,
  'sandbox-near': sandboxEnd,
  'token-expiring': (end, isOver) =>
    isOver
      ? 'It has not been refused yet: once it is, what waits is kept, and read with a new one.'
      : `From ${end} nothing is read with it; what waits then is kept, and read with a new one.`,
};

function sandboxEnd(end: string, isOver: boolean): string {
  return `${isOver ? 'Since' : 'From'} ${end} a sync waits for the move to production.`;
}

/**
 * Of an alert that has `severity` as long as there is time. What the provider keeps for a time that nobody knows is
 * critical after a day. What loses nothing wakes nobody, and silences no page.
 */
export function timeOf(
  { name, sinceMs, endsAtMs, overAtMs, losesNothing }: Condition,
  journalMs: number,
  severity: Severity,
  nowMs: number,
): ConditionTime {
  if (losesNothing === true)
    return { severity: 'warning', annotations: { until_when: lossless }, sentence: '' };
  if (doesHoldReads(name)) return keptUntil({ sinceMs, consentEndsAtMs: null }, journalMs, severity, nowMs);
  if (endsAtMs === undefined) {
    const isLong = keptAtProvider.has(name) && nowMs - sinceMs >= unknownMsMax;
    const over = overAtMs === undefined ? null : plainTime(overAtMs);
    return {
      severity: isLong ? 'critical' : severity,
      annotations: {
        until_when: over === null ? untilWhen[name] : `nothing is lost: it is over by itself at ${over}`,
      },
      sentence: sentences[name] ?? '',
    };
  }
  const end = plainTime(endsAtMs);
  return {
    severity: endsAtMs - nowMs <= toldAgainMs ? 'critical' : severity,
    annotations: { until_when: end, ...(name === 'token-expiring' ? { consent_ends: end } : {}) },
    sentence: ends[name]?.(end, endsAtMs <= nowMs) ?? '',
  };
}

function doesHoldReads(name: ConditionName): name is HoldsReads {
  return (holdsReads as readonly ConditionName[]).includes(name);
}
