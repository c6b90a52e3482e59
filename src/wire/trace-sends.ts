/**
 * A publish target whose sends are seen as spans: one for each topic of a send, linked to the attempts that decided its
 * records. What it reads on is looked at too: a topic that was made anew is told. It looks at records and changes none: the
 * `traceparent` of a record was decided with it.
 */
import type { Trouble } from '../observe/lines';
import type { Observer } from '../observe/observer';
import type { SentPlace } from '../observe/traces';
import type { Batch, Outcome, PublishTarget } from '../publish/target';

/** `clientId`: as which brokers know us; null where there are none. */
export function traceSends(
  target: PublishTarget,
  observer: Pick<Observer, 'startSend' | 'trouble'>,
  clientId: string | null,
): PublishTarget {
  return {
    name: target.name,
    open: () => target.open(),
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
    async readOn(known, heard) {
      const anew = new Set<string>();
      try {
        return await target.readOn(known, (page) => {
          if (page.anotherLog) anew.add(page.topic);
          return heard(page);
        });
      } finally {
        if (anew.size > 0) observer.trouble(anotherLog([...anew]));
      }
    },
    discard: () => target.discard(),
    close: () => target.close(),
  };
}

/** Nobody sees it but who reads on, and that once: from then on the store knows the new log. */
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
