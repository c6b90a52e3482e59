/**
 * The other ways a taken task ends: put off, given back because its organization is blocked, found absent, gone, set
 * aside. Each is refused silently under an old fence: whoever holds the new one decides.
 */
import type {
  FinishedGone,
  FinishResult,
  FoundAbsent,
  GivenBack,
  Postponed,
  QuarantinedTask,
} from '../../model/task';
import { givenBack, hintedSince, settles } from '../at-rest';
import { goneAtOnceMin, goneLately, isTooMany } from '../gone-lately';
import { deletionOf } from '../task-row';
import type { Context } from './context';
import type { Row } from './database';
import { joinNamed } from './join';
import type { CachedOrganization } from './organization-cache';
import { hintProbe, holdForProbe, mayBeBlocked } from './probes';
import { afterGap, endTake, noteRead, refuse, rest, stayDue, timesOf } from './return-task';
import { adopt } from './unclaimed';
import { writeEvent } from './write-event';

export function postpone(context: Context, ending: Postponed): void {
  const task = endTake(context, ending);
  if (task === null) return;
  const nowMs = context.nowMs();
  const dueAt = afterGap(context, task, nowMs + ending.dueInMs);
  context.database.run(
    `UPDATE tasks SET state = 'postponed', due_at = ?, attempts = attempts + 1, aged_ms = aged_ms + ?, failed_at = ?,
       own = ?, code = ?, detail = ? WHERE id = ?`,
    dueAt,
    ending.agedMs,
    nowMs,
    ending.own ? 1 : 0,
    ending.code,
    ending.detail,
    ending.taskId,
  );
  context.lanes.expect(String(task.lane), dueAt);
}

export function giveBack(context: Context, ending: GivenBack): void {
  const { probe } = ending;
  const lease = context.leases.get(ending.taskId);
  const task = endTake(context, ending);
  if (task === null) return;
  const lane = probe?.organizationId ?? String(task.lane);
  // A refusal of a request that began before the access last changed says nothing about today.
  const stale = lease?.lane === lane && lease.epoch !== (context.organizations.get(lane)?.epoch ?? 0);
  const alone = probe === null || (!stale && !mayBeBlocked(context, probe, task.code === ending.code));
  const { state, dueAt, waits } = givenBack(task, ending, { alone, stale }, timesOf(context));
  context.database.run(
    `UPDATE tasks SET state = ?, due_at = ?, lane = ?, attempts = attempts + ?, aged_ms = aged_ms + ?,
       failed_at = coalesce(?, failed_at), own = 0, code = ?, detail = ? WHERE id = ?`,
    state,
    dueAt,
    lane,
    waits ? 1 : 0,
    waits ? ending.agedMs : 0,
    waits ? context.nowMs() : null,
    ending.code,
    waits ? ending.detail : null,
    ending.taskId,
  );
  if (probe !== null && !stale) {
    if (alone) hintProbe(context, probe.organizationId, null, 'refused-request');
    else holdForProbe(context, probe);
  }
  context.lanes.expect(lane, dueAt);
}

/** A hint is news also of what was absent: it reads at once, and the absence goes on counting from its first time. */
export function foundAbsent(context: Context, ending: FoundAbsent): void {
  const task = endTake(context, ending);
  if (task === null || joinNamed(context, task, ending)) return;
  adopt(context, task, ending.named);
  const nowMs = context.nowMs();
  const hinted = hintedSince(task, ending);
  const dueAt = afterGap(context, task, hinted ? nowMs : nowMs + ending.againInMs);
  context.database.run(
    `UPDATE tasks SET state = ?, due_at = ?, settling = 0, absent_since = coalesce(absent_since, ?),
       code = 'absent-once', detail = NULL WHERE id = ?`,
    hinted ? 'due' : 'settling',
    dueAt,
    nowMs,
    ending.taskId,
  );
  context.lanes.widen(String(task.lane));
  context.lanes.expect(String(task.lane), dueAt);
}

export function finishGone(context: Context, ending: FinishedGone): FinishResult {
  const task = endTake(context, ending);
  if (task === null) return { outcome: 'refused', reason: 'fenced' };
  if (Number(task.accepted_revision) > ending.revision) {
    stayDue(context, task, 'superseded');
    return { outcome: 'refused', reason: 'superseded' };
  }
  // It was read as nobody's: read as the resource's that it is, it is asked for as that must be.
  if (adopt(context, task, ending.named)) {
    stayDue(context, task, 'superseded');
    return { outcome: 'refused', reason: 'superseded' };
  }
  if (joinNamed(context, task, ending)) return { outcome: 'refused', reason: 'superseded' };
  const present = task.published === 1 && task.deleted !== 1;
  if (present && task.gone_allowed !== 1 && tooManyGone(context, task, ending.goneShareMax)) {
    const refused = refuse(context, task, ending, 'mass-disappearance');
    return { outcome: 'refused', reason: refused ? 'mass-disappearance' : 'hinted-since' };
  }
  const eventIds = present ? [writeEvent(context, deletionOf(task, ending)).eventId] : [];
  context.database.run(
    'UPDATE tasks SET accepted_revision = ?, deleted = ?, absent_since = NULL WHERE id = ?',
    context.nextRevision(),
    present ? 1 : Number(task.deleted),
    ending.taskId,
  );
  const eventId = eventIds[0] ?? null;
  const said = { outcome: 'gone', reason: null, eventId, connectionId: null, switchedFrom: null };
  const { settleMs } = ending;
  noteRead(context, ending, { ...said, settles: settles(task, ending, settleMs) });
  const again = rest(context, task, ending, { settleMs, found: present }, String(task.lane));
  context.lanes.widen(String(task.lane));
  return { outcome: 'gone', eventIds, again };
}

function tooManyGone(context: Context, task: Row, shareMax: number): boolean {
  const organization = context.organizations.get(String(task.organization_id));
  if (organization === undefined) return false;
  context.organizations.remember(organization);
  const nowMs = context.nowMs();
  const lately = goneLately(organization.goneAtMs, nowMs);
  organization.presentBefore = presentBefore(context, organization, lately.length);
  const tooMany = isTooMany(lately, organization.presentBefore, shareMax);
  organization.goneAtMs = tooMany ? lately : [...lately, nowMs];
  context.database.run(
    'UPDATE organizations SET gone_at = ?, present_before = ? WHERE id = ?',
    JSON.stringify(organization.goneAtMs),
    organization.presentBefore,
    organization.id,
  );
  return tooMany;
}

/** How many resources it had when many of them began to go; null while few do. */
function presentBefore(context: Context, organization: CachedOrganization, gone: number): number | null {
  if (gone < goneAtOnceMin) return null;
  if (organization.presentBefore !== null) return organization.presentBefore;
  const counted = context.database.get(
    'SELECT count(*) AS present FROM tasks WHERE organization_id = ? AND published = 1 AND deleted = 0',
    organization.id,
  )!;
  return gone + Number(counted.present);
}

export function quarantineTask(context: Context, ending: QuarantinedTask): void {
  const task = endTake(context, ending);
  if (task === null) return;
  // A page has shown it since, perhaps as it must be.
  if (Number(task.accepted_revision) > ending.revision) stayDue(context, task, 'superseded');
  else refuse(context, task, ending, ending.reason, ending);
  context.lanes.widen(String(task.lane));
}
