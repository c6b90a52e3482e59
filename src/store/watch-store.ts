/**
 * The store as the running process experiences it: calls pass through unchanged, and what they meet tells whether an
 * operator must look at it. A store that cannot answer cannot say so itself.
 */
import { isProblem, Problem } from '../model/problem';
import type { Alerts, Outbox, Store } from '../model/store';
import { type Clock, endsWithin } from '../tools/clock';
import { makeChoice, type Said, say } from './cause-told';

export interface StoreTrouble {
  sinceMs: number;
  detail: string;
}

export interface WatchedStore {
  store: Store;
  /** What has been wrong for some seconds; null when nothing is. */
  trouble(): StoreTrouble | null;
}

/** Shorter trouble is nobody's business: a full moment, a checkpoint. */
const patienceMs = 5000;
/** So often the time is looked at while something is asked: what is missing between two looks, this process did not run. */
const lookMs = 1000;
/** A verb that failed and was not tried again since says nothing about now. */
const rememberedMs = 60_000;
/** SQLite's own words: of a failure no more than these comes from its thread. */
const full = 'database or disk is full';
/** An alert must not wait for the store whose silence it is about. */
const alertPatienceMs = 2000;
/** While one of their questions is late the next are hardly waited for: a round asks several, and each would cost the page its time. */
const lateAlertPatienceMs = 250;

/** Of one verb; `detail` is what it met last. */
interface Failure extends StoreTrouble {
  lastMs: number;
  said: Said;
}

interface Question {
  atMs: number;
}

/** What is asked and not yet answered, by the time for which this process ran since. Bounded by the calls that are under way. */
function makeQuestions(clock: Clock) {
  const open = new Set<Question>();
  const closed = new AbortController();
  let looking = false;
  let lookedMs = 0;

  /** Time that this process stood still is nobody's waiting: answers may lie there unread. */
  function look(): void {
    if (!looking) return;
    const nowMs = clock.steadyMs();
    const stoodMs = nowMs - lookedMs - lookMs;
    lookedMs = nowMs;
    if (stoodMs < lookMs) return;
    for (const question of open) question.atMs = Math.min(question.atMs + stoodMs, nowMs);
  }

  async function lookOn(): Promise<void> {
    looking = true;
    lookedMs = clock.steadyMs();
    while (open.size > 0 && !closed.signal.aborted) {
      await clock.wait(lookMs, closed.signal);
      look();
    }
    looking = false;
  }

  return {
    ask(): Question {
      const question = { atMs: clock.steadyMs() };
      open.add(question);
      if (!looking) void lookOn();
      return question;
    },
    /** Who stood still hears answers before the time is looked at again. */
    answered(question: Question): void {
      look();
      open.delete(question);
    },
    oldest(): Question | undefined {
      look();
      return open.values().next().value;
    },
    close: () => closed.abort(),
  };
}

/**
 * The same store, whose calls are timed while this process runs, and whose failures are remembered for a minute or until the verb succeeds.
 * What failed for less than 5 s and was not tried again is told 5 s after that, and over once the store was ready after it; what found the disk full, once it
 * was ready 5 s after it, though it comes back with the same beginning within that minute. Rejects as the store does.
 */
