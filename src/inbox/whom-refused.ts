/**
 * Whom a refusal may speak of. Pure: the one place that says when a resource is proven to be an organization's. What a
 * delivery says of the owner never proves it; it says who is to be asked.
 */
import type { Answer } from '../model/answer';
import { organizationNamedIn } from '../model/organization';
import type { TakenTask } from '../model/task';

export interface Accused {
  /** null when nobody is known that could be asked. */
  organizationId: string | null;
  /**
   * The resource was read as this organization's, and neither the refusal nor a hint names another; or nothing was read of
   * it yet, and the refusal names this one.
   */
  proven: boolean;
}

/**
 * Whom the provider names in the place for the action, if the connection sees it; else the owner as last read. Where the
 * hint names another organization that the connection sees, the resource may have moved there, or the hint may be wrong:
 * then it is the hinted one, unproven. `sees` tells what was last learned.
 */
export function whomRefused(
  task: Pick<TakenTask, 'organizationId' | 'hintedOrganizationId'>,
  answer: Answer,
  sees: (connectionId: string, organizationId: string) => boolean,
): Accused {
  const { organizationId: known, hintedOrganizationId: hinted } = task;
  if (answer.kind === 'action-required') {
    const named = organizationNamedIn(answer.actionUrl);
    if (named !== null && sees(answer.connectionId, named))
      return { organizationId: named, proven: named === (known ?? hinted ?? named) };
  }
  const another = hinted !== null && hinted !== known && 'connectionId' in answer;
  if (another && sees(answer.connectionId, hinted)) return { organizationId: hinted, proven: false };
  return { organizationId: known, proven: known !== null };
}
