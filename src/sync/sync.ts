/**
 * When a sync runs: on demand, after each interval, and at a start where a former process left one; one process at a
 * time, by a lease in the store. What a run does is next door. A run that stops, for whatever reason, is gone on with by
 * the next one.
 */
import { isProblem, Problem } from '../model/problem';
import type { ClientRefusal, LastRun, SyncView, SyncWanted } from '../model/sync';
import { type Clock, type Loop, makeLoop } from '../tools/clock';
import type { SyncDoors, SyncOptions } from './doors';
import { underLease } from './keep-lease';
import { idleView, Progress } from './progress';
import { runSync } from './run-sync';
import { makeSlots } from './slots';
import { endOf, refusedIn, standingAfter } from './standing';
import { RunStopped } from './walk';

export interface ScheduleOptions extends SyncOptions {
  /** 0: only on demand. */
  intervalMs: number;
  leaseMs: number;
  /** Another text for each process. */
  holder: string;
}

export interface Sync {
  /** Begins a run, or tells of the one for the same that is under way. Throws `command.refused` while another is. */
  begin(wanted: SyncWanted): SyncView;
  /** The run that began then, while it is the last or the one before it; otherwise the one under way, or the last. */
  view(startedAt?: string | null): SyncView;
  /** What the client is refused, by scope, as far as this process's own run has come: the one under way, or the last. */
  refused(): { run: number; listings: ReadonlyMap<string, ClientRefusal> } | null;
  /** Resolves when no run is under way. */
  ended(): Promise<SyncView>;
  /** Begins what the interval makes due, again and again. */
  start(): void;
  stop(): Promise<void>;
}

interface Current {
  progress: Progress;
  work: Promise<void>;
  cut: AbortController;
  /** Of the run before it, which somebody may still follow. */
  before: Progress | null;
}

const leaseName = 'sync';
/** How often it is looked whether a run is due, at least. */
const lookMs = 60_000;
/** So often while another process has the lease: what is left by one that dies is gone on with as soon as that is over. */
const elsewhereLookMs = 5_000;

/** `failed` hears what a run could not cope with. */
export function makeSync(doors: SyncDoors, options: ScheduleOptions, failed: (error: unknown) => void): Sync {
  const { store, clock } = doors;
  const { intervalMs, leaseMs, holder } = options;
  const lease = { name: leaseName, holder, leaseMs };
  const beganAtMs = makeBeginnings(clock);
  let current: Current | null = null;
  /** The last that was not another process's to run. */
  let begun: Progress | null = null;
  let stopped = false;

  async function work(progress: Progress, cut: AbortController): Promise<void> {
    try {
      const run = cutByFailure(cut, () => runOnce(progress, cut.signal));
      if (!(await underLease(store, lease, clock, cut, run)))
        throw new RunElsewhere(elsewhere(await store.lastRun()));
    } catch (error) {
      progress.isElsewhere = error instanceof RunElsewhere;
      progress.end('stopped', reasonOf(error), clock.nowMs());
      if (!(error instanceof RunStopped)) failed(error);
    }
    // What is cut with the process is told by the one that goes on with it.
    if (!stopped && progress.run !== null) doors.ended(endOf(progress, progress.run, clock.nowMs()));
  }

  async function runOnce(progress: Progress, signal: AbortSignal): Promise<void> {
    const opened = await store.beginRun(progress.wanted);
    const { run, resumed } = opened;
    Object.assign(progress, { run, resumed, refused: await refusedBefore(run, begun, store) });
    begun = progress;
    progress.listings.begin(opened);
    const ask = makeSlots(options.requestsAtOnce);
    const seen = await runSync({ doors, options, progress, run, signal, ask });
    if (signal.aborted) throw new RunStopped(stopped ? 'the process stops' : 'the lease was lost');
    await endRun(doors, progress, run);
    const missing = seen ? null : `no connection sees organization ${progress.wanted.organizationId}`;
    progress.end('ended', missing, clock.nowMs());
  }

  function begin(wanted: SyncWanted): SyncView {
    if (current?.progress.state === 'running') {
      const { organizationId, full } = current.progress.wanted;
      if (organizationId !== wanted.organizationId || full !== wanted.full)
        throw new Problem('command.refused', 'another sync is under way');
    } else {
      if (stopped) throw new Problem('store.closed', 'the process stops');
      const progress = new Progress(wanted, clock.nowMs());
      const cut = new AbortController();
      current = { progress, cut, work: work(progress, cut), before: current?.progress ?? null };
    }
    return current.progress.view(clock.nowMs());
  }

  /** Begins what is due; after how long it is to be looked again. */
  async function look(): Promise<number> {
    if (stopped) return lookMs;
    await current?.work;
    const last = await store.lastRun();
    const next = nextOf(last, { sinceMs: beganAtMs(last), intervalMs, nowMs: clock.steadyMs() });
    if (doors.forbidden() !== null) return lookMs;
    if (next.wanted === null) return Math.min(next.waitMs, lookMs);
    begin(next.wanted);
    await current?.work;
    return pauseAfter(current?.progress);
  }

  const loop: Loop = makeLoop(look, clock, failed);
  const view = (startedAt: string | null = null) => viewOf(current, startedAt, clock.nowMs());
  return {
    begin,
    view,
    refused: () => (begun?.run == null ? null : { run: begun.run, listings: begun.refused }),
    async ended() {
      await current?.work;
      return view();
    },
    start: () => loop.start(),
    async stop() {
      stopped = true;
      current?.cut.abort();
      await Promise.all([current?.work, loop.stop()]);
    },
  };
}

