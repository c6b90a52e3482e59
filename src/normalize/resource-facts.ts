/**
 * What the reader of one kind of resource hands back: who it is, whose it is, and the facts to publish. A type only.
 */
import type { Facts } from './reading';

export interface ResourceFacts {
  id: string;
  organizationId: string;
  facts: Facts;
  /** ISO 8601 UTC; null when the provider names none. */
  modifiedTime: string | null;
  archived: boolean;
}
