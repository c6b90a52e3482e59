/**
 * From a delivery in the hand to its answer: it is handed to the store, and its sender is told what became of it, in time
 * whatever the store does. A store that answers too late has its answer ignored, but its bytes are counted until then.
 */
import type { Request, RequestHandler, Response } from 'express';
import type { InFlight, Waiting } from './in-flight';
import type { RefusalReason } from './refusals';
import type { Responder } from './respond';
import type { Turns } from './turns';

export interface AwaitStore {
  /** Answers when `save` has resolved: 204, or the refusal named; 503 when it throws, is late or finds no room. */
  answerWhenSaved(
    request: Request,
    response: Response,
    bytes: number,
    save: () => Promise<unknown>,
    refusal?: RefusalReason,
  ): void;
  /** Lets a whole body wait for its turn to be judged: counted and told in time like one that waits for the store. */
  waitForTurn: RequestHandler;
}

export function makeAwaitStore(
  inFlight: InFlight,
  turns: Turns,
  responder: Responder,
  retryAfterSeconds: number,
): AwaitStore {
  return {
    waitForTurn(request, response, next) {
      const bytes = Buffer.isBuffer(request.body) ? request.body.length : 0;
      const late = () => responder.refuse(request, response, 'overloaded', { retryAfterSeconds });
      const waiting: Waiting = { bytes, late };
      turns.whole(request, bytes);
      if (!inFlight.enter(waiting, turns.waitedMs(request))) return late();
      turns.inTurn(() => {
        inFlight.leave(waiting);
        next();
      });
    },
    answerWhenSaved(request, response, bytes, save, refusal) {
      let open = true;
      const waiting: Waiting = {
        bytes,
        late() {
          open = false;
          responder.refuse(request, response, 'late', { retryAfterSeconds });
        },
      };
      if (!inFlight.enter(waiting, turns.waitedMs(request))) {
        responder.refuse(request, response, 'overloaded', { retryAfterSeconds });
        return;
      }
      save().then(
        () => {
          inFlight.leave(waiting);
          if (!open) return;
          if (refusal === undefined) responder.accepted(response);
          else responder.refuse(request, response, refusal);
        },
        (cause: unknown) => {
          inFlight.leave(waiting);
          if (open) responder.refuse(request, response, 'store-unavailable', { retryAfterSeconds, cause });
        },
      );
    },
  };
}
