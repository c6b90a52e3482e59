/**
 * Whether an answer speaks against what was last learned of which connection sees which organization. Pure: nothing is set
 * aside, and no user is held to what is lost, before that was learned anew.
 */
import type { Answer } from '../model/answer';
import type { TakenTask } from '../model/task';

/**
 * Since when it must have been learned; null where the answer says nothing of it. That nobody sees the owner is doubted
 * since the hint: the customer may have connected a moment ago. That the owner is not listed to a user who was last
 * seen to see it is doubted since the attempt before, or since now: another user may read on.
 */
export function sightDoubted(
  task: Pick<TakenTask, 'organizationId' | 'acceptedAtMs' | 'failedAtMs'>,
  answer: Answer,
  sees: (connectionId: string, organizationId: string) => boolean,
  nowMs: number,
): number | null {
  const { organizationId, acceptedAtMs, failedAtMs } = task;
  if (answer.kind === 'no-connection') return acceptedAtMs ?? 0;
  const isUnlisted =
    answer.kind === 'refused-unattributed' ||
    (answer.kind === 'transient' && answer.code === 'organization-unlisted');
  if (!isUnlisted || organizationId === null || !sees(answer.connectionId, organizationId)) return null;
  return failedAtMs ?? nowMs;
}
