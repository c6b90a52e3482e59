/**
 * Whether an answer speaks against what was last learned of which connection sees which organization. Pure: nothing is set
 * aside, and no user is held to what is lost, before that was learned anew.
 */
import type { Answer } from '../model/answer';
import type { TakenTask } from '../model/task';

/**
 * Since when it must have been learned: since the hint, for the customer may have connected a moment ago, or another user
 * may read on. null where the answer says nothing of it. Not since a failure: a wait is none, and what is learned after the
 * hint and refused all the same ages.
 */
export function sightDoubted(
  task: Pick<TakenTask, 'organizationId' | 'acceptedAtMs'>,
  answer: Answer,
  sees: (connectionId: string, organizationId: string) => boolean,
): number | null {
  const { organizationId, acceptedAtMs } = task;
  const sinceMs = acceptedAtMs ?? 0;
  if (answer.kind === 'no-connection') return sinceMs;
  const isUnlisted =
    answer.kind === 'refused-unattributed' ||
    (answer.kind === 'transient' && answer.code === 'organization-unlisted');
  if (!isUnlisted || organizationId === null || !sees(answer.connectionId, organizationId)) return null;
  return sinceMs;
}

/** Of a document that is an organization's which its connection does not see; `unlisted`: what may be why. */
export function unseenDetail(organizationId: string, unlisted: string | null): string {
  const unseen = `the document belongs to organization ${organizationId}, which the connection does not see`;
  return unlisted === null ? unseen : `${unseen}; ${unlisted}`;
}
