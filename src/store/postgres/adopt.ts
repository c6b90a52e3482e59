/**
 * A resource that another life of the store left on the topics, and that is found gone where its address was notified: its
 * task is that resource's from then on, and ends as any other's.
 */
import type { ResourceIdentity } from '../../model/resource';
import type { Slate } from './slate';
import type { TaskRow } from './task-rows';

/**
 * True when the task, of which nothing is known but its address, is the resource's from now on, as another life of the store
 * published it where the hint says.
 */
export function adopt(slate: Slate, task: TaskRow, named: ResourceIdentity | undefined): boolean {
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
