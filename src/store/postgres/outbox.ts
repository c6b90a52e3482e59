/**
 * Decided events on their way out. Unsent rows are picked, never "what comes after the last": a row that committed late
 * is sent late, but it is sent. The public position is given here, when a row is published; whoever gives one holds the
 * counter until the commit, so that positions become visible in their order.
 */
import type { Acknowledgement, OutboxRow } from '../../model/event';
import type { QuarantineReason } from '../../model/notification';
import type { HeldPartition, LeaseHeld } from '../../model/store';
import type { Context } from './context';
import { insertEntries } from './quarantine-entries';

export async function pickUnsent(
  context: Context,
  limit: number,
  bytesMax: number,
  except: HeldPartition[],
  lease?: LeaseHeld,
): Promise<OutboxRow[]> {
  const rows = await context.database.all(
    `WITH first AS (
       SELECT id, bytes FROM outbox o WHERE state = 0 AND NOT EXISTS (
         SELECT 1 FROM unnest($3::text[], $4::int[], $5::int[]) AS h (topic, partition, partitions)
         WHERE h.topic = o.topic AND o.slot % h.partitions = h.partition)
         AND ($6::text IS NULL OR ${isHeld('$6', '$7', '$8')})
       ORDER BY id LIMIT $1),
     summed AS (SELECT id, sum(bytes) OVER (ORDER BY id) AS until, bytes FROM first)
     SELECT o.id, o.topic, o.key, o.sequence, o.event_id, o.headers, o.value, o.accepted_at
     FROM summed s JOIN outbox o ON o.id = s.id WHERE s.until <= $2 OR s.until = s.bytes ORDER BY o.id`,
    limit,
    bytesMax,
    except.map(({ topic }) => topic),
    except.map(({ partition }) => partition),
    except.map(({ partitions }) => partitions),
    lease?.name ?? null,
    lease?.holder ?? null,
    context.nowMs(),
  );
  return rows.map((row) => ({
    row: row.id,
    topic: row.topic,
    key: row.key,
    sequence: row.sequence,
    eventId: row.event_id,
    headers: JSON.parse(row.headers) as [string, string][],
    value: row.value,
    acceptedAtMs: row.accepted_at,
  }));
}

/** Said in the statement itself: a relay that was stopped for longer than its lease neither picks nor marks. */
function isHeld(name: string, holder: string, nowMs: string): string {
  return `EXISTS (SELECT 1 FROM leases l WHERE l.name = ${name} AND l.holder = ${holder} AND l.until > ${nowMs}::bigint)`;
}

export async function markSent(
  context: Context,
  acknowledgements: Acknowledgement[],
  lease?: LeaseHeld,
): Promise<void> {
  const { database } = context;
  const unsent = await database.all(
    `SELECT id, position FROM outbox WHERE id = ANY($1::bigint[]) AND state = 0
       AND ($2::text IS NULL OR ${isHeld('$2', '$3', '$4')}) ORDER BY id FOR NO KEY UPDATE`,
    acknowledgements.map(({ row }) => row),
    lease?.name ?? null,
    lease?.holder ?? null,
    context.nowMs(),
  );
  const positions = new Map<number, number | null>(unsent.map(({ id, position }) => [id, position]));
  const marked = new Map(
    acknowledgements
      .filter(({ row }) => positions.has(row))
      .map((acknowledged) => [acknowledged.row, acknowledged]),
  );
  if (marked.size === 0) return;
  let position = await lastPosition(context, unsent.filter((row) => row.position === null).length);
  const given = [...marked.values()].map(({ row }) => positions.get(row) ?? ++position);
  await database.run(
    `UPDATE outbox o SET state = CASE WHEN n.partition IS NULL THEN 1 ELSE 2 END, position = n.position,
       partition = n.partition, log_offset = n.log_offset, sent_at = $5
     FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::text[]) AS n (id, position, partition, log_offset)
     WHERE o.id = n.id`,
    [...marked.keys()],
    given,
    [...marked.values()].map(({ partition }) => partition),
    [...marked.values()].map(({ offset }) => offset),
    context.nowMs(),
  );
}

/** Reserves so many positions; the last one before them. */
async function lastPosition(context: Context, count: number): Promise<number> {
  const row = await context.database.get(
    `UPDATE meta SET value = value + $1 WHERE name = 'position' RETURNING value - $1 AS last`,
    count,
  );
  return Number(row!.last);
}

export async function quarantineRecord(
  context: Context,
  row: number,
  reason: QuarantineReason,
  detail: string,
): Promise<void> {
  const record = await context.database.get(
    'UPDATE outbox SET state = 3 WHERE id = $1 AND state = 0 RETURNING key',
    row,
  );
  if (record === undefined) return;
  const organizationId = String(record.key).split('/')[0]!;
  await insertEntries(context, [{ what: 'record', reason, path: '', detail, organizationId, outboxId: row }]);
}

export async function resendLogged({ database }: Context): Promise<number> {
  return database.run('UPDATE outbox SET state = 0 WHERE state = 1');
}

export async function unsentCount({ database }: Context): Promise<number> {
  return (await database.get('SELECT count(*) AS unsent FROM outbox WHERE state = 0'))!.unsent;
}
