/**
 * What Kafka did to what is sent: for how long quotas held it back, and which topics lost some of it. Both are there
 * from the beginning with 0. Counted and read here, decided elsewhere.
 */
import type { Meter } from '@opentelemetry/api';
import { makeTally, makeTotal } from './tally';

export interface KafkaCounters {
  throttled(forMs: number): void;
  topicLostRecords(topic: string): void;
}

/** `topics`: those that are shown before they lost anything; one of a former prefix is shown once it did. */
export function makeKafkaCounters(meter: Meter, topics: readonly string[]): KafkaCounters {
  const throttled = makeTotal(meter, 'tramline.kafka_throttled', {
    description: 'Time for which a quota of the brokers held requests back, counted while that lasts.',
    unit: 's',
  });
  const losses = makeTally(
    meter,
    'tramline.topic_losses',
    'Times that a topic was found made anew or cut: it lacks what was acknowledged there.',
    'topic',
    topics,
  );
  return {
    throttled: (forMs) => throttled.add(forMs / 1000),
    topicLostRecords: (topic) => losses.add(1, topic),
  };
}
