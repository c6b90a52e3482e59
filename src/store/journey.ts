/**
 * Journeys, put together from rows of the journal in the order in which things happened. Pure: every store hands over
 * rows with the same names, so that all of them tell the same. What is bounded says what it leaves out.
 */
import type { ExplainStep } from '../model/inspection';
import { accessStep, type TransitionToTell, transitionOf } from './access-step';
import {
  type Covered,
  type DeliveryToTell,
  type ElementEntry,
  type FoldedToTell,
  type GivenUp,
  passedOn,
  type ReadToTell,
  type TaskToTell,
  type ToldRead,
} from './covered';
import {
  eventSteps,
  isReconciled,
  type ReplayToTell,
  replayStep,
  syncStep,
  type ToldEvent,
} from './event-steps';
import {
  expiredEvent,
  expiredHints,
  expiredRead,
  expiredResource,
  expiredTransition,
  foldedStep,
} from './expired-steps';
import { leftOutStep, stepsMax } from './left-out';
import { asideOf, discardedAs, isParked, notificationSteps, whichOf, wordsOf } from './notification-steps';
import { causeOf, fenceOf } from './read-fence';
import { organizationsOf, type RunToTell, runAt } from './runs';
import { switchSteps } from './switch-step';

/** Of one resource's further addresses so many are looked at, the newest. */
export const addressesMax = 50;

export interface HintToTell {
  task_id: number;
  generation: number;
  element: number;
  /** Of its delivery. */
  id: number;
  received_at: number;
}

/** `entries` are those of the delivery's own notifications. */
export function deliverySteps(
  delivery: DeliveryToTell,
  covered: Covered[],
  entries: ElementEntry[],
  nowMs: number,
): ExplainStep[] {
  const receivedAt = at(delivery.received_at);
  return [
    {
      at: receivedAt,
      step: 'accepted',
      text: `a delivery was stored and answered 204; notifications in it: ${delivery.notifications}`,
      notifications: delivery.notifications,
      messageId: delivery.message_id,
      traceparent: delivery.traceparent,
    },
    ...notificationSteps(delivery, covered, entries),
    // Its receiver has a clock of its own: what came of it is told after it, whatever that said.
    ...inOrder(covered.flatMap((one) => coveredSteps(one, nowMs))),
  ];
}

function coveredSteps(one: Covered, nowMs: number): ExplainStep[] {
  const ofNotifications = one.hints.map(({ element }) => element);
  if ('read' in one) {
    const own = ownSteps(one.read).map((step) => ({ ...step, ofNotifications }));
    return [...withEvents(own, one.events, nowMs), ...takenOf(one.read, one.events)];
  }
  return one.waiting === undefined ? [] : [{ ...waitingStep(one.waiting, nowMs), ofNotifications }];
}

/**
 * What had a read made: hints since the read before it that covered less, lines of replays since that read, or what another
 * address passed on.
 */
export interface Asked {
  hints: HintToTell[];
  readAgain: ReplayToTell[];
  /** Those of the events that were decided; where none is kept, that of the task. */
  organizations: string[];
  runs: RunToTell[];
  passedOn: PassedOn | null;
}

/** A read at another address that found nothing there, and what had that made. */
export interface PassedOn {
  read: ReadToTell;
  asked: Asked;
}

/** An event of a listing or of a transition has no read; that of another is no longer kept where it is not found. */
export function eventJourney(
  event: ToldEvent,
  found: { read: ReadToTell; asked: Asked } | { transition: TransitionToTell | undefined },
  nowMs: number,
): ExplainStep[] {
  const own = inOrder(eventSteps(event, nowMs));
  if ('read' in found) {
    const { read, asked } = found;
    const askers = askerSteps(read, asked, isReconciled(event.headers));
    return inOrder([...askers, ...withEvents([readStep(read)], [event], nowMs)]);
  }
  if (fenceOf(event.cause) !== null) return [expiredRead(event.event_id, event.decided_at), ...own];
  const named = transitionOf(event.cause);
  if (named === null) return own;
  const { organizationId, epoch } = named;
  if (found.transition !== undefined) return [accessStep(organizationId, found.transition), ...own];
  // What it was before its first change was told without one.
  return epoch === 1 ? own : [expiredTransition(organizationId, event.decided_at), ...own];
}

/**
 * What no notification announced was asked for by a replay or by a sync, here or where it was passed on. A replay also has read
 * again what was announced and set aside.
 */
