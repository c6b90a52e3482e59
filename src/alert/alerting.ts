/**
 * The life of alerts in the running process: read what holds, evaluate, converge, save, tell each sink what it has not
 * been told, save its answers. All state that matters is in the store before the first post, so that a restarted
 * process goes on; while the store is away, paging goes on from memory. It decides by the pure parts beside it.
 */
import type { Alert, AlertInputs, Condition, Told } from '../model/alert';
import type { Alerts } from '../model/store';
import { type Clock, endsWithin } from '../tools/clock';
import { makeAlertBook } from './alert-book';
import { platformNames } from './catalogue';
import { converge } from './converge';
import { type DueTimes, offeredTo, pickDue, sentAfter } from './due';
import { evaluate, openOf } from './evaluate';
import { makeGather } from './gather';
import { toldOf } from './held-text';
import { type Lane, makeLane, type PostedAlert, type PostLine } from './lane';
import { type LeaderStore, makeLeader } from './leader';
import { type LetGo, letGo } from './let-go';
import { type IsOver, type IsSettled, makeRelearning } from './relearning';
import type { AlertSink } from './sink';
import { makeUnrecorded } from './unrecorded';

export interface AlertingOptions {
  /** What fires is sent again after this time. */
  resendMs: number;
  /** An alert ends when its state has been over for so long; longer than receivers gather, or short ones are lost. */
  holdMs: number;
  /** More organizations of one cause than this within five minutes are one incident, and states of one name within a day. */
  groupAbove: number;
  /** What is new waits so long for more of its kind. */
  gatherMs: number;
  /** For so long an end is sent again. */
  resolveRepeatMs: number;
  /** Another process tells the sinks when the one that does so has been silent for so long. */
  leaseMs: number;
  /** No other process can have this store. */
  sole?: boolean;
  /** How long waiting notifications are kept one by one. */
  journalMs: number;
  /** Where the runbooks are published, without a slash at the end. */
  runbookBase: string;
  /** Hosts and places of the settings, which texts may name. */
  ownNames: readonly string[];
}

/** For metrics and log lines; must not throw. */
export interface AlertingHooks {
  /** A sink answered. */
  posted?(line: PostLine): void;
  /** An alert began, ended or changed its severity. */
  changed?(alert: Alert): void;
  /** An alert ended so long ago that sinks which could not be told are not tried any more. */
  letGo?(line: LetGo): void;
}

export interface AlertingParts {
  store: Alerts & LeaderStore;
  /** Of this process among those on the store: another text for each. */
  holder: string;
  sinks: AlertSink[];
  clock: Clock;
  /** The states of the platform that hold now. */
  conditions(): Condition[];
  /** Is it known whether such a state holds, by what this process saw since then? Left out: not before its row's time. */
  isSettled?: IsSettled;
  /** Is it known of that very state that it is over, if nobody tells of it? Left out: of none. */
  isOver?: IsOver;
  /** Where an organization's connection is looked after at the provider; null where nobody here knows. Must not throw. */
  manageUrl?(organizationId: string): string | null;
  options: AlertingOptions;
  hooks?: AlertingHooks;
  /** In [0, 1); spreads the back-off of failing sinks. */
  random?(): number;
}

export interface Alerting {
  /**
   * One round, in which nothing is done while another process leads. `worked` when an alert changed or a sink was told something. Waits at most 250 ms for slow sinks; their
   * answers are recorded in a later round. To be called one at a time, several times a second. Throws what the store
   * throws, but not `store.unavailable`.
   */
  step(): Promise<'worked' | 'empty'>;
  /** What this process knows of alerts without asking the store; null while another leads. */
  remembered(): Alert[] | null;
  /** It leads, and the store tells less than it remembers, since it takes no writes. */
  isBehind(): boolean;
  /** Lets another process go on at once. Throws what the store throws. */
  close(): Promise<void>;
}

interface Offer {
  lane: Lane;
  due: Alert[];
}

/** Who leads now ends what it does not know of: a page that still holds must not stay closed for longer. */
const openAgainMs = 300_000;

/** How long a round waits for its sinks: a page to one of them must not wait for another. */
const sinkWaitMsMax = 250;

const never = () => false;

/**
 * Starts nothing until it is stepped or run. A step rejects only as the store does; a sink that fails is told again
 * and costs the others nothing.
 */
export function makeAlerting(parts: AlertingParts): Alerting {
  const rounds = makeRounds(parts);
  return {
    step: () => step(rounds),
    remembered: () => (rounds.leads ? rounds.book.remembered() : null),
    isBehind: () => rounds.leads && rounds.book.isBehind(),
    close: rounds.leader.giveBack,
  };
}

