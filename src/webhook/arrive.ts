/**
 * How a body arrives: raw, whole and bounded, or an error with its reason. Long bodies are counted while they come, so
 * that many at once cannot take more memory than was set aside. Looks at no byte of it.
 */
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, raw } from 'express';
import type { Clock } from '../tools/clock';
import { type Arrival, makeArriving } from './arriving';
import type { InFlight } from './in-flight';
import type { RefusalReason } from './refusals';
import type { Responder } from './respond';

/** Up to so many bytes of a body are counted once it is whole; the number of connections bounds them until then. */
const countedWholeBytesMax = 16 * 1024;

export interface ArrivalBounds {
  bodyBytesMax: number;
  bytesArrivingMax: number;
  arrivalProgressMs: number;
  retryAfterSeconds: number;
  /**
   * True when the headers alone have authenticated the sender: then the length that they declare is set aside at once, so
   * that of many large bodies some come in whole. A stranger's word sets nothing aside.
   */
  trustsLength: boolean;
}

/**
 * Refuses a body that is too large or for which there is no room, as early as it is known, and reads another into
 * `request.body` as a Buffer (undefined: no body). Up to 16 KiB are counted once they are whole.
 */
export function makeArrival(
  bounds: ArrivalBounds,
  inFlight: InFlight,
  responder: Responder,
  clock: Clock,
): RequestHandler[] {
  const { bodyBytesMax, retryAfterSeconds, trustsLength } = bounds;
  const arriving = makeArriving(
    {
      bytesMax: bounds.bytesArrivingMax,
      progressWithinMs: bounds.arrivalProgressMs,
      progressBytes: countedWholeBytesMax,
    },
    clock,
  );
  const overloaded = (request: Request, response: Response, cutOff: boolean) =>
    responder.refuse(request, response, 'overloaded', { retryAfterSeconds, cutOff });

  /** What it holds is free at its end: from then on the body counts as waiting for the store. */
  function begin(request: Request, response: Response): Arrival {
    const arrival = arriving.begin(() => {
      // Who has proved nothing is merely slow, and no sign of overload that anybody should be woken for.
      if (trustsLength) overloaded(request, response, true);
      else responder.refuse(request, response, 'slow-sender', { cutOff: true });
    });
    request.once('end', arrival.leave).once('close', arrival.leave);
    return arrival;
  }

  /** Its first bytes are not counted, like those of a short body: where all room is taken, a short one comes in whole. */
  function countWhileItArrives(request: Request, response: Response): void {
    const arrival = begin(request, response);
    let bytes = 0;
    let held = 0;
    request.on('data', (chunk: Buffer) => {
      if (response.headersSent) return;
      bytes += chunk.length;
      arrival.came(chunk.length);
      if (bytes > bodyBytesMax) responder.refuse(request, response, 'body-too-large');
      else if (bytes > countedWholeBytesMax) {
        if (arrival.hold(bytes - held)) held = bytes;
        else overloaded(request, response, true);
      }
    });
  }

  /** False when there is no room: the sender was told. */
  function countAtOnce(request: Request, response: Response, bytes: number): boolean {
    const arrival = begin(request, response);
    if (!arrival.hold(bytes)) {
      overloaded(request, response, false);
      return false;
    }
    request.on('data', (chunk: Buffer) => arrival.came(chunk.length));
    return true;
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
      overloaded(request, response, false);
      return;
    }
    if (declared !== undefined && bytes <= countedWholeBytesMax) next();
    else if (declared === undefined || !trustsLength) {
      countWhileItArrives(request, response);
      next();
    } else if (countAtOnce(request, response, bytes)) next();
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
