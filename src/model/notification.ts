/**
 * A delivery is one POST of the provider; a notification is one element of it. The webhook room judges each element on
 * its own and the inbox stores the judgements. Nothing here holds a secret: the element's token is checked and dropped.
 */

/** Why a thing waits for an operator. Stable codes: they are shown, counted and used as metric labels. */
export const quarantineReasons = [
  'unauthenticated',
  'malformed-notification',
  'repeated-member',
  'malformed-body',
  'store-refused',
  'message-id-reused',
  'address-refused',
  'address-template',
  'no-connection',
  'organization-mismatch',
  'no-access',
  'request-refused',
  'never-readable',
  'malformed-document',
  'mass-disappearance',
  'record-too-large',
  'record-refused',
] as const;

export type QuarantineReason = (typeof quarantineReasons)[number];

/** A notification that says which resource changed. */
export interface HintElement {
  line: 'hint';
  eventTypeId: string;
  /** The resource's address as the provider gave it; it passes the gate before it is read. */
  address: string;
  /** `metadata.orgId`, which only narrows the choice of connection; null when absent. */
  organizationId: string | null;
  /** The user of the subscription whose token this element carried, when known. */
  user: string | null;
}

/** A notification that was dealt with by receiving it: verification, heartbeat, Required Customer Action. */
export interface ActedElement {
  line: 'acted';
  eventTypeId: string;
  /** Set for a Required Customer Action: the organization to probe. */
  probeOrganizationId: string | null;
  /** ISO 8601, when the action named a due time. */
  dueAt: string | null;
  /** The action named a due time that cannot be read. */
  dueUnread?: true;
}

/** A notification of an unknown type: kept and counted. */
export interface IgnoredElement {
  line: 'ignored';
  eventTypeId: string;
  address: string | null;
}

/** So much is kept of what cannot be judged, as UTF-8: an address in it may be nearly as long. */
export const keptBytesMax = 8192;

/** An element that cannot be judged: kept for an operator, with its reason and where in the element the fault is. */
export interface RefusedElement {
  line: 'quarantined';
  reason: QuarantineReason;
  /** JSON pointer into the element, '' for the whole. */
  path: string;
  /** The element as JSON text, its token removed, cut at 8 KiB. */
  raw: string;
}

export type Element = HintElement | ActedElement | IgnoredElement | RefusedElement;

export interface Delivery {
  /** Milliseconds since the epoch at which the last byte was received. */
  receivedAtMs: number;
  /** `webhook-id` under hmac, otherwise null: only then can a redelivery be told from a second change. */
  messageId: string | null;
  /** SHA-256 of the raw body, hex: tells a repeated message id with another body. */
  bodyHash: string;
  bytes: number;
  traceparent: string | null;
  elements: Element[];
}

export interface Accepted {
  /** The journal's id of the delivery, shown as `d123`. */
  deliveryId: string;
  /** True when the same message id was stored before; then nothing was added. */
  repeated: boolean;
  /** True when that message id came before with another body: the first is kept, and of this one nothing was stored. */
  idReused: boolean;
  /** How many tasks became due. */
  due: number;
  /** True when organizations are to be probed. */
  probes: boolean;
}
