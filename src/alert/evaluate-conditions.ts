/**
 * Signals for the states of the platform that processes know: one for each, one for many subscriptions or consents at
 * once, and one for a provider that is away, whatever of it was asked. Pure.
 */

import type { Alert, Condition, ConditionName, Covers, IdentityLabels, Signal } from '../model/alert';
import { asSentence } from '../model/as-sentence';
import { withoutAddresses } from '../model/without-addresses';
import { conditionRows } from './catalogue';
import { findStorm } from './find-storm';
import { fingerprintOf, subjectOf } from './fingerprint';
import { firstStepFor } from './first-step';
import { partsOf, withoutParts } from './part-of';
import { plainMessage, plainName, plainTime } from './plain-text';
import { signalOfRow } from './signal-of-row';
import { timeOf } from './time-of-condition';
import { whenOverOf } from './when-over';

export interface ConditionOptions {
  /** More states of one name than this within a day are one incident. */
  groupAbove: number;
  /** How long waiting notifications are kept one by one. */
  journalMs: number;
  /** Hosts of the settings: they may stand in texts, however much they look like a token. */
  ownNames: readonly string[];
  /** When the alerts that are open began, by fingerprint. */
  startsAtMs: ReadonlyMap<string, number>;
  /** The open incidents of many, by name. */
  openMany: ReadonlyMap<string, Pick<Alert, 'coversUntilMs' | 'quietSinceMs'>>;
  /** The names of alerts whose states may hold although nobody tells of them yet. */
  unlearned: ReadonlySet<string>;
  nowMs: number;
}

/** `sinceMs` is that of its alert; what it says now may be known for a shorter time, as another cause or since a start. */
interface State extends Condition {
  knownSinceMs: number;
}

/** Heartbeats are hours apart and consents end at their own minutes: one cause shows within a day. */
const groupWithinMs = 86_400_000;
const namedMax = 20;
const detailMax = 1000;

/**
 * A signal for each state, but one for all of a name that began in numbers above `groupAbove`, until none of them is
 * left, one for all origins of a provider that is away, and none for what is a part of another that holds by the same cause. The
 * same told by several processes is one state, since the earliest. A text names at most 20 states, with at most 1,000 characters of detail each.
 */
export function conditionSignals(conditions: Condition[], options: ConditionOptions): Signal[] {
  const whole = withoutParts(conditions, (fingerprint) => options.startsAtMs.has(fingerprint));
  const told = (state: State) => signalOf(state, partsOf(state.name, conditions), options);
  const byName = Map.groupBy(whole, ({ name }) => name);
  return [...byName].flatMap(([name, named]) => {
    const states = distinct(named, options);
    if (name === 'provider-unavailable') return [ofProvider(states, options)];
    const storm = findStorm(
      states.map(({ sinceMs }) => sinceMs),
      openUntil(name, options),
      { above: options.groupAbove, withinMs: groupWithinMs },
    );
    if (storm === null) return states.map(told);
    const inside = states.filter(({ sinceMs }) => sinceMs <= storm.untilMs);
    const outside = states.filter(({ sinceMs }) => sinceMs > storm.untilMs);
    return [ofMany(inside, storm.untilMs, options), ...outside.map(told)];
  });
}

/**
 * Each once, as who loses by it tells it. A process that was started anew knows less of the beginning than the alert that is open;
 * what several say in the same words is known since the first of them knew it.
 */
function distinct(named: Condition[], { startsAtMs }: ConditionOptions): State[] {
  const known = new Map<string, State>();
  const byLoss = named.toSorted(
    (left, right) => Number(left.losesNothing ?? 0) - Number(right.losesNothing ?? 0),
  );
  for (const condition of byLoss) {
    const labels = labelsOf(condition);
    const fingerprint = fingerprintOfState(condition);
    const twin = known.get(fingerprint);
    const whenOver = twin?.whenOver ?? condition.whenOver;
    const begunMs = twin?.sinceMs ?? startsAtMs.get(fingerprint) ?? condition.sinceMs;
    const state = twin ?? { ...condition, labels, knownSinceMs: condition.sinceMs };
    const isSame = state.detail === condition.detail;
    known.set(fingerprint, {
      ...state,
      ...(whenOver === undefined ? {} : { whenOver }),
      knownSinceMs: isSame ? Math.min(state.knownSinceMs, condition.sinceMs) : state.knownSinceMs,
      sinceMs: Math.min(condition.sinceMs, begunMs),
    });
  }
  return [...known.values()];
}

/** Of the alert that tells of this state alone. Never throws. */
export function fingerprintOfState(condition: Condition): string {
  return fingerprintOf(conditionRows[condition.name].name, labelsOf(condition));
}

/** A connection may be named by an e-mail address, which labels must not hold. */
function labelsOf({ labels = {} }: Condition): IdentityLabels {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, withoutAddresses(value)]));
}

