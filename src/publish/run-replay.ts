/**
 * One replay: page by page through the outbox, so that memory is bounded and what was left is gone on with. The newest
 * event of a key goes out through the relay, and only as fast as the relay sends, so that fresh events wait for a page
 * at most. No decision is made here about what is newest: the store makes it when it marks.
 */
import {
  type Reading,
  type ReplayCounts,
  type ReplayHow,
  type ReplayRefusal,
  type ReplayRun,
  type ReplaySelection,
  type ReplayStep,
  type ReplayWanted,
  resumableMs,
  type SelectedEvent,
  type SelectedPage,
} from '../model/replay';
import type { Store } from '../model/store';
import type { Clock } from '../tools/clock';
import type { Relay } from './relay';
import { type ReplayHold, type ReplayHoldOptions, Stopped } from './replay-hold';
import { chunksOf, type HistorySender } from './send-history';

export interface ReplayDoors {
  store: Pick<
    Store,
    | 'beginReplay'
    | 'selectReplay'
    | 'resendNewest'
    | 'readAgain'
    | 'readHistory'
    | 'noteHistory'
    | 'endReplay'
    | 'holdLease'
    | 'unsentCount'
    | 'replayPending'
  >;
  relay: Pick<Relay, 'step'>;
  /** null: there is no Kafka. */
  history: HistorySender | null;
  /** Resources were made due. */
  due(): void;
  /** The topic of a history does not take these events for their size, and lacks them. */
  passedOver(topic: string, events: string[]): void;
  /** Why no calls may be made that nobody waits for; null when they may. */
  forbidden(): string | null;
  clock: Clock;
}

export interface ReplayOptions extends Omit<ReplayHoldOptions, 'clock'> {
  /** Rows of the outbox looked at in one step. */
  pageRows: number;
  /** Unsent rows that there may be before the next page is marked. */
  backlogMax: number;
  /** How long the relay may send nothing before the replay stops. */
  patienceMs: number;
  /** Whether a read that finds nothing changed earns one more. */
  settles: boolean;
  /** Keys of which history left out an event that waits: kept in memory, so that it stops where there are more. */
  waitingKeysMax: number;
}

export const replayDefaults = {
  pageRows: 2000,
  backlogMax: 1000,
  patienceMs: 60_000,
  settles: true,
  waitingKeysMax: 100_000,
};

/** How far one has come. */
export interface Progress {
  wanted: ReplayWanted;
  counts: ReplayCounts;
  unknown: string[];
  calls: number;
  parked: number;
  forgotten: number;
  waiting: number;
  /** What had been done of it, and when that was left; null when it began. */
  former: { counts: ReplayCounts; leftAtMs: number } | null;
  earlierUnsent: number;
  refused: ReplayRefusal[];
}

const pauseMs = 100;

export class ReplayRunner {
  constructor(
    private readonly doors: ReplayDoors,
    private readonly options: ReplayOptions,
    private readonly hold: ReplayHold,
  ) {}

  /**
   * Lets the relay send until so few are unsent, or so few of this replay, or nothing is left that it could send. It may
   * be another process's relay that sends: then what is unsent becomes less by itself, and this one's turns say nothing.
   */
  private async drain(replay: number, unsentMax: number): Promise<void> {
    const { relay, store, clock } = this.doors;
    let movedMs = clock.steadyMs();
    const fewest = { unsent: Number.POSITIVE_INFINITY, own: Number.POSITIVE_INFINITY };
    for (;;) {
      this.hold.check();
      const did = await relay.step();
      const unsent = await store.unsentCount();
      if (did === 'empty' || unsent <= unsentMax) return;
      const own = await store.replayPending(replay);
      if (own <= unsentMax) return;
      const nowMs = clock.steadyMs();
      if (did === 'worked' || unsent < fewest.unsent || own < fewest.own) movedMs = nowMs;
      fewest.unsent = Math.min(fewest.unsent, unsent);
      fewest.own = Math.min(fewest.own, own);
      if (did === 'worked') continue;
      if (nowMs - movedMs >= this.options.patienceMs)
        throw new Stopped('the relay does not get rid of what is unsent; that goes out when it can');
      await clock.wait(pauseMs);
    }
  }

