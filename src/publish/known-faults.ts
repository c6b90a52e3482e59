/**
 * What a relay tells, and what it knows to be well since it leads: what it met itself, and what whoever led before told of
 * topics, until that is known better. Memory alone; nothing here acts.
 */
import type { Condition, ConditionName, IdentityLabels } from '../model/alert';
import type { HeldPartition } from '../model/store';
import type { CatchUp } from './catch-up';
import { withRemedy } from './former-prefix';
import type { DeniedTopic, RelayOptions } from './relay-options';
import type { Setbacks } from './setbacks';
import type { Trouble } from './trouble';

/** What a relay tells of its faults, and of which it knows that they are over. */
export interface FaultReport {
  /** What a person should know; at most one for each topic, and one for Kafka. */
  conditions(): Condition[];
  /**
   * Of which of them none holds unless it is told: of topics, once this relay leads and everything could be written since, and
   * of Kafka's, once all could be but for topics that are missing or denied.
   */
  settled(): ConditionName[];
  /** Is it known of that very state that it holds only if it is told? A topic that was written is not denied, whatever others are. */
  isOver(name: ConditionName, labels: IdentityLabels): boolean;
}

export interface KnownFaults extends FaultReport {
  /** This relay begins to lead: what is told by whoever led before lasts until it is known better. */
  takeOver(topics: DeniedTopic[]): void;
  /** Something is sent: whether all can be written is not known. */
  sends(): void;
  /** Of some topics a record was acknowledged; of some, and perhaps the same, one could not be written. */
  sent(written: ReadonlySet<string>, failed: ReadonlySet<string>): void;
  /** Nothing is sent for a while, though it could be: what failed before goes on to be told as now, until more is known. */
  heldBack(): void;
  /** All that was picked could be written; `drained`: and nothing unsent is left outside those that are held. */
  couldWriteBut(held: HeldPartition[], drained: boolean): void;
  /** Another may lead: what is told of topics goes on to be, until one does. Before what was met is forgotten. */
  keepTold(): void;
  /** Another leads, and tells what it knows. */
  leave(): void;
}

export interface FaultParts {
  setbacks: Setbacks;
  catchUp: CatchUp;
  trouble: Trouble;
}

/** As long as is told of a denied topic what nobody met since. */
const toldMsMax = 900_000;

/** Keeps the name of each topic that is written, which are few. What was told before is told on for 15 minutes at most. Never throws. */
export function makeKnownFaults(
  { setbacks, catchUp, trouble }: FaultParts,
  { clock, liveTopics }: Pick<RelayOptions, 'clock' | 'liveTopics'>,
): KnownFaults {
  /** What was told of topics until somebody else began to lead, by another or here. */
  let inherited: Condition[] = [];
  let inheritedAtMs = 0;
  const well = new Set<string>();
  /** Those that were held when nothing else was unsent; null before. */
  let others: Set<string> | null = null;
  /** Whether this relay leads, and all that it last found unsent could be written: but for what its topic alone refuses, and at all. */
  let could = { kafka: false, all: false };

  /** Since when nothing is tried that could be; null while all is. */
  let heldBackSinceMs: number | null = null;

  const isWell = (topic: string) => well.has(topic) || (others !== null && !others.has(topic));

  const untilKnown = () =>
    clock.steadyMs() - inheritedAtMs < toldMsMax
      ? inherited.filter(({ labels }) => labels?.topic === undefined || !isWell(labels.topic))
      : [];

  /** Of each topic what is known best: what a send met, then what a reading did, then what was told before. */
  const byTopic = () => {
    const known = new Map<string | undefined, Condition[]>();
    const asOfMs = heldBackSinceMs ?? clock.steadyMs();
    for (const part of [setbacks.conditions(asOfMs), catchUp.conditions(asOfMs), untilKnown()])
      for (const [topic, some] of Map.groupBy(part, ({ labels }) => labels?.topic))
        if (!known.has(topic)) known.set(topic, some);
    return [...known.values()].flat();
  };

  return {
    takeOver(topics) {
      if (inherited.length === 0) inheritedAtMs = clock.steadyMs();
      const known = new Set(inherited.map(({ labels }) => labels?.topic));
      inherited = [...inherited, ...topics.filter(({ topic }) => !known.has(topic)).map(inheritedOf)];
    },
    sends() {
      could = { kafka: false, all: false };
    },
    sent(written, failed) {
      heldBackSinceMs = null;
      for (const topic of written) well.add(topic);
      for (const topic of failed) {
        well.delete(topic);
        others?.add(topic);
      }
    },
    heldBack() {
      heldBackSinceMs = clock.steadyMs();
    },
    couldWriteBut(held, drained) {
      heldBackSinceMs = null;
      if (drained) others = new Set(held.map(({ topic }) => topic));
      const isOfTopics = catchUp.held().every(({ refused }) => refused !== undefined);
      could = { kafka: isOfTopics && setbacks.unavailable() === null, all: held.length === 0 };
    },
    keepTold() {
      const before = inherited;
      inherited = byTopic().filter(({ name }) => name === 'topic-denied');
      if (inherited.some((one) => !before.includes(one))) inheritedAtMs = clock.steadyMs();
      well.clear();
      others = null;
      could = { kafka: false, all: false };
      heldBackSinceMs = null;
    },
    leave() {
      inherited = [];
    },
    conditions() {
      const conditions = byTopic().map((one) => withRemedy(one, liveTopics));
      const ofTarget = trouble.condition();
      if (ofTarget === null) return conditions;
      return [ofTarget, ...conditions.filter(({ name }) => name !== ofTarget.name)];
    },
    settled() {
      if (!trouble.isOver()) return [];
      return [
        ...(could.kafka ? (['kafka-unavailable'] as const) : []),
        ...(could.all && untilKnown().length === 0 ? (['topic-denied'] as const) : []),
      ];
    },
    isOver: (name, { topic }) => name === 'topic-denied' && topic !== undefined && isWell(topic),
  };
}

/** As an alert tells it that another process left. */
function inheritedOf({ topic, sinceMs }: DeniedTopic): Condition {
  return {
    name: 'topic-denied',
    labels: { topic },
    sinceMs,
    detail: `Nothing could be written to topic ${topic} before another process took over, and nothing was written there since.`,
  };
}
