/**
 * Acceptance and taking. `put` journals a delivery and marks its tasks due; `take` hands out tasks of active
 * organizations under a fence. Both are called inside a transaction. A hint meets a task by its state: waiting in
 * back-off keeps its time, settling comes due, quarantined gets one attempt, taken stays due after its finish.
 */
import type { Accepted, Delivery, HintElement } from '../../model/notification';
import type { TakenTask } from '../../model/task';
import { countLines, elementsText } from '../delivery-row';
import { leftToNewerMax, leftToNewerMs } from '../store-rules';
import { takenTask } from '../task-row';
import type { Context } from './context';
import type { Row } from './database';
import type { Grant } from './lanes';
import { freeExpired } from './leases';
import { mayTake } from './pauses';
import { hintProbe } from './probes';
import { closeEntry, quarantineElement } from './quarantine';
import { afterGap } from './return-task';

export function put(context: Context, delivery: Delivery): Accepted {
  const { database } = context;
  if (delivery.messageId !== null) {
    const known = database.get(
      'SELECT id, body_hash FROM deliveries WHERE message_id = ?',
      delivery.messageId,
    );
    if (known !== undefined) {
      const idReused = known.body_hash !== delivery.bodyHash;
      return { deliveryId: `d${known.id}`, repeated: true, idReused, due: 0, probes: false };
    }
  }
  const counts = countLines(delivery);
  const id = database.insert(
    `INSERT INTO deliveries (received_at, message_id, body_hash, bytes, traceparent, notifications, acted, ignored,
       quarantined, elements) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    delivery.receivedAtMs,
    delivery.messageId,
    delivery.bodyHash,
    delivery.bytes,
    delivery.traceparent,
    delivery.elements.length,
    counts.acted,
    counts.ignored,
    counts.quarantined,
    elementsText(delivery),
  );
  let probes = false;
  for (const [index, element] of delivery.elements.entries()) {
    if (element.line === 'hint') hint(context, delivery, id, index, element);
    else if (element.line === 'quarantined') quarantineElement(context, id, index, element);
    else if (element.line === 'acted' && element.probeOrganizationId !== null) {
      hintProbe(context, element.probeOrganizationId, element.dueAt, 'notification');
      probes = true;
    }
  }
  return { deliveryId: `d${id}`, repeated: false, idReused: false, due: counts.hint, probes };
}

/** Marks the resource behind an address due: one generation more, one row in the journal of hints. */
export function hint(
  context: Context,
  delivery: Pick<Delivery, 'receivedAtMs' | 'traceparent'>,
  deliveryId: number,
  index: number,
  element: HintElement,
): void {
  const { database } = context;
  const nowMs = context.nowMs();
  const known = database.get(
    `SELECT t.id, t.state, t.generation, t.lane, t.organization_id, t.due_at, t.read_at FROM aliases a
     JOIN tasks o ON o.id = a.task_id JOIN tasks t ON t.id = coalesce(o.joined_to, o.id) WHERE a.address = ?`,
    element.address,
  );
  let taskId: number;
  let generation = 1;
  if (known === undefined) {
    const lane = element.organizationId ?? '';
    if (lane !== '') context.organizations.ensure(lane);
    taskId = database.insert(
      `INSERT INTO tasks (address, lane, hinted_organization_id, hinted_user, state, generation, due_at, first_hint_at,
         traceparent) VALUES (?, ?, ?, ?, 'due', 1, ?, ?, ?)`,
      element.address,
      lane,
      element.organizationId,
      element.user,
      nowMs,
      delivery.receivedAtMs,
      delivery.traceparent,
    );
    database.run('INSERT INTO aliases (address, task_id) VALUES (?, ?)', element.address, taskId);
    context.lanes.expect(lane, nowMs);
  } else {
    taskId = Number(known.id);
    generation = Number(known.generation) + 1;
    raise(context, known, generation, element, delivery, nowMs);
  }
  database.run(
    'INSERT INTO hints (task_id, generation, delivery_id, element) VALUES (?, ?, ?, ?)',
    taskId,
    generation,
    deliveryId,
    index,
  );
}

function raise(
  context: Context,
  known: Row,
  generation: number,
  element: HintElement,
  delivery: Pick<Delivery, 'receivedAtMs' | 'traceparent'>,
  nowMs: number,
): void {
  const wakes = known.state === 'done' || known.state === 'settling' || known.state === 'quarantined';
  const dueAt = wakes ? afterGap(context, known, nowMs) : (known.due_at as number | null);
  // While the owner is not known, the latest claim says whose turn it takes.
  const claimed = known.organization_id === null ? element.organizationId : null;
  const lane = claimed ?? String(known.lane);
  if (claimed !== null) context.organizations.ensure(claimed);
  if (known.state === 'quarantined') closeEntry(context, Number(known.id));
  context.database.run(
    `UPDATE tasks SET generation = ?, state = ?, due_at = ?, lane = ?, settling = 0, crowded = crowded OR state <> 'done',
       first_hint_at = coalesce(first_hint_at, ?), traceparent = ?, reconciled = 0,
       hinted_organization_id = coalesce(?, hinted_organization_id),
       hinted_user = coalesce(?, iif(? IS NOT NULL AND code = 'no-connection', NULL, hinted_user))
     WHERE id = ?`,
    generation,
    wakes ? 'due' : String(known.state),
    dueAt,
    lane,
    delivery.receivedAtMs,
    delivery.traceparent,
    element.organizationId,
    element.user,
    // Where nobody could read for the user before, one that names an organization and no user counts as the first.
    element.organizationId,
    known.id as number,
  );
  if (dueAt !== null && (wakes || lane !== known.lane)) context.lanes.expect(lane, dueAt);
}

export function take(context: Context, limit: number): TakenTask[] {
  const nowMs = context.nowMs();
  freeExpired(context, nowMs);
  const taken: TakenTask[] = [];
  // While the topics are read, what is decided could come under a number that is still to be found taken.
  if (!mayTake(context)) return taken;
  // A lane may hold less than it was granted: what is then left is granted again.
  let left = 0;
  while (taken.length < limit && left < leftToNewerMax) {
    const grants = context.lanes.grants(limit - taken.length, nowMs, (id) =>
      context.organizations.openAtMs(id),
    );
    if (grants.length === 0) break;
    for (const grant of grants) {
      const { tasks, newer } = takeFrom(context, grant, nowMs);
      taken.push(...tasks);
      left += newer;
    }
  }
  return taken;
}

/** What a take needs to know of a task. The bound is an expression: of a bare parameter each value is planned anew. */
const waitingTasks = `SELECT id, due_at, read_at, fence, generation, address, kind, resource_id, organization_id,
    hinted_organization_id, hinted_user, connection_id, shown_by, normalizer_version, settling, attempts, aged_ms, failed_at,
    code, absent_since, coalesce(covered_hint_at, first_hint_at) AS covered_hint_at, traceparent, reconciled,
    CASE reconciled WHEN 0 THEN (SELECT delivery_id FROM hints h WHERE h.task_id = tasks.id
      AND h.generation = tasks.generation) END AS delivery_id
  FROM tasks WHERE lane = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT ? + 0`;

/** `newer`: so many are left to a newer version. */
function takeFrom(
  context: Context,
  { lane, limit }: Grant,
  nowMs: number,
): { tasks: TakenTask[]; newer: number } {
  // One more than may be taken says when the next is due.
  const waiting = context.database.all(waitingTasks, lane.id, limit + 1);
  const due = waiting.slice(0, limit).filter(({ due_at }) => Number(due_at) <= nowMs);
  const newer = due.filter(
    ({ normalizer_version }) => Number(normalizer_version) > context.settings.normalizerVersion,
  );
  const early = due.filter((row) => !newer.includes(row) && isEarly(context, row, nowMs));
  const tasks = due.flatMap((row) =>
    newer.includes(row) || early.includes(row) ? [] : takeOne(context, row, lane.id, nowMs),
  );
  const next = waiting[due.length];
  context.lanes.served(lane, tasks.length, next === undefined ? null : Number(next.due_at));
  for (const row of early) leaveUntilGap(context, row, lane.id, nowMs);
  for (const row of newer) leaveToNewer(context, row, lane.id, nowMs);
  return { tasks, newer: newer.length };
}

/** What kept its place may have been read a moment ago. */
function isEarly(context: Context, row: Row, nowMs: number): boolean {
  if (row.read_at === null || Number(row.due_at) >= Number(row.read_at)) return false;
  // A time further ahead than the gap is one from before the clock was set back.
  return Number(row.read_at) - context.settings.readGapMs <= nowMs && afterGap(context, row, nowMs) > nowMs;
}

function leaveUntilGap(context: Context, row: Row, lane: string, nowMs: number): void {
  const dueAt = afterGap(context, row, nowMs);
  context.database.run('UPDATE tasks SET due_at = ? WHERE id = ?', dueAt, row.id as number);
  context.lanes.expect(lane, dueAt);
}

/** What a newer version has read waits for one of that version to open the store. */
function leaveToNewer(context: Context, row: Row, lane: string, nowMs: number): void {
  const dueAt = nowMs + leftToNewerMs;
  context.database.run(
    `UPDATE tasks SET due_at = ?, state = 'due', code = 'older-normalizer' WHERE id = ?`,
    dueAt,
    row.id as number,
  );
  context.lanes.expect(lane, dueAt);
}

function takeOne(context: Context, row: Row, lane: string, nowMs: number): TakenTask {
  const taskId = Number(row.id);
  const fence = context.nextFence(Number(row.fence));
  context.database.run(
    `UPDATE tasks SET state = 'taken', due_at = NULL, fence = ?, read_at = ?, covered_hint_at = ?, first_hint_at = NULL
     WHERE id = ?`,
    fence,
    nowMs,
    row.covered_hint_at as number | null,
    taskId,
  );
  const untilMs = nowMs + context.settings.leaseMs;
  const epoch = context.organizations.get(lane)?.epoch ?? 0;
  context.leases.set(taskId, { untilMs, fence, lane, epoch });
  context.undo(() => context.leases.delete(taskId));
  const revision = context.currentRevision();
  return takenTask(row, { fence, revision, dueAtMs: Number(row.due_at), epoch, takenAtMs: nowMs });
}
