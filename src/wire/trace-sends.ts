/**
 * A publish target whose sends are seen as spans: one for each topic of a send, linked to the attempts that decided its
 * records. Where they stand and what it reads on is looked at too: a topic that was made anew is told and counted. It looks at records
 * and changes none: the `traceparent` of a record was decided with it.
 */
import type { TopicEnd, TopicPlace } from '../model/topic-end';
import type { Trouble } from '../observe/lines';
import type { Observer } from '../observe/observer';
import type { SentPlace } from '../observe/traces';
import { placeName } from '../publish/place-name';
import type { Batch, Outcome, PublishTarget } from '../publish/target';

/** `clientId`: as which brokers know us; null where there are none. */
export function traceSends(
  target: PublishTarget,
  observer: Pick<Observer, 'startSend' | 'trouble' | 'topicLostRecords'>,
  clientId: string | null,
): PublishTarget {
  const places = makePlaces();
  const tell = (topics: Set<string>) => {
    if (topics.size > 0) observer.trouble(anotherLog([...topics]));
    for (const topic of topics) observer.topicLostRecords(topic);
  };
  return {
    name: target.name,
    open: () => target.open(),
    onHeldBack: (heard) => target.onHeldBack?.(heard),
    forgottenAfterMs: () => target.forgottenAfterMs?.() ?? null,
    partitionsOf: (topic) => target.partitionsOf(topic),
    async send(batches) {
      const spans = [...Map.groupBy(batches, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
        topic,
        span: observer.startSend({ topic, system: target.name, clientId }, ofTopic),
      }));
      let outcomes: Outcome[] | null = null;
      try {
        const result = await target.send(batches);
        outcomes = result.outcomes;
        tell(places.fallen(batches, outcomes));
        return result;
      } finally {
        for (const { topic, span } of spans) {
          span.end({
            errorType: firstErrorOf(topic, batches, outcomes),
            places: () => placesOf(topic, target, batches, outcomes),
          });
        }
      }
    },
    async readOn(known, heard, isWanted) {
      const anew = new Set<string>();
      for (const end of known) places.reach(end);
      try {
        const reach: typeof heard = (page) => {
          if (page.anotherLog) {
            anew.add(page.topic);
            places.forget(page);
          } else places.reach(page);
          return heard(page);
        };
        return await target.readOn(known, reach, isWanted);
      } finally {
        tell(anew);
      }
    },
    discard: () => target.discard(),
    close: () => target.close(),
  };
}

/**
 * How far each partition is known to go, by what the store was told, what was read on from there and what was acknowledged
 * to this process: one that takes a record before that is another log, or was cut. Whoever leads on reads nothing, and the store
 * keeps only the last place.
 */
function makePlaces() {
  const reached = new Map<string, bigint>();
  return {
    reach: (end: TopicEnd) => void reached.set(placeName(end), BigInt(end.nextOffset)),
    forget: (partition: TopicPlace) => void reached.delete(placeName(partition)),
    /** Topics of which a partition fell behind. */
    fallen(batches: Batch[], outcomes: Outcome[]): Set<string> {
      const topics = new Set<string>();
      for (const [index, batch] of batches.entries()) {
        const outcome = outcomes[index];
        if (outcome?.sent !== true || outcome.firstOffset === null) continue;
        const first = BigInt(outcome.firstOffset);
        if (first < (reached.get(placeName(batch)) ?? first)) topics.add(batch.topic);
        reached.set(placeName(batch), first + BigInt(batch.rows.length));
      }
      return topics;
    },
  };
}

/** Nobody sees it but who reads on or leads on, and that once: from then on the new log is known. */
function anotherLog(topics: string[]): Trouble {
  const detail =
    `${topics.join(', ')}: made anew, or cut; what did not change since is missing there. ` +
    '`tramline replay --kind K` sends the newest event of each key again.';
  return { place: 'kafka', code: 'publish.another-log', detail };
}

function placesOf(
  topic: string,
  target: PublishTarget,
  batches: Batch[],
  outcomes: Outcome[] | null,
): SentPlace[] {
  return batches.flatMap((batch, index) => {
    const outcome = outcomes?.[index];
    const firstOffset = outcome?.sent === true ? outcome.firstOffset : null;
    if (batch.topic !== topic) return [];
    return [{ firstOffset, errorType: errorOf(outcome), server: target.leaderOf?.(batch) ?? null }];
  });
}

/** The first failure among the topic's batches. */
function firstErrorOf(topic: string, batches: Batch[], outcomes: Outcome[] | null): string | null {
  for (const [index, batch] of batches.entries()) {
    const errorType = batch.topic === topic ? errorOf(outcomes?.[index]) : null;
    if (errorType !== null) return errorType;
  }
  return null;
}

/** `unnamed` where the far side did not say what became of it. */
function errorOf(outcome: Outcome | undefined): string | null {
  if (outcome === undefined) return 'unnamed';
  return outcome.sent ? null : outcome.code;
}
