/**
 * Brings waits near that reach from before the clock was set back, so many tasks a call: those in tables, and what is kept
 * of them in memory.
 */
import { clockName, heldMsMax, holdMsMax, isSetBack, nearerMax } from '../set-back';
import type { Context } from './context';
import { cutPaid, schedule } from './probes';

/** A wait that began at `began`, ahead of now, begins anew; ?1 is now. */
const anew = (until: string, began: string) => `?1 + max(${until} - ${began}, 0)`;

/** True when more tasks are to come nearer: the next call goes on. */
export function bringNearer(context: Context): boolean {
  const { database, seen, undo } = context;
  const nowMs = context.nowMs();
  const noted = database.get('SELECT value FROM meta WHERE name = ?', clockName);
  if (isSetBack(nowMs, noted === undefined ? null : Number(noted.value), seen)) {
    cutPaid(context);
    nearerProbes(context, nowMs);
    nearerHolds(context, nowMs);
    nearerLeases(context, nowMs);
    if (nearerTasks(context, nowMs) >= nearerMax) return true;
    const { furthestMs } = seen;
    undo(() => {
      seen.furthestMs = furthestMs;
    });
    seen.furthestMs = nowMs;
  }
  database.run(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    clockName,
    nowMs,
  );
  return false;
}

/** Also those whose lane waits for the answer. */
function nearerProbes(context: Context, nowMs: number): void {
  const { probeMsMax } = context.settings;
  for (const organization of context.organizations.all()) {
    const { id, probedAtMs, probeAtMs, probeLeaseUntilMs, heldUntilMs } = organization;
    const isAhead = probedAtMs > nowMs;
    const longestMs = isAhead && probeAtMs !== null ? Math.max(0, probeAtMs - probedAtMs) : probeMsMax;
    const latestMs = nowMs + Math.min(longestMs, probeMsMax);
    context.organizations.remember(organization);
    organization.heldUntilMs = Math.min(heldUntilMs, nowMs + heldMsMax);
    if (isAhead) {
      const leftMs = Math.max(0, probeLeaseUntilMs - probedAtMs);
      if (probeLeaseUntilMs > 0) organization.probeLeaseUntilMs = nowMs + leftMs;
      organization.probedAtMs = nowMs;
      context.database.run('UPDATE organizations SET probed_at = ? WHERE id = ?', nowMs, id);
    }
    if (probeAtMs !== null && probeAtMs > latestMs) schedule(context, organization, latestMs, null);
  }
}

/** Pauses, leases that have a name, and what processes told each other. */
function nearerHolds({ database, settings, conditions, undo }: Context, nowMs: number): void {
  database.run(
    `UPDATE meta SET value = ${anew('meta.value', 's.value')} FROM meta s
     WHERE meta.name = 'pause-until' AND s.name = 'pause-since' AND s.value > ?1`,
    nowMs,
  );
  database.run(`UPDATE meta SET value = ?1 WHERE name = 'pause-since' AND value > ?1`, nowMs);
  const latestMs = nowMs + holdMsMax(settings.leaseMs);
  database.run('UPDATE leases SET until = ?1 WHERE until > ?1', latestMs);
  for (const [name, told] of conditions) {
    undo(() => void conditions.set(name, told));
    conditions.set(name, { ...told, untilMs: Math.min(told.untilMs, latestMs) });
  }
}

/** What is read now gets its lease anew. */
function nearerLeases({ leases, settings, undo }: Context, nowMs: number): void {
  const latestMs = nowMs + settings.leaseMs;
  for (const [taskId, lease] of leases) {
    if (lease.untilMs <= latestMs) continue;
    undo(() => void leases.set(taskId, lease));
    leases.set(taskId, { ...lease, untilMs: latestMs });
  }
}

/** How many came nearer. */
function nearerTasks(context: Context, nowMs: number): number {
  const { database, settings, lanes } = context;
  let count = 0;
  for (const lane of lanes.waiting()) {
    const rows = database.all(
      `UPDATE tasks SET
         due_at = CASE state WHEN 'due' THEN ?1 + ?2 ELSE ${anew('due_at', 'read_at')} END,
         read_at = CASE WHEN read_at > ?1 THEN ?1 ELSE read_at END,
         absent_since = CASE WHEN absent_since > ?1 THEN ?1 ELSE absent_since END
       WHERE id IN (SELECT id FROM tasks WHERE lane = ?3 AND due_at > ?1 + ?2 AND (state = 'due' OR read_at > ?1) LIMIT ?4)
       RETURNING due_at`,
      nowMs,
      settings.readGapMs,
      lane,
      nearerMax - count,
    );
    for (const { due_at } of rows) lanes.expect(lane, Number(due_at));
    count += rows.length;
    if (count >= nearerMax) break;
  }
  return count;
}
