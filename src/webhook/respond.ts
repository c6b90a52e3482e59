/**
 * The answers of the public listener: a bare 204, or a problem document that tells a stranger nothing. While the process
 * drains, every answer closes its connection. Each refusal is reported once, with our own reason.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';
import { answers, problemBody, type RefusalReason, refusalReasons } from './refusals';
import type { WebhookDoors } from './settings';

/** Sent with a refusal where the protocol asks for it. */
export interface RefusalDetails {
  retryAfterSeconds?: number;
  allow?: string;
  /** What a door threw. */
  cause?: unknown;
  /** True when the rest of the body is not even to be thrown away. */
  cutOff?: boolean;
}

export interface Responder {
  /** Notes when a request began, so that its refusal can say how long it took. */
  began(request: IncomingMessage): void;
  /** 204. Does nothing when an answer is out already. */
  accepted(response: ServerResponse): void;
  /** Does nothing when an answer is out already, and nothing but report when the sender is gone. */
  refuse(
    request: IncomingMessage,
    response: ServerResponse,
    reason: RefusalReason,
    details?: RefusalDetails,
  ): void;
  /** From now on every answer closes its connection. */
  drain(): void;
  draining(): boolean;
}

/** A body of at most this is thrown away while the connection stays; a longer one costs its sender the connection. */
const discardedBytesMax = 64 * 1024;
/** How long the rest of a refused body is thrown away, so that its sender gets to read the answer. */
const lingerMs = 1000;
/**
 * Of all refused bodies together no more is thrown away in that time: what was read waits for the collector, so that
 * many large ones would make the process grow by what they send. The rest is not read, until the connection goes.
 */
const discardedTogetherBytesMax = 8 * 1024 * 1024;

/** The headers of helmet; on a bare 204 there is nothing that they could protect. */
const protect = helmet();
const nothing = () => {};

const beganAtMs = Symbol('when the request began');
type Timed = IncomingMessage & { [beganAtMs]?: number };

/**
 * A refused body of more than 64 KiB costs its sender the connection; of all of them together at most 8 MiB a second
 * are read before.
 */
export function makeResponder(doors: Pick<WebhookDoors, 'clock' | 'refused'>): Responder {
  let draining = false;
  const mayDiscard = makeDiscardBudget(doors);
  return {
    began(request: Timed) {
      request[beganAtMs] = doors.clock.nowMs();
    },
    accepted(response) {
      if (response.headersSent) return;
      if (draining) response.setHeader('Connection', 'close');
      response.statusCode = 204;
      response.end();
    },
    refuse(request: Timed, response, reason, details = {}) {
      const code = refusalReasons[reason];
      const { status } = answers[code];
      if (response.headersSent) return;
      doors.refused(reason, {
        status: response.destroyed ? 0 : status,
        tookMs: request[beganAtMs] === undefined ? null : doors.clock.nowMs() - request[beganAtMs],
        ...(details.cause === undefined ? {} : { cause: details.cause }),
      });
      if (response.destroyed) return;
      const body = problemBody(code);
      protect(request, response, nothing);
      response.statusCode = status;
      response.setHeader('Content-Type', 'application/problem+json');
      response.setHeader('Content-Length', body.length);
      response.setHeader('Cache-Control', 'no-store');
      if (details.retryAfterSeconds !== undefined)
        response.setHeader('Retry-After', details.retryAfterSeconds);
      if (details.allow !== undefined) response.setHeader('Allow', details.allow);
      // RFC 9110, section 11.6.1; which scheme is in use is nobody's business.
      if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
      const lingers = bodyIsLong(request);
      if (draining || lingers || details.cutOff === true) response.setHeader('Connection', 'close');
      if (lingers && details.cutOff !== true) endAfterBody(request, response, body);
      else response.end(body);
    },
    drain() {
      draining = true;
    },
    draining: () => draining,
  };

  /** Closing at once would reset the connection, and the sender, still writing, might never see the answer. */
  function endAfterBody(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const lingering = new AbortController();
    const end = () => {
      lingering.abort();
      if (!response.writableEnded) response.end();
    };
    const discard = (chunk: Buffer) => {
      if (!mayDiscard(chunk.length)) request.off('data', discard).pause();
    };
    request.once('end', end).once('close', end).on('data', discard).resume();
    void doors.clock.wait(lingerMs, lingering.signal).then(end);
    response.write(body);
  }
}

/** Counts bytes that were thrown away; false when the bound of this while is reached. */
function makeDiscardBudget({ clock }: Pick<WebhookDoors, 'clock'>): (bytes: number) => boolean {
  let sinceMs = Number.NEGATIVE_INFINITY;
  let discardedBytes = 0;
  return (bytes) => {
    const ageMs = clock.nowMs() - sinceMs;
    // A clock that was set back must not keep the bound reached.
    if (ageMs < 0 || ageMs >= lingerMs) {
      sinceMs = clock.nowMs();
      discardedBytes = 0;
    }
    discardedBytes += bytes;
    return discardedBytes <= discardedTogetherBytesMax;
  };
}

/** True when more than a little of the body may still come. */
function bodyIsLong(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const length = request.headers['content-length'];
  if (length !== undefined) return Number(length) > discardedBytesMax;
  return request.headers['transfer-encoding'] !== undefined;
}