  private async act(wanted: ReplayWanted, step: ReplayStep, rows: number[]): Promise<number> {
    this.hold.check();
    if (wanted.how === 'newest') return moved(await this.doors.store.resendNewest(step, rows));
    if (wanted.how === 'reads') {
      const forbidden = this.doors.forbidden();
      if (forbidden !== null) throw new Stopped(forbidden);
      const due = moved(await this.doors.store.readAgain(step, rows));
      if (due > 0) this.doors.due();
      return due;
    }
    const topic = wanted.toTopic as string;
    const read = await this.doors.store.readHistory(rows);
    const { sent, tooLarge } = await this.doors.history!.send(topic, read, this.hold);
    const replayed = moved(await this.doors.store.noteHistory(step, topic, sent, tooLarge));
    const passed = read.filter(({ row }) => tooLarge.includes(row));
    if (passed.length > 0)
      this.doors.passedOver(
        topic,
        passed.map(({ eventId }) => eventId),
      );
    return replayed;
  }

  /** What is selected, page by page. */
  private async *pages(
    selection: ReplaySelection,
    { after: from, until }: Pick<ReplayRun, 'after' | 'until'>,
  ): AsyncGenerator<SelectedPage, void> {
    for (let after: number | null = from; after !== null; ) {
      this.hold.goOn();
      const page = await this.doors.store.selectReplay(selection, after, until, this.options.pageRows);
      yield page;
      after = page.after;
    }
  }

  /** Of named events it is told which are not there, and but for history they stand for their keys. */
  private async selectionOf(progress: Progress): Promise<ReplaySelection> {
    const { events, organizationId, kind, how } = progress.wanted;
    const selection = { events, keys: null, organizationId, kind };
    if (events === null) return selection;
    const unknown = new Set(events);
    const keys = new Set<string>();
    for await (const page of this.pages(selection, whole)) {
      for (const { key, eventId } of page.events) {
        keys.add(key);
        unknown.delete(eventId);
      }
    }
    progress.unknown = [...unknown];
    if (how === 'history') return selection;
    return { events: null, keys: [...keys], organizationId: null, kind: null };
  }

  private async beginRun(wanted: ReplayWanted): Promise<ReplayRun> {
    if (wanted.dryRun) return { replay: 0, leftAtMs: null, ...whole, counts: none };
    this.hold.check();
    return this.doors.store.beginReplay(JSON.stringify(wanted), resumableMs[wanted.how]);
  }

  private countReads(progress: Progress, newest: SelectedEvent[]): void {
    const count = (wanted: Reading) => newest.filter(({ reading }) => reading === wanted).length;
    // Most find nothing changed.
    progress.calls += count('now') * (this.options.settles ? 2 : 1);
    progress.parked += count('parked');
    progress.forgotten += count('forgotten');
  }

  async runAll(progress: Progress): Promise<void> {
    const { wanted } = progress;
    const selection = await this.selectionOf(progress);
    const run = await this.beginRun(wanted);
    const { replay, leftAtMs, counts } = run;
    if (leftAtMs !== null) progress.former = { counts, leftAtMs };
    if (wanted.how === 'reads') selection.withReading = true;
    if (wanted.how === 'history' && leftAtMs !== null) selection.notSentBy = replay;
    const named = wanted.events === null ? null : new Set(wanted.events);
    const pass = {
      progress,
      run,
      named,
      waitingKeys: new Set<string>(),
      unsent: Number.POSITIVE_INFINITY,
      reached: run.after,
    };
    for await (const page of this.pages(selection, run)) await this.takePage(page, pass);
    if (!wanted.dryRun) await this.end(progress, replay);
  }

  private async takePage(page: SelectedPage, pass: Pass): Promise<void> {
    const { progress, run, waitingKeys } = pass;
    const { how } = progress.wanted;
    const { selected, waiting } = partOf(how, page.events, waitingKeys);
    if (how === 'history') pass.unsent = Math.min(pass.unsent, waiting[0]?.row ?? pass.unsent);
    progress.waiting += waiting.length;
    if (waitingKeys.size > this.options.waitingKeysMax)
      throw new Stopped('events of too many keys are not sent yet: let them go out first');
    const chunks = how === 'history' ? chunksOf(selected) : [selected];
    for (const [index, events] of chunks.entries()) {
      const last = index === chunks.length - 1 ? (page.after ?? run.until) : events.at(-1)!.row;
      await this.takeChunk(events, last, pass);
    }
  }

