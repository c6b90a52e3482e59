/**
 * What is set aside, as a store is given it. Only the shape; each store keeps and closes entries in its own way.
 */

import type { QuarantineView } from '../model/inspection';
import type { QuarantineReason } from '../model/notification';

/** Called once for each thing that this process has set aside, whatever it was and however it came to that. */
export type SetAside = (reason: QuarantineReason) => void;

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
