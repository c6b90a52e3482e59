/**
 * The one classification of the provider's answers. The fetch room makes it once; the pipeline decides from it; nobody
 * else looks at a status code.
 */
import type { ResourceIdentity } from './resource';

/** The document of a successful read and where it came from. */
export interface ReadDocument {
  /** The parsed body; not yet trusted. */
  body: unknown;
  address: string;
  mediaType: string;
  connectionId: string;
}

export type Answer = { kind: 'ok'; document: ReadDocument } | NoDocument;

/** What came instead of a document. */
export type NoDocument =
  /** 304 to a question for what changed only. */
  | { kind: 'not-modified'; connectionId: string }
  /** 404 or 410; `certain` for 410. `named`: which resource its address names, where nothing but the address tells. */
  | { kind: 'gone'; certain: boolean; connectionId: string; origin: string; named?: ResourceIdentity }
  /** 403 with a terms location, or another required customer action with the provider's own message. */
  | {
      kind: 'action-required';
      cause: 'terms' | 'required-action';
      actionUrl: string | null;
      message: string | null;
      connectionId: string;
    }
  /** The organization carries a `connections` link. */
  | { kind: 'not-connected'; actionUrl: string | null; connectionId: string }
  /** The token was refused: expired, revoked, unknown. `sealedToken`: which one, as stored; null where none was shown. */
  | { kind: 'reauthorize'; connectionId: string; message: string | null; sealedToken: string | null }
  /** The client lacks a scope or licence: one alert for the client key. */
  | { kind: 'client-refused'; connectionId: string; message: string | null }
  /** This one resource is refused to this user. */
  | { kind: 'no-access'; connectionId: string; message: string | null }
  /** 403 whose owner is not known: cannot be attributed to an organization. */
  | { kind: 'refused-unattributed'; connectionId: string; message: string | null }
  /**
   * 429, or not asked because of one: cools down the client key; at most one hour. `untilMs` says the same as the time
   * of its end, milliseconds since the epoch.
   */
  | { kind: 'rate-limited'; retryAfterMs: number; untilMs: number }
  /** Network, timeout, 5xx, cut bodies, HTML instead of JSON, half a document: worth another attempt. */
  | {
      kind: 'transient';
      code: string;
      detail: string;
      origin: string;
      connectionId: string;
      retryAfterMs: number | null;
      /** A 403 on the way to the resource, at the catalog or a listing: the read waits, a person is told of a refusal. */
      forbidden?: true;
      /** Where in the document that came something is missing. */
      path?: string;
    }
  /** 400, 405, 406 and other answers that another attempt will not change. */
  | {
      kind: 'refused';
      code: string;
      detail: string;
      origin: string;
      connectionId: string;
      /** Where a document came that is none of a resource: what came. */
      body?: unknown;
    }
  /** No connection may read it; `nobody`: there is none at all, a user must consent first. */
  | { kind: 'no-connection'; detail: string; nobody?: true }
  /** The gate refused the address: no request was made. */
  | { kind: 'address-refused'; code: 'address-refused' | 'address-template'; detail: string }
  /** The attempt was cut off because the process is stopping. */
  | { kind: 'aborted' };

/** What one read cost, for the wide line and the metrics. */
export interface ReadCost {
  calls: number;
  /** How many requests were sent once more: after a 401 with a new token, or since a kept connection was dead. */
  resends: number;
  bytes: number;
  tookMs: number;
  status: number | null;
}
