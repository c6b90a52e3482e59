/**
 * How a body arrives: raw, whole and bounded, or an error with its reason. Long bodies are counted while they come, so
 * that many at once cannot take more memory than was set aside. Looks at no byte of it.
 */
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, raw } from 'express';
import type { InFlight } from './in-flight';
import type { RefusalReason } from './refusals';
import type { Responder } from './respond';

/** Bodies up to this size are counted once they are whole; the number of connections bounds them until then. */
const countedWholeBytesMax = 16 * 1024;

export interface ArrivalBounds {
  bodyBytesMax: number;
  retryAfterSeconds: number;
  /**
   * True when the headers alone have authenticated the sender: then the length that they declare is set aside at once, so
   * that of many large bodies some come in whole. A stranger's word sets nothing aside.
   */
  trustsLength: boolean;
}

/** Refuses a body that is too large or for which there is no room, as early as it is known, and reads another into `request.body` as a Buffer (undefined: no body). */
export function makeArrival(
  bounds: ArrivalBounds,
  inFlight: InFlight,
  responder: Responder,
): RequestHandler[] {
  const { bodyBytesMax, retryAfterSeconds, trustsLength } = bounds;

  /** At its end the body begins to count as waiting for the store instead. */
  function countAtOnce(request: Request, bytes: number): void {
    let held = bytes;
    const release = () => {
      inFlight.release(held);
      held = 0;
    };
    inFlight.hold(bytes);
    request.once('end', release).once('close', release);
  }

  function countWhileItArrives(request: Request, response: Response): void {
    let held = 0;
    const release = () => {
      inFlight.release(held);
      held = 0;
    };
    request.on('data', (chunk: Buffer) => {
      if (response.headersSent) return;
      held += chunk.length;
      const room = inFlight.hold(chunk.length);
      if (held > bodyBytesMax) responder.refuse(request, response, 'body-too-large');
      else if (!room) {
        responder.refuse(request, response, 'overloaded', { retryAfterSeconds, cutOff: true });
      }
    });
    request.once('end', release).once('close', release);
  }

  const findRoom: RequestHandler = (request, response, next) => {
    const declared = request.headers['content-length'];
    const bytes = declared === undefined ? 0 : Number(declared);
    // The body reader would answer only after the rest had come.
    if (bytes > bodyBytesMax) {
      responder.refuse(request, response, 'body-too-large');
      return;
    }
    if (!inFlight.hasRoom(bytes)) {
      responder.refuse(request, response, 'overloaded', { retryAfterSeconds });
      return;
    }
    if (declared === undefined) countWhileItArrives(request, response);
    else if (bytes > countedWholeBytesMax) {
      if (trustsLength) countAtOnce(request, bytes);
      else countWhileItArrives(request, response);
    }
    next();
  };
  return [findRoom, raw({ type: () => true, inflate: false, limit: bodyBytesMax })];
}

const reasonByErrorType: Record<string, RefusalReason> = {
  'entity.too.large': 'body-too-large',
  'request.size.invalid': 'body-cut-short',
  'request.aborted': 'aborted',
};

/** Errors of the body reader by their `type`; a malformed address is the sender's; anything else is a fault of ours. */
export function makeErrorAnswer(responder: Responder, retryAfterSeconds: number): ErrorRequestHandler {
  return (error: { type?: string; status?: number } | undefined, request, response, _next) => {
    const known = reasonByErrorType[error?.type ?? ''];
    if (known !== undefined) responder.refuse(request, response, known);
    else if (error?.status === 400) responder.refuse(request, response, 'not-http');
    else responder.refuse(request, response, 'fault', { retryAfterSeconds, cause: error });
  };
}
