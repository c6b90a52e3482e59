/**
 * Entries of what waits for an operator, made and closed in sets. Showing them, and what an operator orders, is done
 * elsewhere.
 */
import type { QuarantineEntry } from '../quarantine-entry';
import type { Context } from './context';

/**
 * Of entries that are named, or looked up by what they are of. "Between" where "equal" would do: no index is of that, and all
 * that waits would be looked at.
 */
export const isWaiting = "state BETWEEN 'waiting' AND 'waiting'";

/** Where nobody is authenticated anybody can send bodies that cannot be read. */
const samplesMax = 1000;

/** How many were entered: a sample that is kept already is not entered twice. */
export async function insertEntries(context: Context, entries: QuarantineEntry[]): Promise<number> {
  if (entries.length === 0) return 0;
  const column = <Name extends keyof QuarantineEntry>(name: Name) =>
    entries.map((entry) => entry[name] ?? null);
  const entered = await context.database.all(
    `INSERT INTO quarantine (what, reason, path, detail, organization_id, address, delivery_id, element, task_id,
       outbox_id, sample_hash, raw, at)
     SELECT what, reason, path, detail, organization_id, address, delivery_id, element, task_id, outbox_id, sample_hash,
       raw, $13
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::int[],
       $9::bigint[], $10::bigint[], $11::text[], $12::text[]) WITH ORDINALITY
       AS e (what, reason, path, detail, organization_id, address, delivery_id, element, task_id, outbox_id,
         sample_hash, raw, nth)
     ORDER BY nth
     ON CONFLICT (sample_hash) WHERE sample_hash IS NOT NULL DO NOTHING RETURNING reason`,
    column('what'),
    column('reason'),
    column('path').map(storable),
    column('detail').map(storable),
    column('organizationId'),
    column('address'),
    column('deliveryId'),
    column('element'),
    column('taskId'),
    column('outboxId'),
    column('sampleHash').map(storable),
    column('raw').map(storable),
    context.nowMs(),
  );
  for (const { reason } of entered) context.setAside.push(reason);
  return entered.length;
}

/** At most 1,000 samples are kept. */
export async function keepSample(
  context: Context,
  sample: { bodyHash: string; detail: string; raw: string },
): Promise<boolean> {
  const reason = 'malformed-body';
  const row = await context.database.get(
    `SELECT count(*) AS kept FROM quarantine WHERE state = 'waiting' AND reason = $1`,
    reason,
  );
  if (row!.kept >= samplesMax) return false;
  const { bodyHash, detail, raw } = sample;
  const entry = { what: 'delivery', reason, path: '', detail, sampleHash: bodyHash, raw } as const;
  return (await insertEntries(context, [entry])) > 0;
}

/** PostgreSQL keeps no NUL in a text: what an operator is shown has U+FFFD in its place. */
export function storable(text: string | null): string | null {
  return text === null ? null : text.replaceAll('\0', '\uFFFD');
}

/** Of records that stand on their topics. Their tasks and keys are locked before. */
export async function closeRecords({ database }: Context, rows: number[]): Promise<void> {
  await database.run(
    `UPDATE quarantine SET state = 'released' WHERE id = ANY(ARRAY(
       SELECT id FROM quarantine WHERE outbox_id = ANY($1::bigint[]) AND ${isWaiting} ORDER BY id FOR NO KEY UPDATE))`,
    rows,
  );
}

/** Tasks that are tried again wait for nobody: they are entered anew when they are set aside again. Leaves with the commit. */
export function closeEntries(context: Context, taskIds: number[]): void {
  if (taskIds.length === 0) return;
  context.database.last(
    `UPDATE quarantine SET state = 'released' WHERE task_id = ANY($1::bigint[]) AND ${isWaiting}`,
    taskIds,
  );
}