function askerSteps(
  read: ReadToTell,
  { hints, readAgain, organizations, runs, passedOn: passed }: Asked,
  reconciled: boolean,
): ExplainStep[] {
  if (!reconciled) {
    const came = hints.length > 0 || passed !== null ? hintSteps(hints, [read]) : [expiredHints(read.at)];
    return inOrder([...came, ...passedOnSteps(passed), ...readAgainSteps(readAgain)]);
  }
  if (readAgain.length > 0) return readAgainSteps(readAgain);
  const run = runAt(runs, read.at, organizations);
  const isPassedOn = passed?.read.reason === passedOn.reconciled && passed.read.at >= (run?.began_at ?? 0);
  return isPassedOn ? passedOnSteps(passed) : [syncStep(run, read.at)];
}

function passedOnSteps(passed: PassedOn | null): ExplainStep[] {
  if (passed === null) return [];
  const { read, asked } = passed;
  return [...askerSteps(read, asked, read.reason === passedOn.reconciled), readStep(read)];
}

/** The journey of an event of which nothing but its read is kept. */
export function sweptJourney(read: ReadToTell, { hints, readAgain, passedOn: passed }: Asked): ExplainStep[] {
  const askers = [...hintSteps(hints, [read]), ...readAgainSteps(readAgain), ...passedOnSteps(passed)];
  return [...inOrder(askers), readStep(read), ...takenOf(read, [])];
}

/** What is known of all tasks of one resource. Each list holds the newest of each task, and one more where there are more. */
export interface ResourceToTell {
  hints: HintToTell[];
  /** Of those of its tasks that have any. */
  folded: FoldedToTell[];
  reads: ToldRead[];
  events: ToldEvent[];
  readAgain: ReplayToTell[];
  runs: RunToTell[];
  waiting: TaskToTell[];
  /** As what it was set aside before an operator or a newer notification had it tried once more. */
  triedAgain: GivenUp[];
  /** It has more addresses than were looked at. */
  hasMore: boolean;
}

/** Of its further addresses the newest 50 are looked at. */
export function resourceSteps(resource: ResourceToTell, nowMs: number): ExplainStep[] {
  const reads = newest(resource.reads, (read) => read.at);
  const events = newest(resource.events, (event) => event.decided_at);
  const steps = [
    ...resource.folded.map(foldedStep),
    ...hintSteps(resource.hints, reads),
    ...readAgainSteps(resource.readAgain),
    ...leftOut(resource.reads, reads, (read) => read.at, 'reads of it'),
    ...decidedSteps(reads, events, resource, nowMs),
    ...leftOut(resource.events, events, (event) => event.decided_at, 'events of it'),
    ...triedAgainSteps(resource.triedAgain),
    ...(resource.hasMore ? [moreAddressesStep(nowMs)] : []),
    ...resource.waiting.map((task) => waitingStep(task, nowMs)),
  ];
  if (steps.length === 0) return [expiredResource(nowMs)];
  return inOrder(steps);
}

/** In the order in which they happened; at one moment, as they stand. */
export function inOrder(steps: ExplainStep[]): ExplainStep[] {
  return steps.toSorted((left, right) => (left.at < right.at ? -1 : Number(left.at > right.at)));
}

/** The reads with the events that each of them decided, and the events that none of these did. */
function decidedSteps(
  reads: ToldRead[],
  events: ToldEvent[],
  { readAgain, runs }: ResourceToTell,
  nowMs: number,
): ExplainStep[] {
  const ofCause = Map.groupBy(events, ({ cause }) => cause);
  const readAt = new Map<number, number>();
  const steps = reads.flatMap((read) => {
    const sinceMs = readAt.get(read.task_id) ?? 0;
    readAt.set(read.task_id, read.at);
    const cause = causeOf(read.task_id, read.fence);
    const own = ofCause.get(cause) ?? [];
    ofCause.delete(cause);
    const isListed =
      own.some(({ headers }) => isReconciled(headers)) &&
      !readAgain.some((line) => line.at > sinceMs && line.at <= read.at);
    return [
      ...switchSteps(read, at(read.at)),
      ...(isListed ? [syncStep(runAt(runs, read.at, organizationsOf(own)), read.at)] : []),
      ...withEvents(ownSteps(read), own, nowMs),
      ...takenOf(read, own),
    ];
  });
  const others = [...ofCause.values()].flat();
  return [...steps, ...others.flatMap((event) => [...lostRead(event), ...eventSteps(event, nowMs)])];

  /** Nothing is said where the read may be one that is left out. */
  function lostRead(event: ToldEvent): ExplainStep[] {
    const isOut = reads.length === stepsMax || fenceOf(event.cause) === null;
    return isOut ? [] : [expiredRead(event.event_id, event.decided_at)];
  }
}

/** What a read decided is told before it says what it ended as: published comes after decided, and before sent. */
function withEvents(read: ExplainStep[], events: ToldEvent[], nowMs: number): ExplainStep[] {
  const told = events.map((event) => eventSteps(event, nowMs));
  return [...told.flatMap(([decided]) => decided ?? []), ...read, ...told.flatMap(([, ...since]) => since)];
}

