/**
 * What the relay sends next. Unsent rows are picked, never "what comes after the last": a row that committed late is sent
 * late, but it is sent. What is looked at grows with what is picked, however much waits on a topic that is left alone.
 */
import type { OutboxRow } from '../../model/event';
import type { HeldPartition, LeaseHeld } from '../../model/store';
import { divideHeld } from '../held-topics';
import { type DamagedRow, damagedDetail, readableRows } from '../readable-rows';
import type { Context, InTransaction } from './context';
import { leaderOf, leading, rowColumns, setAside } from './outbox';
import { readTask } from './read-task';
import type { Row, Value } from './server/database';
import { saysDamaged } from './server/faults';

type Pick = [limit: number, bytesMax: number, except: HeldPartition[], lease?: LeaseHeld, inHand?: number[]];

/** A row that cannot be read back is set aside, and costs the others nothing. Throws as transactions do. */
export async function pickUnsent(inTransaction: InTransaction, ...pick: Pick): Promise<OutboxRow[]> {
  const ask = () =>
    inTransaction(async (context) => {
      const found = await unsentRows(context, pick);
      const { rows, damaged } = readableRows(found);
      await setDamagedAside(context, damaged);
      return rows;
    });
  try {
    return await ask();
  } catch (error) {
    if (!saysDamaged(error)) throw error;
    await inTransaction(async (context) => setDamagedAside(context, await findDamaged(context, pick)));
    return ask();
  }
}

async function unsentRows(context: Context, pick: Pick): Promise<Row[]> {
  const { picked, values } = pickedBy(context, pick);
  return context.database.all(
    `WITH ${picked} SELECT ${rowColumns} FROM picked p
     CROSS JOIN LATERAL (SELECT * FROM outbox WHERE id = p.id OFFSET 0) o ORDER BY p.id`,
    ...values,
  );
}

const mayGo = `state = 0 AND ($3::text IS NULL OR ${leading(3)}) AND NOT EXISTS (
  SELECT 1 FROM unnest($9::text[], $10::int[], $11::int[]) AS h (topic, partition, partitions)
  WHERE h.topic = o.topic AND o.slot % h.partitions = h.partition)
  AND id NOT IN (SELECT unnest($12::bigint[]))`;

const ofAllTopics = `first AS (SELECT id, bytes FROM outbox o WHERE ${mayGo} ORDER BY id LIMIT $1)`;

/**
 * Topic by topic, each from its own end of the index. "Between" where "equal" would do: the order then is that of this index
 * alone, whatever the server believes of how many rows a topic has.
 */
const ofOtherTopics = `RECURSIVE topics (topic) AS (
    (SELECT topic FROM outbox WHERE state = 0 ORDER BY topic, id LIMIT 1)
    UNION ALL
    SELECT (SELECT o.topic FROM outbox o WHERE o.state = 0 AND o.topic > t.topic ORDER BY o.topic, o.id LIMIT 1)
    FROM topics t WHERE t.topic IS NOT NULL),
  first AS (
    SELECT f.id, f.bytes FROM topics t CROSS JOIN LATERAL (
      SELECT id, bytes FROM outbox o WHERE o.topic BETWEEN t.topic AND t.topic AND ${mayGo}
      ORDER BY o.topic, o.id LIMIT $1) f
    WHERE t.topic <> ALL($13::text[]) ORDER BY f.id LIMIT $1)`;

/** The table `picked` of ids, and what its statement is given. */
function pickedBy(
  { nowMs }: Context,
  [limit, bytesMax, except, lease, inHand = []]: Pick,
): { picked: string; values: Value[] } {
  const { topics, partitions } = divideHeld(except);
  const values = [
    ...[limit, bytesMax, ...leaderOf(lease, nowMs())],
    partitions.map(({ topic }) => topic),
    partitions.map(({ partition }) => partition),
    partitions.map((held) => held.partitions),
    inHand,
  ];
  if (topics.length > 0) values.push(topics);
  return {
    picked: `${topics.length === 0 ? ofAllTopics : ofOtherTopics},
      summed AS (SELECT id, bytes, sum(bytes) OVER (ORDER BY id) AS until FROM first),
      picked AS (SELECT id FROM summed WHERE until <= $2 OR until = bytes)`,
    values,
  };
}

/** Of the rows that would be picked, those whose value the server cannot put together. */
async function findDamaged(context: Context, pick: Pick): Promise<DamagedRow[]> {
  const { database } = context;
  const damaged: DamagedRow[] = [];
  const { picked, values } = pickedBy(context, pick);
  const rows = await database.all(`WITH ${picked} SELECT id FROM picked ORDER BY id`, ...values);
  for (const { id } of rows) {
    await database.run('SAVEPOINT look');
    try {
      await database.get('SELECT length(value) + length(headers) FROM outbox WHERE id = $1', id);
    } catch (error) {
      if (!saysDamaged(error)) throw error;
      await database.run('ROLLBACK TO SAVEPOINT look');
      damaged.push({ row: id, detail: damagedDetail((error as Error).message) });
    }
    await database.run('RELEASE SAVEPOINT look');
  }
  return damaged;
}

/** Their resources are as if they had not been published: once they are read again, they are published anew. */
async function setDamagedAside(context: Context, damaged: DamagedRow[]): Promise<void> {
  if (damaged.length === 0) return;
  await context.database.run(
    `UPDATE tasks SET content_hash = '', wire_hash = '' WHERE published AND id IN (
       SELECT id FROM tasks WHERE id = ANY(ARRAY(SELECT ${readTask} FROM outbox o WHERE o.id = ANY($1::bigint[])))
       ORDER BY id FOR NO KEY UPDATE)`,
    damaged.map(({ row }) => row),
  );
  for (const { row, detail } of damaged) await setAside(context, row, 'record-refused', detail);
}
