/**
 * What is set aside, as a store is given it. Only the shape; each store keeps and closes entries in its own way.
 */
import type { QuarantineReason } from '../model/notification';
import type { QuarantineView } from '../model/store';

/** What is not said is not known. */
export interface QuarantineEntry {
  what: QuarantineView['what'];
  reason: QuarantineReason;
  path: string;
  detail?: string | null;
  organizationId?: string | null;
  address?: string | null;
  deliveryId?: number | null;
  element?: number | null;
  taskId?: number | null;
  outboxId?: number | null;
  sampleHash?: string | null;
  raw?: string | null;
}
