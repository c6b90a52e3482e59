/**
 * The log of published events, read in pages by their public position.
 */
import type { PublishedEvent } from '../../model/event';
import type { Inspection } from '../../model/inspection';
import { publishedEvent } from '../readable-rows';
import { eventsBytesMax } from '../store-rules';
import type { Context, InTransaction } from './context';
import { storable } from './quarantine-entries';
import { saysDamaged } from './server/faults';

type Filter = Parameters<Inspection['listEvents']>[0];

/**
 * A row that cannot be read back keeps its place, and costs the others nothing. Throws as transactions do. A page is
 * bounded in rows and bytes.
 */
export async function listEvents(
  inTransaction: InTransaction,
  filter: Filter,
): ReturnType<Inspection['listEvents']> {
  const page = (readRows: ReadRows) =>
    inTransaction(async (context) => {
      const ends = await context.database.get(
        `SELECT (SELECT value FROM meta WHERE name = 'floor') AS floor,
           (SELECT value FROM meta WHERE name = 'position') AS last`,
      );
      const events = await readRows(context, await idsOf(context, filter));
      return { events, floor: Number(ends!.floor), last: Number(ends!.last) };
    });
  try {
    return await page(readTogether);
  } catch (error) {
    if (!saysDamaged(error)) throw error;
    return page(readEach);
  }
}

/** As many as the page may hold, at least one; values are not looked at. */
async function idsOf({ database }: Context, filter: Filter): Promise<number[]> {
  const rows = await database.all(
    `WITH page AS (
       SELECT id, position, bytes FROM outbox
       WHERE position > $1 AND ($2::text IS NULL OR split_part(key, '/', 1) = $2) AND ($3 = '' OR strpos(headers, $3) > 0)
       ORDER BY position LIMIT $4),
     summed AS (SELECT id, position, bytes, sum(bytes) OVER (ORDER BY position) AS until FROM page)
     SELECT id FROM summed WHERE until <= $5 OR until = bytes ORDER BY position`,
    filter.after,
    storable(filter.organizationId),
    filter.type === null ? '' : JSON.stringify(['ce_type', filter.type]),
    filter.limit,
    eventsBytesMax,
  );
  return rows.map(({ id }) => id);
}

type ReadRows = (context: Context, ids: number[]) => Promise<PublishedEvent[]>;

const places = 'position, event_id, topic, key, partition, log_offset';

const readTogether: ReadRows = async ({ database }, ids) => {
  const rows = await database.all(
    `SELECT ${places}, headers, value FROM outbox WHERE id = ANY($1::bigint[]) ORDER BY position`,
    ids,
  );
  return rows.map((row) => publishedEvent(row));
};

/** One by one, so that the server can say which row it cannot put together. */
const readEach: ReadRows = async ({ database }, ids) => {
  const events: PublishedEvent[] = [];
  for (const id of ids) {
    await database.run('SAVEPOINT look');
    try {
      const row = await database.get(`SELECT ${places}, headers, value FROM outbox WHERE id = $1`, id);
      if (row !== undefined) events.push(publishedEvent(row));
    } catch (error) {
      if (!saysDamaged(error)) throw error;
      await database.run('ROLLBACK TO SAVEPOINT look');
      const row = await database.get(
        `SELECT ${places}, NULL AS headers, NULL AS value FROM outbox WHERE id = $1`,
        id,
      );
      if (row !== undefined) events.push(publishedEvent(row, (error as Error).message));
    }
    await database.run('RELEASE SAVEPOINT look');
  }
  return events;
};
