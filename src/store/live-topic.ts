/**
 * On which topic an event goes out that no Kafka has had: that of its kind under the prefix of today, whatever the prefix was
 * when it was decided. Where the log was kept without Kafka, nobody may have chosen one yet. SQL of both stores.
 */
import { topicOf } from '../model/event';

const endings = (['equipment', 'field-operation', 'organization-access'] as const).map((kind) =>
  topicOf('', kind),
);

/** `prefix`: where the statement has that of today. Of a row of the outbox. */
export function liveTopic(prefix: string): string {
  const cases = endings.map((ending) => `WHEN topic LIKE '%${ending}' THEN ${prefix} || '${ending}'`);
  return `CASE ${cases.join(' ')} ELSE topic END`;
}

/**
 * Of unsent rows beyond `after`, up to so many beyond `last`: no Kafka can have them, since their topics were never known in
 * one, and today's are others. Of these, what processes decided for the log and did not live to mark stands nearest to it.
 */
export function stranded(after: string, last: string, limit: string, prefix: string): string {
  return `id > ${after} AND id <= coalesce((SELECT max(id) FROM (
      SELECT id FROM outbox WHERE state = 0 AND id > ${last} ORDER BY id LIMIT ${limit}) b), ${last})
    AND state = 0 AND log_offset IS NULL AND topic <> ${liveTopic(prefix)}
    AND NOT EXISTS (SELECT 1 FROM topic_ends e WHERE e.topic = outbox.topic)`;
}
