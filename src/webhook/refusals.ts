/**
 * Every way in which a request is not answered 204: the reason for our own metric and log, and what the sender is told,
 * which is less. A stranger learns the status and a fixed sentence; nothing of the request is ever repeated to him.
 */

/** What the sender sees. Stable codes. */
export const answers = {
  'webhook.unreadable': { status: 400, title: 'The body is not a JSON array of 1 to 256 notifications.' },
  'webhook.bad-request': { status: 400, title: 'The request is malformed.' },
  'webhook.unauthenticated': { status: 401, title: 'The request is not authenticated.' },
  'webhook.not-found': { status: 404, title: 'There is nothing here.' },
  'webhook.method': { status: 405, title: 'The method is not allowed here.' },
  'webhook.slow-sender': { status: 408, title: 'The request did not arrive in time.' },
  'webhook.too-large': { status: 413, title: 'The body is too large.' },
  'webhook.media-type': { status: 415, title: 'The body must be JSON in UTF-8, not encoded.' },
  'webhook.expectation': { status: 417, title: 'This expectation is not met here.' },
  'webhook.too-many-failures': { status: 429, title: 'Too many requests were not authenticated.' },
  'webhook.headers-too-large': { status: 431, title: 'The headers are too large.' },
  'webhook.unavailable': { status: 503, title: 'The delivery cannot be stored now.' },
} as const;

export type AnswerCode = keyof typeof answers;

/** Why, for us. Values of a metric label, so the list is closed. */
export const refusalReasons = {
  'authorization-missing': 'webhook.unauthenticated',
  'authorization-wrong': 'webhook.unauthenticated',
  'signature-missing': 'webhook.unauthenticated',
  'signature-wrong': 'webhook.unauthenticated',
  /** Either a replay or a clock that is wrong: theirs or ours. */
  'timestamp-too-old': 'webhook.unauthenticated',
  'timestamp-in-the-future': 'webhook.unauthenticated',
  'token-missing': 'webhook.unauthenticated',
  'token-wrong': 'webhook.unauthenticated',
  /** Where only tokens authenticate, a body that cannot be read proves nothing about its sender. */
  'token-unreadable': 'webhook.unauthenticated',
  'too-many-failures': 'webhook.too-many-failures',
  'body-unreadable': 'webhook.unreadable',
  'body-too-large': 'webhook.too-large',
  'body-cut-short': 'webhook.bad-request',
  'not-http': 'webhook.bad-request',
  'headers-too-large': 'webhook.headers-too-large',
  'media-type': 'webhook.media-type',
  'content-encoding': 'webhook.media-type',
  expectation: 'webhook.expectation',
  'not-found': 'webhook.not-found',
  method: 'webhook.method',
  'slow-sender': 'webhook.slow-sender',
  /** The sender went away before its body was whole. */
  aborted: 'webhook.bad-request',
  'too-many-connections': 'webhook.unavailable',
  'connection-failed': 'webhook.unavailable',
  overloaded: 'webhook.unavailable',
  late: 'webhook.unavailable',
  'store-unavailable': 'webhook.unavailable',
  /** A fault of our own. */
  fault: 'webhook.unavailable',
} as const satisfies Record<string, AnswerCode>;

export type RefusalReason = keyof typeof refusalReasons;

const bodies = new Map<AnswerCode, Buffer>();
for (const [code, { status, title }] of Object.entries(answers)) {
  bodies.set(code as AnswerCode, Buffer.from(JSON.stringify({ type: 'about:blank', title, status, code })));
}

/** The problem document (RFC 9457) of a code, as bytes. */
export function problemBody(code: AnswerCode): Buffer {
  return bodies.get(code) as Buffer;
}