  /** `last`: up to this row all was looked at. */
  private async takeChunk(events: SelectedEvent[], last: number, pass: Pass): Promise<void> {
    const { progress, run, named, unsent } = pass;
    const { wanted } = progress;
    const { how, dryRun } = wanted;
    const newest = events.filter(({ newest, waits }) => newest && (how !== 'newest' || waits === null));
    const selected = events.filter(({ eventId }) => named?.has(eventId) ?? true).length;
    const counts = sumOf(progress.counts, { selected, keys: newest.length, replayed: 0 });
    if (!dryRun) {
      const rows = (how === 'history' ? events : newest).map(({ row }) => row);
      const step = {
        replay: run.replay,
        from: pass.reached,
        after: Math.min(last, unsent - 1),
        counts: sumOf(run.counts, counts),
        lease: this.hold.held,
      };
      counts.replayed += await this.act(wanted, step, rows);
      pass.reached = step.after;
    }
    // What is marked goes out, whatever becomes of this replay.
    progress.counts = counts;
    if (how === 'reads') this.countReads(progress, newest);
    if (how === 'newest' && !dryRun) await this.drain(run.replay, this.options.backlogMax);
  }

  private async end(progress: Progress, replay: number): Promise<void> {
    const { how } = progress.wanted;
    const { store } = this.doors;
    if (how === 'newest') {
      await this.drain(replay, 0);
      // What waits was not published since, and so not selected.
      progress.earlierUnsent = await store.replayPending(replay - 1, 0);
    }
    this.hold.check();
    progress.refused = await store.endReplay(replay);
    // Of history only what was sent was counted.
    if (how === 'history') return;
    const refused = progress.refused.reduce((sum, { records }) => sum + records, 0);
    progress.counts = sumOf(progress.counts, { selected: 0, keys: 0, replayed: -refused });
  }
}

/** Where one is on its way through its pages. */
interface Pass {
  progress: Progress;
  run: ReplayRun;
  /** Events that were asked for by their ids; null: all that are selected were. */
  named: ReadonlySet<string> | null;
  /** Keys of which history left out an event that waits. */
  waitingKeys: Set<string>;
  /** History is gone on with from here: what waited to be sent when its page was looked at is in it by then. */
  unsent: number;
  /** The store has the replay's steps up to here. */
  reached: number;
}

interface PagePart {
  selected: SelectedEvent[];
  waiting: SelectedEvent[];
}

/**
 * Of a page what a replay is about, and what it leaves out since that waits to be sent and goes out anyway: of the newest also
 * what another replay has sent again just now. To be read again a resource needs no event that was sent.
 */
function partOf(how: ReplayHow, events: SelectedEvent[], waitingKeys: Set<string>): PagePart {
  if (how === 'reads') return { selected: events, waiting: [] };
  if (how === 'history') return historyOf(events, waitingKeys);
  return {
    selected: events.filter(({ waits }) => waits !== 'first'),
    waiting: events.filter(({ newest, waits }) => newest && waits !== null),
  };
}

/**
 * Once an event of a key waited, what follows it is left out as well, though the relay may have sent both before the next page:
 * what is gone on with would bring the older behind the newer. Adds to `waitingKeys`.
 */
function historyOf(events: SelectedEvent[], waitingKeys: Set<string>): PagePart {
  const part: PagePart = { selected: [], waiting: [] };
  for (const event of events) {
    if (event.waits === 'first') waitingKeys.add(event.key);
    (waitingKeys.has(event.key) ? part.waiting : part.selected).push(event);
  }
  return part;
}

/** Of a page: how many records, where the store took it. */
function moved(replayed: number | null): number {
  if (replayed === null) throw new Stopped('another process went on with it, or the store lost a step of it');
  return replayed;
}

function sumOf(some: ReplayCounts, others: ReplayCounts): ReplayCounts {
  return {
    selected: some.selected + others.selected,
    keys: some.keys + others.keys,
    replayed: some.replayed + others.replayed,
  };
}

/** All rows that there are. */
const whole = { after: 0, until: Number.MAX_SAFE_INTEGER };

export const none: Readonly<ReplayCounts> = { selected: 0, keys: 0, replayed: 0 };
