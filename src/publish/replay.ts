/**
 * When a replay runs: on demand, one at a time, and of one process at a time; beside it one that only counts. What it does
 * is next door; what fits nowhere is refused before it begins.
 */
import { isProblem, Problem } from '../model/problem';
import type { ReplayView, ReplayWanted } from '../model/replay';
import type { Store } from '../model/store';
import { makeReplayHold, Stopped } from './replay-hold';
import { none, type Progress, type ReplayDoors, type ReplayOptions, ReplayRunner } from './run-replay';

export interface ScheduleDoors extends ReplayDoors {
  store: ReplayDoors['store'] & Pick<Store, 'topicEnds'>;
  /** What the sandbox leaves in this month; null without one. */
  callsLeft(): number | null;
}

export interface Replay {
  /** Begins one, or tells of the same one that is under way. Throws `command.usage`, `command.refused`. */
  begin(wanted: ReplayWanted): Promise<ReplayView>;
  /**
   * The one that began then, while it is under way, the last or the one before it. Otherwise the one under way, of two the one
   * that does more than count, or the last.
   */
  view(startedAt?: string | null): ReplayView;
  /** Resolves when none is under way. */
  ended(): Promise<ReplayView>;
  /** Begins none any more; resolves when the one under way has ended, of which no further step is begun. */
  stop(): Promise<void>;
  /** For one that was stopped and hangs in sending history: ends that, and resolves as `stop` does. */
  cutOff(): Promise<void>;
}

interface Run {
  progress: Shown;
  work: Promise<void>;
}

interface Shown extends Progress, Pick<ReplayView, 'state' | 'reason'> {
  startedAtMs: number;
  endedAtMs: number | null;
}

/** `failed` hears what a replay could not cope with. */
export function makeReplay(
  doors: ScheduleDoors,
  options: ReplayOptions,
  failed: (error: unknown) => void,
): Replay {
  const { history, clock } = doors;
  const hold = makeReplayHold(doors.store, { ...options, clock }, failed);
  const runner = new ReplayRunner(doors, options, hold);
  let stopping = false;
  /** In the order in which they began. */
  let kept: Run[] = [];

  async function run(progress: Shown): Promise<void> {
    if (progress.wanted.dryRun) return runner.runAll(progress);
    await hold.during(async () => {
      try {
        await runner.runAll(progress);
      } finally {
        await history?.close();
      }
    });
  }

  async function work(progress: Shown): Promise<void> {
    try {
      await run(progress);
      progress.state = 'ended';
    } catch (error) {
      Object.assign(progress, { state: 'stopped', reason: reasonOf(error) });
      if (!(error instanceof Stopped)) failed(error);
    }
    progress.endedAtMs = clock.nowMs();
  }

  const view = (startedAt: string | null = null): ReplayView => {
    const named = kept.find(({ progress }) => startedAt === beganAt(progress));
    const underWay = kept.filter(isUnderWay);
    const told =
      named ?? underWay.find(({ progress }) => !progress.wanted.dryRun) ?? underWay[0] ?? kept.at(-1);
    return viewOf(told?.progress ?? idle);
  };

  const viewOf = (progress: Shown) => shown(progress, clock.nowMs(), doors.callsLeft());

  const allEnded = () => Promise.all(kept.map((one) => one.work));

  return {
    async begin(wanted) {
      await refuseUnfit(wanted, doors);
      const underWay = kept.filter(isUnderWay);
      const same = underWay.find(
        ({ progress }) => JSON.stringify(progress.wanted) === JSON.stringify(wanted),
      );
      if (same !== undefined) return viewOf(same.progress);
      if (underWay.some(({ progress }) => progress.wanted.dryRun === wanted.dryRun))
        throw new Problem('command.refused', `another ${wanted.dryRun ? 'dry run' : 'replay'} is under way`);
      if (stopping) throw new Problem('store.closed', 'the process stops');
      // No two begin at the same time, by which each is asked for.
      const lastMs = kept.at(-1)?.progress.startedAtMs ?? 0;
      const progress = begun(wanted, Math.max(clock.nowMs(), lastMs + 1));
      kept = kept.filter((one, at) => isUnderWay(one) || at >= kept.length - 2);
      kept.push({ progress, work: work(progress) });
      return viewOf(progress);
    },
    view,
    async ended() {
      await allEnded();
      return view();
    },
    async stop() {
      stopping = true;
      hold.stop();
      await allEnded();
    },
    async cutOff() {
      await history?.close();
      await allEnded();
    },
  };
}

const isUnderWay = ({ progress }: Run) => progress.state === 'running';

/** What a store says of its trouble is a driver's: that is for the log. */
function reasonOf(error: unknown): string {
  if (isProblem(error, 'store.unavailable'))
    return 'the store did not answer: `tramline check` says what to look at';
  return error instanceof Stopped || isProblem(error) ? error.message : 'a fault of ours';
}

async function refuseUnfit(
  wanted: ReplayWanted,
  { store, history }: Pick<ScheduleDoors, 'store' | 'history'>,
): Promise<void> {
  const { how, toTopic } = wanted;
  refuseUnclear(wanted);
  if (how === 'reads') return;
  const ends = await store.topicEnds();
  if (history === null) {
    const why =
      ends.length > 0
        ? 'KAFKA_BROKERS is not set here, and events of this store went to Kafka'
        : 'there is no Kafka: the log itself keeps the newest event of every key, for `tramline events`';
    throw new Problem('command.usage', why);
  }
  if (toTopic === null) return;
  await history.refuseUnfit(toTopic);
  // Under a former prefix the settings do not name it.
  if (ends.some(({ topic }) => topic === toTopic))
    throw new Problem(
      'command.usage',
      `${toTopic} has live events of this store: history goes to another one`,
    );
}

function refuseUnclear({ events, organizationId, kind, how, toTopic }: ReplayWanted): void {
  const given = [events, organizationId, kind].filter((one) => one !== null).length;
  if (given !== 1 || events?.length === 0)
    throw new Problem('command.usage', 'name events, an organization or a kind: one of the three');
  if ((how === 'history') !== (toTopic !== null))
    throw new Problem('command.usage', 'what is read again goes to no topic');
}

function begun(wanted: ReplayWanted, startedAtMs: number): Shown {
  const rest = {
    former: null,
    unknown: [],
    calls: 0,
    parked: 0,
    forgotten: 0,
    waiting: 0,
    earlierUnsent: 0,
    refused: [],
    reason: null,
    endedAtMs: null,
  };
  return { wanted, state: 'running', counts: none, startedAtMs, ...rest };
}

function shown(progress: Shown, nowMs: number, callsLeft: number | null): ReplayView {
  const { wanted, counts, former, startedAtMs, endedAtMs, ...rest } = progress;
  const { how, toTopic, dryRun } = wanted;
  // Begun a moment ahead of the clock, or before it was set back.
  const tookMs = Math.max(0, Math.round((endedAtMs ?? nowMs) - startedAtMs));
  return {
    ...rest,
    ...counts,
    how,
    toTopic,
    dryRun,
    resumed: former !== null,
    leftAt: former === null ? null : new Date(former.leftAtMs).toISOString(),
    replayedBefore: former?.counts.replayed ?? 0,
    callsLeft,
    startedAt: beganAt(progress),
    tookMs: progress === idle ? 0 : tookMs,
  };
}

const beganAt = (progress: Shown) =>
  progress === idle ? null : new Date(progress.startedAtMs).toISOString();

const nothing = { events: null, organizationId: null, kind: null, toTopic: null } as const;
const idle: Shown = { ...begun({ ...nothing, how: 'newest', dryRun: false }, 0), state: 'idle' };