type Rounds = ReturnType<typeof makeRounds>;

/** What is kept from round to round. */
function makeRounds({ hooks = {}, manageUrl = () => null, random = Math.random, ...parts }: AlertingParts) {
  const { store, holder, sinks, clock, conditions, isSettled = never, isOver = never, options } = parts;
  const onPost = (line: PostLine) => hooks.posted?.(line);
  return {
    ...{ holder, clock, conditions, manageUrl, options, hooks },
    lanes: sinks.map((sink) => makeLane(sink, clock, onPost, random, options.resendMs)),
    book: makeAlertBook(store, clock),
    leader: makeLeader(store, clock, holder, options.leaseMs, options.sole),
    relearning: makeRelearning(isSettled, isOver),
    gather: makeGather(options),
    unrecorded: makeUnrecorded(sinks, options),
    startedAtMs: clock.nowMs(),
    leads: false,
    refreshedAtMs: Number.NEGATIVE_INFINITY,
  };
}

/** From a state to a page, in the order that its promises rest on. */
async function step(rounds: Rounds): Promise<'worked' | 'empty'> {
  const { clock, options, lanes, book, leader, relearning, unrecorded } = rounds;
  const [own, beganMs] = [rounds.conditions(), clock.steadyMs()];
  // 1 · Who leads: of several processes one tells the sinks.
  const { leads, alone, others } = await leader.confirm(own);
  rounds.leads = leads;
  if (!leads) {
    unrecorded.follow(own, clock.nowMs());
    relearning.stop();
    await book.settle();
    return 'empty';
  }
  // 2 · What is known: read anew, since another process may have written it.
  const { inputs, alerts: stored } = await book.read();
  const [nowMs, steadyMs] = [clock.nowMs(), clock.steadyMs()];
  // 3 · What sinks answered since; then ends are let go, lest one that was taken at last is said to be told to nobody.
  const { alerts: known, gone } = letGo(record(stored, collect(rounds)), nowMs);
  // 4 · What fires, is held and is over, whoever was told: what sinks have by 3 goes along.
  const told = [{ holder: rounds.holder, conditions: own }, ...others];
  const concluded = conclude(rounds, inputs, told, known, { nowMs, steadyMs });
  // 5 · Each is offered to every sink before any post: whoever is stopped between them must not forget that a page may be open.
  const isTold = ({ name }: Alert) => !alone || platformNames.has(name);
  const alerts = concluded.map((alert) => (isTold(alert) ? offeredToAll(lanes, alert, nowMs) : alert));
  // 6 · Ends without a record, of what by 4 neither fires nor is to be learned. No row is written of them: they may never have fired.
  const ends = unrecorded.ends(alerts, relearning.unlearned(), nowMs);
  // 7 · What is due at the sinks that are ready. Picked, not posted: first comes 8.
  const times = { ...options, startedAtMs: rounds.startedAtMs };
  const dueTimes = alone ? { ...times, openAgainMs } : times;
  const picked = offersOf(lanes, [alerts.filter(isTold), ends], nowMs, dueTimes);
  // 8 · Saved before anybody is told, so that a process that was restarted goes on.
  const moved = await save(rounds, { stored, alerts, gone }, steadyMs);
  // 9 · Who leads, asked again: whoever stood still meanwhile may have been followed.
  const stoodStill = clock.steadyMs() - beganMs >= options.leaseMs / 2;
  const offers = stoodStill && !(await leader.confirm(own)).leads ? [] : picked;
  // 10 · Told, by each sink in its way (alertmanager-memory.ts); what it answers later than that is of 3 in a round to come.
  const posts = offers.map(({ lane, due }) => lane.post(due.map(toldOf)));
  if (posts.length > 0) {
    await endsWithin(Promise.all(posts), sinkWaitMsMax, clock);
    const recorded = record(alerts, collect(rounds));
    await book.save(
      recorded,
      recorded.filter((alert, index) => alert !== alerts[index]),
    );
  }
  return moved + posts.length > 0 ? 'worked' : 'empty';
}

