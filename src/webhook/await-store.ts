/**
 * From a delivery in the hand to its answer: it is handed to the store, and its sender is told what became of it, in time
 * whatever the store does. A store that answers too late has its answer ignored, but its bytes are counted until then.
 */
import type { Request, Response } from 'express';
import type { InFlight, Waiting } from './in-flight';
import type { RefusalReason } from './refusals';
import type { Responder } from './respond';

export interface AwaitStore {
  /** Answers when `save` has resolved: 204, or the refusal named; 503 when it throws, is late or finds no room. */
  answerWhenSaved(
    request: Request,
    response: Response,
    bytes: number,
    save: () => Promise<unknown>,
    refusal?: RefusalReason,
  ): void;
}

export function makeAwaitStore(
  inFlight: InFlight,
  responder: Responder,
  retryAfterSeconds: number,
): AwaitStore {
  return {
    answerWhenSaved(request, response, bytes, save, refusal) {
      let open = true;
      const waiting: Waiting = {
        bytes,
        late() {
          open = false;
          responder.refuse(request, response, 'late', { retryAfterSeconds });
        },
      };
      if (!inFlight.enter(waiting)) {
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
