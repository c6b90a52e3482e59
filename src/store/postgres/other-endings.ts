/**
 * The other ways a taken task ends: put off, given back because its organization is blocked, found absent, gone, set
 * aside, or not dealt with at all. Each is refused silently under an old fence: whoever holds the new one decides.
 */
import type { ResourceIdentity } from '../../model/resource';
import type {
  FinishedGone,
  FinishResult,
  FoundAbsent,
  GivenBack,
  Postponed,
  QuarantinedTask,
} from '../../model/task';
import { givenBack, hintedSince, settles } from '../at-rest';
import { deletionOf } from '../task-row';
import { hintProbes, holdForProbe, mayBeBlocked } from './ask-probes';
import { joinNamed } from './join';
import { afterGap, endTake, isSuperseded, refuse, rest, stayDue, timesOf } from './return-task';
import type { Slate } from './slate';
import type { TaskRow } from './task-rows';
import { tooManyGone } from './too-many-gone';

export function postpone(slate: Slate, ending: Postponed): void {
  const task = endTake(slate, ending);
  if (task === null) return;
  const nowMs = slate.context.nowMs();
  const dueAt = afterGap(slate, task, nowMs + ending.dueInMs);
  slate.change(task, {
    state: 'postponed',
    due_at: dueAt,
    attempts: task.attempts + 1,
    aged_ms: task.aged_ms + ending.agedMs,
    failed_at: nowMs,
    own: ending.own,
    code: ending.code,
    detail: ending.detail,
  });
  slate.context.lanes.expect(task.lane, dueAt);
}

export async function giveBack(slate: Slate, ending: GivenBack): Promise<void> {
  const { probe } = ending;
  const { taken_lane: takenLane, taken_epoch: epoch } = slate.tasks.get(ending.taskId) ?? {};
  const task = endTake(slate, ending);
  if (task === null) return;
  const { context } = slate;
  const lane = probe?.organizationId ?? task.lane;
  const organization = slate.organizations.get(lane);
  // A refusal of a request that began before the access last changed says nothing about today.
  const stale = takenLane === lane && epoch !== organization?.epoch;
  const refusedBefore = task.code === ending.code;
  const alone = probe === null || (!stale && !mayBeBlocked(context, organization, probe, refusedBefore));
  const { state, dueAt, waits } = givenBack(task, ending, { alone, stale }, timesOf(context));
  slate.change(task, {
    state,
    due_at: dueAt,
    lane,
    attempts: task.attempts + (waits ? 1 : 0),
    aged_ms: task.aged_ms + (waits ? ending.agedMs : 0),
    failed_at: waits ? context.nowMs() : task.failed_at,
    own: false,
    code: ending.code,
    detail: waits ? ending.detail : null,
  });
  if (probe !== null && !stale) {
    if (alone)
      await hintProbes(context, [{ organizationId: probe.organizationId, dueAt: null }], 'refused-request');
    else await holdForProbe(context, probe);
  }
  context.lanes.expect(lane, dueAt);
}

/** A hint is news also of what was absent: it reads at once, and the absence goes on counting from its first time. */
export async function foundAbsent(slate: Slate, ending: FoundAbsent): Promise<void> {
  const task = endTake(slate, ending);
  if (task === null || (await joinNamed(slate, task, ending))) return;
  adopt(slate, task, ending.named);
  const nowMs = slate.context.nowMs();
  const hinted = hintedSince(task, ending);
  const dueAt = afterGap(slate, task, hinted ? nowMs : nowMs + ending.againInMs);
  slate.change(task, {
    state: hinted ? 'due' : 'settling',
    due_at: dueAt,
    settling: false,
    absent_since: task.absent_since ?? nowMs,
    code: 'absent-once',
    detail: null,
  });
  slate.context.lanes.widen(task.lane);
  slate.context.lanes.expect(task.lane, dueAt);
}

export async function finishGone(slate: Slate, ending: FinishedGone): Promise<FinishResult> {
  const task = endTake(slate, ending);
  if (task === null) return { outcome: 'refused', reason: 'fenced' };
  if (isSuperseded(task, ending)) {
    stayDue(slate, task, 'superseded');
    return { outcome: 'refused', reason: 'superseded' };
  }
  // It was read as nobody's: read as the resource's that it is, it is asked for as that must be.
  if (adopt(slate, task, ending.named)) {
    stayDue(slate, task, 'superseded');
    return { outcome: 'refused', reason: 'superseded' };
  }
  if (await joinNamed(slate, task, ending)) return { outcome: 'refused', reason: 'superseded' };
  const present = task.published && !task.deleted;
  if (present && !task.gone_allowed && (await tooManyGone(slate, task, ending.goneShareMax))) {
    const refused = refuse(slate, task, ending, 'mass-disappearance');
    return { outcome: 'refused', reason: refused ? 'mass-disappearance' : 'hinted-since' };
  }
  const eventIds: string[] = [];
  if (present) slate.decide(deletionOf(task, ending), eventIds);
  slate.change(task, {
    accepted_revision: null,
    deleted: present || task.deleted,
    absent_since: null,
  });
  const { taskId, fence, generation, settleMs } = ending;
  const said = { outcome: 'gone', reason: null, eventIds, connectionId: null, switchedFrom: null };
  slate.note({ taskId, fence, generation, ...said, settles: settles(task, ending, settleMs) });
  const again = rest(slate, task, ending, { settleMs, found: present }, task.lane);
  slate.context.lanes.widen(task.lane);
  return { outcome: 'gone', eventIds, again };
}

/**
 * True when the task, of which nothing is known but its address, is the resource's from now on, as another life of the store
 * published it where the hint says, and left it on the topics.
 */
function adopt(slate: Slate, task: TaskRow, named: ResourceIdentity | undefined): boolean {
  const organizationId = task.hinted_organization_id;
  if (named === undefined || task.kind !== null || organizationId === null) return false;
  const { kind, id } = named;
  if (slate.resource(kind, id) !== undefined || !slate.placesOf(named).includes(organizationId)) return false;
  slate.claim({ kind, id, organizationId });
  slate.change(task, {
    ...{ kind, resource_id: id, organization_id: organizationId, published: true, deleted: false },
    ...{ content_hash: '', wire_hash: '', normalizer_version: 0 },
  });
  return true;
}

export function quarantineTask(slate: Slate, ending: QuarantinedTask): void {
  const task = endTake(slate, ending);
  if (task === null) return;
  // A page has shown it since, perhaps as it must be.
  if (isSuperseded(task, ending)) stayDue(slate, task, 'superseded');
  else refuse(slate, task, ending, ending.reason, ending);
  slate.context.lanes.widen(task.lane);
}

/** Due again at once, as if they had not been taken. */
export function releaseLeases(slate: Slate, taken: { taskId: number; fence: number }[]): void {
  const nowMs = slate.context.nowMs();
  for (const held of taken) {
    const task = endTake(slate, held);
    if (task === null) continue;
    slate.change(task, { state: 'due', due_at: nowMs, fence: task.fence + 1 });
    slate.context.lanes.expect(task.lane, nowMs);
  }
}
