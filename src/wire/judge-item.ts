/**
 * One item of a listing as the normalizer judges it: what tells its state from another, what is published of it, and
 * when it must be read instead. Joins the rooms that know documents; pure.
 */
import type { ResourceKind } from '../model/resource';
import { wireHashOf } from '../normalize/identity';
import { documentOf } from '../normalize/known-as';
import { normalizeDocument, normalizerVersion } from '../normalize/normalize';
import { draftEvent } from '../publish/draft-event';
import type { ItemJudge } from '../sync/doors';

export interface JudgeOptions {
  includeOperatorNames: boolean;
  /** Does the connection see the organization? */
  sees(connectionId: string, organizationId: string): boolean;
}

export function makeItemJudge({ includeOperatorNames, sees }: JudgeOptions): ItemJudge {
  return {
    summaryOf({ id: listedId, body, known }, kind, organizationId) {
      const id = known?.id ?? listedId;
      if (id === null || !isWhole(body, kind)) return null;
      try {
        return { kind, id, organizationId, wireHash: wireHashOf(body), normalizerVersion };
      } catch {
        // It cannot be walked: a read will say so, with its place.
        return null;
      }
    },
    draftOf({ id, address, body, known = null }, { kind, connectionId, mediaType, observedAt }) {
      if (id === null || address === null || !isWhole(body, kind)) return null;
      const judged = normalizeDocument(body, { includeOperatorNames });
      if (!judged.ok) return null;
      const { document } = judged;
      if (document.kind !== kind || document.id !== id) return null;
      if (!sees(connectionId, document.organizationId)) return null;
      return draftEvent(documentOf(document, known), {
        address: withoutQuery(address),
        mediaType,
        observedAt,
      });
    },
    modifiedTimeOf({ body }, kind) {
      if (kind !== 'field-operation' || isWhole(body, kind)) return null;
      const { modifiedTime } = body as { modifiedTime?: unknown };
      const timeMs = typeof modifiedTime === 'string' ? Date.parse(modifiedTime) : Number.NaN;
      return Number.isNaN(timeMs) ? null : new Date(timeMs).toISOString();
    },
  };
}

/** Without its measurements an operation is less than what is published of it: absent is not empty. */
function isWhole(body: unknown, kind: ResourceKind): boolean {
  if (typeof body !== 'object' || body === null) return false;
  return (
    kind !== 'field-operation' || Array.isArray((body as { measurementTypes?: unknown }).measurementTypes)
  );
}

function withoutQuery(address: string): string {
  return address.split('?', 1)[0] ?? address;
}