/** From what is stored and what processes tell to the alerts as they are now; nobody is told of them yet. */
function conclude(
  { relearning, gather, options, manageUrl }: Rounds,
  inputs: AlertInputs,
  told: Told[],
  known: Alert[],
  { nowMs, steadyMs }: { nowMs: number; steadyMs: number },
): Alert[] {
  // First what is to be learned anew: none of that is over because nobody tells of it.
  relearning.hear(told, known, nowMs);
  const conditions = told.flatMap((one) => one.conditions);
  const open = openOf(known, relearning.unlearned());
  const signals = evaluate({ ...inputs, conditions, nowMs }, { ...options, ...open, manageUrl });
  // What waits here begins nothing, and what it covers is not over.
  const gathered = gather(signals, inputs, known, steadyMs);
  const alerts = converge(gathered, known, nowMs, { ...options, ...relearning });
  // Of this round, for the next.
  relearning.seen(gathered.passed, alerts);
  return alerts;
}

/** How many alerts moved; hooks are told of them, and of those that were let go, once it is saved. */
async function save(
  rounds: Rounds,
  { stored, alerts, gone }: { stored: Alert[]; alerts: Alert[]; gone: LetGo[] },
  steadyMs: number,
): Promise<number> {
  const { book, hooks, options } = rounds;
  const before = new Map(stored.map((alert) => [alert.fingerprint, alert]));
  const isRefresh = steadyMs - rounds.refreshedAtMs >= options.resendMs;
  if (isRefresh) rounds.refreshedAtMs = steadyMs;
  const moved = alerts.filter((alert) => hasMoved(before.get(alert.fingerprint), alert));
  const changed = alerts.filter((alert) => isToSave(before.get(alert.fingerprint), alert, isRefresh));
  await book.save(alerts, changed);
  for (const line of gone) hooks.letGo?.(line);
  for (const alert of moved) if (isTransition(before.get(alert.fingerprint), alert)) hooks.changed?.(alert);
  return moved.length;
}

/** What the sinks answered since the last call. */
function collect({ lanes, unrecorded }: Rounds): PostedAlert[] {
  const answers = lanes.flatMap((lane) => lane.collect());
  unrecorded.record(answers);
  return answers;
}

/** The alerts with what their sinks answered; those that nobody answered for are the same objects. */
function record(alerts: Alert[], answers: PostedAlert[]): Alert[] {
  if (answers.length === 0) return alerts;
  const byFingerprint = Map.groupBy(answers, (answer) => answer.fingerprint);
  return alerts.map((alert) => {
    let { sent } = alert;
    for (const { sink, posted, outcome, atMs } of byFingerprint.get(alert.fingerprint) ?? []) {
      sent = { ...sent, [sink]: sentAfter(sent[sink], posted, outcome, atMs) };
    }
    return sent === alert.sent ? alert : { ...alert, sent };
  });
}

/** What has to be told now, to each sink that is ready; of an alert and an unrecorded end of the same the alert. */
function offersOf(
  lanes: Lane[],
  [alerts, ends]: [Alert[], Alert[]],
  nowMs: number,
  times: DueTimes,
): Offer[] {
  return lanes
    .filter((lane) => lane.isReady())
    .map((lane) => {
      const due = pickDue(lane.sink, alerts, nowMs, times);
      const dueToo = new Set(due.map(({ fingerprint }) => fingerprint));
      const further = pickDue(lane.sink, ends, nowMs, times).filter((end) => !dueToo.has(end.fingerprint));
      // Nobody is known to have told them: a sink must not take them for open.
      return { lane, due: [...due, ...further.map((end) => ({ ...end, sent: {} }))] };
    })
    .filter(({ due }) => due.length > 0);
}

/** With whom it is to be told to: also those that are not ready, which are told of its end where it comes first. */
function offeredToAll(lanes: Lane[], alert: Alert, nowMs: number): Alert {
  return lanes.reduce((told, { sink }) => offeredTo(sink.name, told, nowMs), alert);
}

/**
 * Texts change with every task that comes to wait: they are saved no more often than they are sent. But nobody is to read for
 * so long that what is over goes on.
 */
function isToSave(before: Alert | undefined, alert: Alert, isRefresh: boolean): boolean {
  if (alert === before) return false;
  const goesOnOtherwise = before?.annotations.goes_on_as !== alert.annotations.goes_on_as;
  return isRefresh || goesOnOtherwise || alert.sent !== before?.sent || hasMoved(before, alert);
}

/** Whether anything but texts and answers changed. */
function hasMoved(before: Alert | undefined, alert: Alert): boolean {
  return (
    isTransition(before, alert) ||
    before?.quietSinceMs !== alert.quietSinceMs ||
    before.coversUntilMs !== alert.coversUntilMs
  );
}

function isTransition(before: Alert | undefined, alert: Alert): boolean {
  return before?.state !== alert.state || before.severity !== alert.severity;
}
