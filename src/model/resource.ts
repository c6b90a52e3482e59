/**
 * What the provider lets us read, known by kind and the provider's id. Links only address a resource; they never
 * identify it. This file holds the kinds and the key under which a resource's events are ordered. It imports nothing.
 */

/** The kinds of resource whose state is read and published. */
export type ResourceKind = 'equipment' | 'field-operation';

/** The kinds of event: a resource's, or the access of an organization. */
export type EventKind = ResourceKind | 'organization-access';

export interface ResourceIdentity {
  kind: ResourceKind;
  /** The provider's id, always as a string. */
  id: string;
}

/** The ordering key of a record: `organizationId/kind/id`. */
export function keyOf(organizationId: string, kind: EventKind, id: string): string {
  return `${organizationId}/${kind}/${id}`;
}

/** The parts of a key; an id may hold anything. */
export function partsOf(key: string): { organizationId: string; kind: string; id: string } {
  const [organizationId = '', kind = '', ...id] = key.split('/');
  return { organizationId, kind, id: id.join('/') };
}