export function watchStore(store: Store, clock: Clock): WatchedStore {
  /** By verb: reading goes on while nothing can be written. */
  const failing = new Map<string, Failure>();
  const choose = makeChoice();
  const questions = makeQuestions(clock);
  let readyMs = Number.NEGATIVE_INFINITY;

  function watch(verb: string, call: (...args: unknown[]) => Promise<unknown>) {
    return (...args: unknown[]): Promise<unknown> => {
      const question = questions.ask();
      if (verb === 'close') questions.close();
      const answer = call(...args);
      answer.then(
        () => {
          questions.answered(question);
          failing.delete(verb);
          if (verb === 'ready') readyMs = Math.max(readyMs, question.atMs);
        },
        (error: unknown) => {
          questions.answered(question);
          if (!isProblem(error, 'store.unavailable')) return;
          const { sinceMs = question.atMs, said = new Map() } = failing.get(verb) ?? {};
          const { message: detail, cause } = error;
          const lastMs = clock.steadyMs();
          say(said, detail, isDriversOwn(cause), lastMs);
          failing.set(verb, { sinceMs, lastMs, detail, said });
        },
      );
      return answer;
    };
  }

  // Each verb is watched from when it is first asked for, and found without the proxy from then on.
  const verbs = new Proxy(Object.create(null) as object, {
    get(_none, verb, watched: object) {
      const call = store[verb as keyof Store] as unknown;
      if (typeof call !== 'function') return call;
      const value = watch(String(verb), call as (...args: unknown[]) => Promise<unknown>);
      Object.defineProperty(watched, verb, { value });
      return value;
    },
  });

  return {
    store: Object.create(verbs) as Store,
    trouble() {
      const nowMs = clock.steadyMs();
      const oldest = questions.oldest();
      const asPeopleCount = (steadyMs: number) => clock.nowMs() - (nowMs - steadyMs);
      for (const [verb, { lastMs }] of failing) if (nowMs - lastMs >= rememberedMs) failing.delete(verb);
      const open = [...failing.values()].filter((failure) => !isOver(failure, readyMs));
      const failedMs = Math.max(...open.map(({ lastMs }) => lastMs));
      const first = open.find((failure) => lasts(failure, failedMs, nowMs));
      const told = first === undefined ? null : choose(open, nowMs);
      // Who waits behind what fails hears nothing for longer than that takes to say why.
      if (oldest !== undefined && nowMs - oldest.atMs >= patienceMs) {
        const detail = told?.isServersNow ? told.words : 'the store does not answer';
        return { sinceMs: asPeopleCount(oldest.atMs), detail };
      }
      return told === null ? null : { sinceMs: asPeopleCount(first!.sinceMs), detail: told.words };
    },
  };
}

/**
 * A verb that failed once says for how long that was so, and nothing of what follows: the store is probed every 4 s, and what
 * somebody kept locked for 4 s is found given back by then. `failedMs`: when any verb failed last.
 */
function lasts({ sinceMs, lastMs }: Failure, failedMs: number, nowMs: number): boolean {
  return failedMs - sinceMs >= patienceMs || nowMs - lastMs >= patienceMs;
}

function isOver({ sinceMs, lastMs, detail }: Failure, readyMs: number): boolean {
  if (lastMs - sinceMs < patienceMs && readyMs > lastMs) return true;
  // Where nothing comes nobody tries the verb again. A probe alone may find room in a log that has none for more.
  return detail === full && readyMs - lastMs >= patienceMs;
}

/** What has no code came from neither the server nor the system: what a driver says of a connection that broke. */
function isDriversOwn(cause: unknown): boolean {
  return cause instanceof Error && typeof (cause as { code?: unknown }).code !== 'string';
}

type AlertStore = Alerts & Pick<Outbox, 'holdLease'>;

/**
 * The alerts' verbs; each throws `store.unavailable` when it takes longer than 2 s, or than 250 ms while an earlier one is
 * unanswered for 2 s, and what the store throws.
 */
export function answersInTime(store: AlertStore, clock: Clock): AlertStore {
  const late = new Set<Promise<unknown>>();

  async function inTime<Value>(work: Promise<Value>): Promise<Value> {
    const patienceMs = late.size === 0 ? alertPatienceMs : lateAlertPatienceMs;
    if (await endsWithin(work, patienceMs, clock)) return work;
    late.add(work);
    const answered = () => void late.delete(work);
    work.then(answered, answered);
    throw new Problem('store.unavailable', 'the store gives no answer in time');
  }
  return {
    alertInputs: () => inTime(store.alertInputs()),
    alertMark: () => inTime(store.alertMark()),
    listAlerts: () => inTime(store.listAlerts()),
    saveAlerts: (alerts) => inTime(store.saveAlerts(alerts)),
    shareConditions: (...told) => inTime(store.shareConditions(...told)),
    holdLease: (...lease) => inTime(store.holdLease(...lease)),
  };
}