/** Of what a read decided and retention took. */
function takenOf({ event_id: last, swept, at: readAt }: ReadToTell, events: ToldEvent[]): ExplainStep[] {
  const isTaken = last !== null && Boolean(swept) && !events.some(({ event_id }) => event_id === last);
  return isTaken ? [expiredEvent(last, readAt)] : [];
}

function at(ms: number): string {
  return new Date(ms).toISOString();
}

/** The newest so many, in order. */
function newest<Row>(rows: Row[], atMs: (row: Row) => number): Row[] {
  return rows.toSorted((left, right) => atMs(left) - atMs(right)).slice(-stepsMax);
}

function leftOut<Row>(all: Row[], told: Row[], atMs: (row: Row) => number, what: string): ExplainStep[] {
  return told.length < all.length ? [leftOutStep(atMs(told[0]!), what)] : [];
}

/** `reads` are in order. A receiver has a clock of its own, all else the store's: what a read answers had come before it. */
function hintSteps(all: HintToTell[], reads: ReadToTell[]): ExplainStep[] {
  const came = all.map((hint) => {
    const answer = reads.find((read) => read.task_id === hint.task_id && read.generation >= hint.generation);
    return { ...hint, atMs: Math.min(hint.received_at, answer?.at ?? hint.received_at) };
  });
  const hints = newest(came, (hint) => hint.atMs);
  return [
    ...leftOut(came, hints, (hint) => hint.atMs, 'notifications of it'),
    ...hints.map((hint) => ({
      at: at(hint.atMs),
      step: 'hinted',
      text: `delivery d${hint.id} said that it changed${hint.atMs < hint.received_at ? `, at ${at(hint.received_at)} by the clock of its receiver` : ''}`,
      deliveryId: `d${hint.id}`,
      element: hint.element,
      generation: hint.generation,
    })),
  ];
}

function readAgainSteps(all: ReplayToTell[]): ExplainStep[] {
  const lines = newest(all, (line) => line.at);
  return [
    ...leftOut(all, lines, (line) => line.at, 'reads that replays asked for'),
    ...lines.map((line) => replayStep(line)),
  ];
}

function triedAgainSteps(all: GivenUp[]): ExplainStep[] {
  const entries = newest(all, (entry) => entry.at);
  return [
    ...leftOut(all, entries, (entry) => entry.at, 'times that it was set aside'),
    ...entries.map((entry) => ({
      ...asideStep(entry, ', and tried once more since'),
      entryState: entry.state,
    })),
  ];
}

function asideStep(entry: GivenUp, since = ''): ExplainStep {
  const text = `quarantined as ${whichOf(entry)}${since}`;
  return { at: at(entry.at), step: 'quarantined', text, entry: `q${entry.id}`, detail: entry.detail };
}

/** Where an operator gave it up, nothing was read by that: why it was set aside is told before it. */
function ownSteps(read: ToldRead): ExplainStep[] {
  const { givenUp: aside, outcome } = read;
  if (outcome !== 'discarded') return [readStep(read)];
  const entry = aside === null ? null : `q${aside.id}`;
  const step = { at: at(read.at), step: outcome, text: discardedAs(read), entry, entryState: outcome };
  return aside === null ? [step] : [asideStep(aside), step];
}

function readStep(read: ReadToTell): ExplainStep {
  if (read.outcome === passedOn.outcome) {
    const text = 'a read at another of its addresses found nothing there: the resource itself is read';
    return { at: at(read.at), step: passedOn.outcome, text };
  }
  return {
    at: at(read.at),
    step: read.outcome,
    text: `read and decided: ${read.outcome}${read.reason === null ? '' : ` (${read.reason})`}`,
    generation: read.generation,
    connectionId: read.connection_id,
    eventId: read.event_id,
  };
}

function waitingStep(task: TaskToTell, nowMs: number): ExplainStep {
  const parked = isParked(task);
  const state = parked ? 'parked' : task.state;
  const aside = asideOf(task);
  const why = parked
    ? `its organization is ${task.access}`
    : task.code === null
      ? 'it is its turn soon'
      : wordsOf(task.code);
  return {
    at: at(aside?.at ?? nowMs),
    step: state,
    text: aside === null ? `now ${state}: ${why}` : `${state} as ${whichOf(aside)}`,
    entry: aside === null ? null : `q${aside.id}`,
    dueAt: task.due_at === null ? null : at(task.due_at),
    attempts: task.attempts,
    detail: task.detail,
  };
}

function moreAddressesStep(nowMs: number): ExplainStep {
  const text = `it has more addresses: what came through others than its newest ${addressesMax} is not told here`;
  return { at: at(nowMs), step: 'left-out', text };
}
