/**
 * Brings waits near that reach from before the clock was set back, so many tasks a call. Everything here is of the server's
 * clock: what retention noted is seen by whichever process sweeps, also one that was started since; what was between two of
 * its looks by each that had a transaction then.
 */
import { clockName, heldMsMax, holdMsMax, isSetBack, nearerMax } from '../set-back';
import type { Context } from './context';
import { cutPaid } from './probes';

/** A wait that began at `began`, ahead of now, begins anew; $1 is now. */
const anew = (until: string, began: string) => `$1::bigint + greatest(${until} - ${began}, 0)`;

export interface Nearer {
  /** More tasks are to come nearer: the next call goes on. */
  more: boolean;
  /** To be called once it is committed: what was seen before is looked at no more. */
  done(): void;
}

export async function bringNearer(context: Context): Promise<Nearer> {
  const { database, seen } = context;
  const nowMs = context.nowMs();
  // Other transactions begin while this one waits for its answers.
  const { furthestMs } = seen;
  const noted = await database.get('SELECT value FROM meta WHERE name = $1', clockName);
  if (isSetBack(nowMs, noted?.value ?? null, { furthestMs })) {
    // Whoever takes probes locks the budget before the organizations.
    await cutPaid(context);
    await nearerProbes(context, nowMs);
    await nearerHolds(context, nowMs);
    if ((await nearerTasks(context, nowMs)) === nearerMax) return { more: true, done() {} };
  }
  await database.run(
    `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    clockName,
    nowMs,
  );
  return {
    more: false,
    done() {
      if (seen.furthestMs === furthestMs) seen.furthestMs = nowMs;
    },
  };
}

/** Organizations are locked first, and in their order. */
async function nearerProbes({ database, settings }: Context, nowMs: number): Promise<void> {
  await database.run(
    `UPDATE organizations SET
       probe_at = least(probe_at, CASE WHEN probed_at > $1 THEN ${anew('probe_at', 'probed_at')} END, $1 + $2),
       probe_lease_until = CASE WHEN probed_at > $1 AND probe_lease_until > 0
         THEN ${anew('probe_lease_until', 'probed_at')} ELSE probe_lease_until END,
       probed_at = least(probed_at, $1)
     WHERE id = ANY(ARRAY(
       SELECT id FROM organizations WHERE probed_at > $1 OR probe_at > $1 + $2 ORDER BY id FOR NO KEY UPDATE))`,
    nowMs,
    settings.probeMsMax,
  );
}

/** Pauses, leases that have a name, what processes told each other, and lanes that wait for a probe's answer. */
async function nearerHolds({ database, settings }: Context, nowMs: number): Promise<void> {
  await database.run(
    `UPDATE meta u SET value = ${anew('u.value', 's.value')} FROM meta s
     WHERE u.name = 'pause-until' AND s.name = 'pause-since' AND s.value > $1`,
    nowMs,
  );
  await database.run(`UPDATE meta SET value = $1 WHERE name = 'pause-since' AND value > $1`, nowMs);
  const latestMs = nowMs + holdMsMax(settings.leaseMs);
  await database.run('UPDATE leases SET until = $1 WHERE until > $1', latestMs);
  await database.run('UPDATE conditions SET until = $1 WHERE until > $1', latestMs);
  await database.run('UPDATE lanes SET open_at = $1 WHERE open_at > $1', nowMs + heldMsMax);
}

/** How many came nearer. What is read now keeps the length of its lease. */
async function nearerTasks(context: Context, nowMs: number): Promise<number> {
  const rows = await context.database.all(
    `WITH ahead AS MATERIALIZED (
       SELECT t.id FROM lanes l CROSS JOIN LATERAL (
         SELECT id FROM tasks WHERE lane = l.id AND due_at > $1::bigint + $2::bigint AND (state = 'due' OR read_at > $1)
         LIMIT $3) t LIMIT $3),
     taken AS MATERIALIZED (SELECT id FROM tasks WHERE lease_until > $1 AND read_at > $1),
     locked AS (
       SELECT id FROM tasks WHERE id = ANY(ARRAY(SELECT id FROM ahead UNION ALL SELECT id FROM taken))
       ORDER BY id FOR NO KEY UPDATE)
     UPDATE tasks t SET
       due_at = CASE WHEN state = 'due' THEN $1::bigint + $2::bigint WHEN due_at IS NOT NULL THEN ${anew('due_at', 'read_at')} END,
       lease_until = CASE WHEN lease_until IS NOT NULL THEN ${anew('lease_until', 'read_at')} END,
       read_at = CASE WHEN read_at > $1 THEN $1 ELSE read_at END,
       absent_since = CASE WHEN absent_since > $1 THEN $1 ELSE absent_since END
     FROM locked WHERE t.id = locked.id AND t.id = ANY(ARRAY(SELECT id FROM locked)) RETURNING t.lane, t.due_at`,
    nowMs,
    context.settings.readGapMs,
    nearerMax,
  );
  const waiting = rows.filter(({ due_at }) => due_at !== null);
  for (const { lane, due_at } of waiting) context.lanes.expect(lane, due_at);
  return waiting.length;
}
