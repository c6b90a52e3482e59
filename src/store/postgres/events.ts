/**
 * The log of published events, read in pages by their public position.
 */
import type { PublishedEvent } from '../../model/event';
import type { Inspection } from '../../model/store';
import type { Context } from './context';
import type { Row } from './database';
import { storable } from './quarantine-entries';

export async function listEvents(
  { database }: Context,
  filter: Parameters<Inspection['listEvents']>[0],
): ReturnType<Inspection['listEvents']> {
  const floor = await database.get(`SELECT value FROM meta WHERE name = 'floor'`);
  const rows = await database.all(
    `SELECT position, event_id, topic, key, headers, value, partition, log_offset FROM outbox
     WHERE position > $1 AND starts_with(key, $2) AND ($3 = '' OR strpos(headers, $3) > 0) ORDER BY position LIMIT $4`,
    filter.after,
    filter.organizationId === null ? '' : storable(`${filter.organizationId}/`),
    filter.type === null ? '' : JSON.stringify(['ce_type', filter.type]),
    filter.limit,
  );
  return { events: rows.map(publishedOf), floor: floor!.value };
}

function publishedOf(row: Row): PublishedEvent {
  return {
    position: row.position,
    record: {
      eventId: row.event_id,
      topic: row.topic,
      key: row.key,
      headers: JSON.parse(row.headers) as [string, string][],
      value: row.value,
    },
    topic: row.topic,
    partition: row.partition,
    offset: row.log_offset,
  };
}