function pauseAfter(last: Progress | undefined): number {
  if (last?.state !== 'stopped') return 1000;
  return last.isElsewhere ? elsewhereLookMs : lookMs;
}

/** Another process has the lease. */
class RunElsewhere extends RunStopped {}

function reasonOf(error: unknown): string {
  return error instanceof RunStopped || isProblem(error) ? error.message : 'a fault of ours';
}

/** What is still read beside what failed would be in the way of whoever has the lease next. A run that is stopped asks no more. */
function cutByFailure(cut: AbortController, work: () => Promise<void>): () => Promise<void> {
  return () =>
    work().catch((error: unknown) => {
      if (!(error instanceof RunStopped)) cut.abort();
      throw error;
    });
}

/** What was met in a run that was stopped here is in no standing yet. */
async function refusedBefore(run: number, before: Progress | null, store: SyncDoors['store']) {
  return before?.run === run ? before.refused : refusedIn(await store.syncStanding());
}

function viewOf(current: Current | null, startedAt: string | null, nowMs: number): SyncView {
  const last = current?.progress.view(nowMs) ?? idleView();
  const before = current?.before?.view(nowMs);
  return last.startedAt !== startedAt && before?.startedAt === startedAt ? before : last;
}

async function endRun(
  { store, clock, connections }: SyncDoors,
  progress: Progress,
  run: number,
): Promise<void> {
  // Where nobody's consent is valid nothing was read: what is to be judged anew still is.
  const whole = progress.isWhole() && connections().length > 0;
  const standing = standingAfter(await store.syncStanding(), progress, clock.nowMs());
  await store.endRun(run, { ...progress.counts, listings: progress.listings.known, standing }, whole);
}

/** What another process, which has the lease, is at: how far a run is only whoever does it could tell otherwise. Pure. */
function elsewhere(last: LastRun | null): string {
  if (last === null || last.ended) return 'another process is at it';
  const { run, organizationId, full, agoMs, listings } = last;
  const what = `run ${run}${full ? ', a full one' : ''}${organizationId === null ? '' : `, of organization ${organizationId}`}`;
  const most = listings.last === null ? '' : ` of about ${Math.max(listings.last, listings.read)}`;
  const begun = `begun ${Math.round(agoMs / 1000)} s ago`;
  return `another process is at it: ${what}, ${begun}, has read ${listings.read}${most} listings to their end`;
}

/**
 * When the run that was begun last began, by this process's steady clock, as it was when it first saw that run: what is set back
 * later moves it no more. The process's own beginning where there is none.
 */
function makeBeginnings(clock: Clock): (last: LastRun | null) => number {
  let seen = { run: 0, atMs: clock.steadyMs() };
  return (last) => {
    if (last !== null && last.run !== seen.run) seen = { run: last.run, atMs: clock.steadyMs() - last.agoMs };
    return seen.atMs;
  };
}

/**
 * A run that was left is gone on with at once; otherwise one is due an interval after `sinceMs`: when the last was begun, or
 * the process where none was. Pure.
 */
export function nextOf(
  last: LastRun | null,
  at: { sinceMs: number; intervalMs: number; nowMs: number },
): { wanted: SyncWanted; waitMs: 0 } | { wanted: null; waitMs: number } {
  if (last !== null && !last.ended) {
    const { organizationId, full } = last;
    return { wanted: { organizationId, full }, waitMs: 0 };
  }
  if (at.intervalMs === 0) return { wanted: null, waitMs: Number.MAX_SAFE_INTEGER };
  const waitMs = at.sinceMs + at.intervalMs - at.nowMs;
  if (waitMs > 0) return { wanted: null, waitMs: Math.max(waitMs, 1000) };
  return { wanted: { organizationId: null, full: false }, waitMs: 0 };
}
