/**
 * The two wide lines of the path, built from what the path has in hand: one for each acceptance, one for each attempt.
 * Pure; what is written with them is next door.
 */
import type { Answer, ReadCost } from '../model/answer';
import type { Accepted, Delivery } from '../model/notification';
import type { FinishResult, TakenTask } from '../model/task';
import type { Attempt, DeliveryAccepted } from './lines';

/** How an attempt ended, as its wide line tells it. */
export type Ended = Pick<
  Attempt,
  'outcome' | 'code' | 'detail' | 'quarantine' | 'eventIds' | 'dueInMs' | 'providerLagMs' | 'unknownFields'
>;

/** How an attempt ended, with nothing published unless `more` says otherwise. */
export function endedAs(
  outcome: Attempt['outcome'],
  code: string,
  detail: string | null,
  more: Partial<Ended> = {},
): Ended {
  return {
    outcome,
    code,
    detail,
    quarantine: null,
    eventIds: [],
    dueInMs: null,
    providerLagMs: null,
    ...more,
  };
}

/** What the store made of a read that it did not take for the resource's. */
export function refusedAs(reason: (FinishResult & { outcome: 'refused' })['reason']): Ended {
  switch (reason) {
    case 'record-too-large':
    case 'mass-disappearance':
      return endedAs('quarantined', reason, null, { quarantine: reason });
    case 'another-resource':
      return endedAs('quarantined', reason, null, { quarantine: 'malformed-document' });
    default:
      return endedAs(reason === 'fenced' ? 'fenced' : 'superseded', reason, null);
  }
}

/** How long the provider took from a change to its notification; null where it is not known, or nobody was notified. */
export function providerLagMs(
  { acceptedAtMs, settling }: Pick<TakenTask, 'acceptedAtMs' | 'settling'>,
  modifiedTime: string | null,
): number | null {
  if (acceptedAtMs === null || settling || modifiedTime === null) return null;
  const modifiedMs = Date.parse(modifiedTime);
  return Number.isNaN(modifiedMs) ? null : Math.max(0, acceptedAtMs - modifiedMs);
}

/** The wide line of a delivery that was accepted, with counts and a time in milliseconds, and nothing of its body. */
export function acceptanceLine(
  delivery: Delivery,
  accepted: Accepted,
  traceparent: string,
  tookMs: number,
): DeliveryAccepted {
  const { deliveryId, repeated, idReused, due } = accepted;
  const counts = { hints: 0, acted: 0, ignored: 0, quarantined: [] };
  const line: DeliveryAccepted = {
    deliveryId,
    ...counts,
    bytes: delivery.bytes,
    tookMs,
    repeated,
    idReused,
    due,
    traceparent,
  };
  for (const element of delivery.elements) {
    if (element.line === 'hint') line.hints += 1;
    else if (element.line === 'quarantined') line.quarantined.push(element.reason);
    else line[element.line] += 1;
    if (element.line === 'acted' && element.dueUnread === true)
      line.unreadDueTimes = (line.unreadDueTimes ?? 0) + 1;
  }
  return line;
}

/** The wide line of one attempt, with its cost and how it ended, and nothing of what was read. */
export function attemptLine(
  task: TakenTask,
  read: { answer: Answer; cost: ReadCost },
  ended: Ended,
  traceparent: string,
  tookMs: number,
): Attempt {
  const { answer, cost } = read;
  return {
    deliveryId: task.deliveryId,
    taskId: task.taskId,
    generation: task.generation,
    attempt: task.attempts + 1,
    kind: task.resource?.kind ?? null,
    resourceId: task.resource?.id ?? null,
    organizationId: task.organizationId ?? task.hintedOrganizationId,
    connectionId: answer.kind === 'ok' ? answer.document.connectionId : task.connectionId,
    address: task.address,
    ...ended,
    calls: cost.calls,
    bytes: cost.bytes,
    status: cost.status,
    tookMs,
    traceparent,
  };
}
