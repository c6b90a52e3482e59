/**
 * Gauges: what the store counts, the delay of the event loop, and when the process began, by which restarts are seen;
 * asked for when metrics are collected. A store that does not answer is itself a metric and hides no other.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Meter } from '@opentelemetry/api';
import { endsWithin, systemClock } from '../tools/clock';
import type { Gauges, Place } from './lines';

/** The timer that measures the event loop's delay; its own interval is in what it measures. */
const delayResolutionMs = 20;

/** A store that hangs says so after seconds; whoever collects does not wait for as long, and would be given what was true before. */
const answerMs = 800;

/** A count that took longer than a collection is told so long after its end, and nothing from then on. */
const lateMsMax = 60_000;

/** The counted faults tell their place, and this is one of them. */
const ofProcess: { place: Place } = { place: 'process' };

/**
 * Answers what stops the measuring in the background. What the store counted too late for a collection is told for 60 s.
 */
export function observeGauges(meter: Meter, gauges: Gauges): () => void {
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
  delay.enable();
  const gauge = gaugesOf(meter);
  const ages = makeAges(gauge);
  const pending = gauge(
    'tramline.inbox_pending',
    'Resources that are due or wait for their time, not parked.',
  );
  const tasks = gauge('tramline.tasks', 'Tasks, by what they wait for.');
  const unsent = gauge(
    'tramline.outbox_pending',
    'Decided events that are not acknowledged; 100000 says that there are as many or more.',
  );
  const organizations = gauge(
    'tramline.organizations',
    'Organizations, by access; those that nobody ever saw are left out.',
  );
  const alerts = gauge('tramline.alerts_active', 'Firing alerts, by severity.');
  const reachable = gauge(
    'tramline.store_reachable',
    'Whether the store takes writes, and said so when this was collected.',
  );
  const unread = gauge(
    'tramline.sync_unread_listings',
    'Listings that the last syncs did not read to their end; 100 says that there are as many or more.',
  );
  const sandbox = gauge('tramline.sandbox_left', 'What the provider’s sandbox leaves, by limit.');
  const lag = gauge('nodejs.eventloop.delay.p99', 'Delay of the event loop since the last collection.', 's');
  const started = gauge('process.start_time', 'When the process began, since the epoch.', 's');
  const ask = makeAsk(gauges);
  meter.addBatchObservableCallback(
    async (result) => {
      result.observe(lag, Math.max(0, delay.percentile(99) / 1e9 - delayResolutionMs / 1000));
      delay.reset();
      result.observe(started, performance.timeOrigin / 1000);
      for (const { limit, left } of gauges.sandboxLeft?.() ?? []) result.observe(sandbox, left, { limit });
      const { writable, answers } = await ask();
      result.observe(reachable, writable);
      if (answers === null) return;
      const [counts, { firing, over, unattendedMs }, endedMs, syncs] = answers;
      result.observe(pending, counts.waiting);
      result.observe(ages.oldest, (counts.oldestWaitingAgeMs ?? 0) / 1000);
      result.observe(unsent, counts.unsent);
      // What is due waits as well, where the store counts.
      const states = { ...counts, waiting: counts.waiting - counts.due };
      for (const state of ['due', 'waiting', 'parked', 'quarantined'] as const) {
        result.observe(tasks, states[state], { state });
      }
      for (const [access, count] of Object.entries(counts.organizations)) {
        result.observe(organizations, count, { access });
      }
      // Of a store that takes no writes no alert can be saved, nor the lease of whoever evaluates them.
      if (writable === 1) {
        for (const [severity, count] of Object.entries(firing)) result.observe(alerts, count, { severity });
        for (const { name, ageMs } of over) result.observe(ages.over, ageMs / 1000, { name });
        result.observe(ages.unattended, (unattendedMs ?? performance.now()) / 1000);
      }
      result.observe(unread, syncs.unread);
      if (syncs.wholeAgeMs !== null) result.observe(ages.whole, syncs.wholeAgeMs / 1000);
      if (endedMs !== null) result.observe(ages.ended, endedMs / 1000, ofProcess);
    },
    [
      ...[pending, tasks, unsent, organizations, alerts, reachable, unread, sandbox, lag, started],
      ...Object.values(ages),
    ],
  );
  return () => void delay.disable();
}

/**
 * What the store says within 800 ms: whether it takes writes, 0 or 1, and what it counts, null where it says nothing. One
 * count at a time: what takes longer than a collection is told by the next one, and by no more than that.
 */
function makeAsk(gauges: Gauges) {
  let counting: Promise<Awaited<ReturnType<typeof count>> | null> | null = null;
  let last: { counted: Awaited<ReturnType<typeof count>>; atMs: number } | null = null;

  async function count() {
    const counts = [gauges.counts(), gauges.alerts(), gauges.endedByFaultMs(), gauges.syncs()] as const;
    const counted = await Promise.all(counts);
    last = { counted, atMs: performance.now() };
    return counted;
  }

  return async () => {
    const sinceMs = performance.now();
    const ready = gauges.ready().then(
      () => 1,
      () => 0,
    );
    // Answered before anything is counted: what is asked for at once is answered at once, and counting a large store takes seconds.
    const writable = await inTime(ready, answerMs);
    if (writable === null) return { writable: 0, answers: null };
    counting ??= count()
      // What cannot be counted is missing, which is seen; whether the store takes writes it has said.
      .catch(() => {
        last = null;
        return null;
      })
      .finally(() => {
        counting = null;
      });
    const counted = await inTime(counting, answerMs - (performance.now() - sinceMs));
    const isRecent = last !== null && performance.now() - last.atMs < lateMsMax;
    return { writable, answers: counted ?? (isRecent ? last!.counted : null) };
  };
}

/** null where it takes longer. */
async function inTime<Answer>(work: Promise<Answer>, withinMs: number): Promise<Answer | null> {
  return (await endsWithin(work, withinMs, systemClock)) ? work : null;
}

function gaugesOf(meter: Meter) {
  return (name: string, description: string, unit?: string) =>
    meter.createObservableGauge(name, unit === undefined ? { description } : { description, unit });
}

/** What is told as an age, in seconds. */
function makeAges(gauge: ReturnType<typeof gaugesOf>) {
  return {
    oldest: gauge(
      'tramline.inbox_oldest_pending_age',
      'Age of the oldest notification that waits to be read, not parked.',
      's',
    ),
    over: gauge('tramline.alert_over_age', 'Age of the end of what paged; 0 while it fires.', 's'),
    unattended: gauge(
      'tramline.alerts_unattended',
      'For how long no process evaluates the alerts, where none ever did since this one began; 0 while one does.',
      's',
    ),
    whole: gauge(
      'tramline.sync_whole_age',
      'How long ago a sync of everything last left no listing unread; not there where none did.',
      's',
    ),
    ended: gauge(
      'tramline.ended_by_fault_age',
      'How long ago a fault ended a process that shares the store; not there where none did.',
      's',
    ),
  };
}
