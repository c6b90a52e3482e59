/**
 * On which topic an event goes out that no Kafka has had: that of its kind under the prefix of today, whatever the prefix was
 * when it was decided. Where the log was kept without Kafka, nobody may have chosen one yet. And whose topics are of a kind.
 * SQL of both stores.
 */
import { topicOf } from '../model/event';
import type { EventKind } from '../model/resource';

const kinds = ['equipment', 'field-operation', 'organization-access'] as const;
const endings = kinds.map((kind) => topicOf('', kind));

/** Of a topic of events, under whatever prefix; null of any other. */
export function kindOfTopic(topic: string): EventKind | null {
  return kinds.find((kind) => topic.endsWith(topicOf('', kind))) ?? null;
}

/** What LIKE is given for the topics of a kind, under whatever prefix they were when its events were decided. */
export function topicsOfKind(kind: EventKind): string {
  return `%${topicOf('', kind)}`;
}

/** `prefix`: where the statement has that of today. Of a row of the outbox. */
export function liveTopic(prefix: string): string {
  const cases = endings.map((ending) => `WHEN topic LIKE '%${ending}' THEN ${prefix} || '${ending}'`);
  return `CASE ${cases.join(' ')} ELSE topic END`;
}

/**
 * Of an unsent row: no Kafka can have it, since its topic was never known in one, and today's is another. It was decided for
 * the log by a process that did not live to mark it, or under a prefix whose topics were not there.
 */
export function isStranded(prefix: string): string {
  return `log_offset IS NULL AND topic <> ${liveTopic(prefix)}
    AND NOT EXISTS (SELECT 1 FROM topic_ends e WHERE e.topic = outbox.topic)`;
}
