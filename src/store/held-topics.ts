/**
 * Of what the relay leaves alone, the topics of which nothing is left to pick. They are passed over whole, since a topic that
 * is denied for a night holds a million unsent rows, and a pick must not look at each of them. Pure.
 */
import type { HeldPartition } from '../model/store';

export interface Held {
  topics: string[];
  /** Of other topics. */
  partitions: HeldPartition[];
}

export function divideHeld(held: HeldPartition[]): Held {
  const byCount = Map.groupBy(held, ({ topic, partitions }) => `${partitions} ${topic}`);
  const whole = [...byCount.values()].filter(
    (of) => new Set(of.map(({ partition }) => partition)).size === of[0]!.partitions,
  );
  const topics = new Set(whole.map(([first]) => first!.topic));
  return { topics: [...topics], partitions: held.filter(({ topic }) => !topics.has(topic)) };
}