/**
 * Until when a state must have begun to belong to the open incident of many. What comes back while that is held, or is
 * learned anew after a start, belongs to it.
 */
function openUntil(name: ConditionName, { openMany, unlearned, nowMs }: ConditionOptions): number | null {
  const open = openMany.get(conditionRows[name].name);
  if (open === undefined) return null;
  return open.quietSinceMs === null && !unlearned.has(conditionRows[name].name) ? open.coversUntilMs : nowMs;
}

/** `labels` are the signal's; what the state ends with is read from `of`. */
function toSignal(
  of: State,
  labels: IdentityLabels,
  what: string,
  id: string,
  options: ConditionOptions,
): Signal {
  const row = conditionRows[of.name];
  const begunMs = options.startsAtMs.get(fingerprintOf(row.name, labels)) ?? of.sinceMs;
  const sinceMs = Math.min(of.sinceMs, begunMs);
  const time = timeOf({ ...of, sinceMs }, options.journalMs, row.severity, options.nowMs);
  const since = sinceWords(plainTime(sinceMs), plainTime(of.knownSinceMs));
  const firstStep = firstStepFor(of.firstStep ?? row.firstStep, id);
  const { severity, annotations: further, sentence } = time;
  const sentences = [what, since, sentence];
  return signalOfRow(
    { ...row, severity, firstStep },
    { labels, sentences, further: { ...further, ...whenOverOf(of) }, sinceMs },
  );
}

/** A cause that came while the alert of another was open has not been so since that one began. */
function sinceWords(begun: string, known: string): string {
  return begun < known
    ? `The alert is open since ${begun}; this is known since ${known}.`
    : `It has been so since ${begun}.`;
}

function signalOf(state: State, covers: Covers | undefined, options: ConditionOptions): Signal {
  const { labels = {} } = state;
  const id = labels.subscription_id ?? labels.connection_id ?? 'ID';
  const signal = toSignal(state, labels, detailOf(state, options), id, options);
  return covers === undefined ? signal : { ...signal, covers };
}

/** As urgent as the one that ends first. Of at least one. */
function ofMany(states: State[], untilMs: number, options: ConditionOptions): Signal {
  const sorted = states.toSorted(
    (left, right) =>
      (left.endsAtMs ?? left.sinceMs) - (right.endsAtMs ?? right.sinceMs) ||
      (idOf(left) < idOf(right) ? -1 : 1),
  );
  const [first] = sorted as [State];
  const count = sorted.length === 1 ? `1 ${kindOf(first)}` : `${sorted.length} ${kindOf(first)}s at once`;
  const more = sorted.length - namedMax;
  const named = sorted.slice(0, namedMax).map((state) => plainName(idOf(state), 80));
  const list = `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const sinceMs = earliest(sorted);
  const oldest = { ...first, sinceMs, knownSinceMs: sinceMs };
  const what = `${count}: ${list}. The first: ${detailOf(first, options)}`;
  return {
    ...toSignal(oldest, { scope: 'many' }, what, 'ID', options),
    covers: coversOf(sorted, untilMs),
  };
}

/** Which of its origins were asked is no matter of the incident's identity. */
function ofProvider(states: State[], options: ConditionOptions): Signal {
  const sorted = states.toSorted((left, right) => left.sinceMs - right.sinceMs);
  const [first] = sorted as [State];
  const details = sorted.slice(0, namedMax).map((state) => {
    const detail = detailOf(state, options);
    const origin = idOf(state);
    return URL.canParse(origin) ? `At ${origin}: ${detail}` : detail;
  });
  return {
    ...toSignal(first, {}, details.join(' '), 'ID', options),
    covers: coversOf(sorted, (sorted.at(-1) as Condition).sinceMs),
  };
}

function coversOf(states: Condition[], untilMs: number): Covers {
  const [{ name }] = states as [Condition];
  const subjects = states.map(({ labels = {} }) => subjectOf(labels));
  return { names: [conditionRows[name].name], subjects, untilMs };
}

function detailOf({ detail, ids = [], labels = {} }: Condition, { ownNames }: ConditionOptions): string {
  return asSentence(plainMessage(detail, detailMax, [...ownNames, ...ids, ...Object.values(labels)]));
}

function idOf({ labels = {} }: Condition): string {
  return Object.values(labels).join(' ');
}

/** What there are many of, as its label says: subscription, connection. */
function kindOf({ labels = {} }: Condition): string {
  return Object.keys(labels).join(' ').replace(/_id$/, '');
}

/** Of more than a call takes as arguments. */
function earliest(states: Condition[]): number {
  return states.reduce((first, { sinceMs }) => Math.min(first, sinceMs), Number.POSITIVE_INFINITY);
}
