/**
 * Whether too many resources of one organization went at once, by what its row keeps of those that went lately.
 */
import { goneAtOnceMin, goneLately, isTooMany } from '../gone-lately';
import type { Row } from './server/database';
import type { Slate } from './slate';
import type { TaskRow } from './task-rows';

/** The organization's row is locked. */
export async function tooManyGone(slate: Slate, task: TaskRow, shareMax: number): Promise<boolean> {
  const { context } = slate;
  const organization = slate.organizations.get(task.organization_id ?? '');
  if (organization === undefined) return false;
  const nowMs = context.nowMs();
  const lately = goneLately(organization.gone_at, nowMs);
  const present = await presentBefore(slate, organization, lately.length);
  const tooMany = isTooMany(lately, present, shareMax);
  organization.gone_at = tooMany ? lately : [...lately, nowMs];
  organization.present_before = present;
  await context.database.run(
    'UPDATE organizations SET gone_at = $2, present_before = $3 WHERE id = $1',
    organization.id,
    organization.gone_at,
    present,
  );
  return tooMany;
}

/** How many resources it had when many of them began to go; null while few do. */
async function presentBefore(slate: Slate, organization: Row, gone: number): Promise<number | null> {
  if (gone < goneAtOnceMin) return null;
  if (organization.present_before !== null) return organization.present_before;
  await slate.saveTasks();
  const counted = await slate.context.database.get(
    'SELECT count(*) AS present FROM tasks WHERE organization_id = $1 AND published AND NOT deleted',
    organization.id,
  );
  return gone + counted!.present;
}
