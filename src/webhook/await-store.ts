/**
 * From a delivery in the hand to its answer: it is handed to the store, and its sender is told what became of it, in time
 * whatever the store does. A store that answers too late has its answer ignored, but its bytes are counted until then.
 */
import type { Duplex } from 'node:stream';
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
  /** True while a whole delivery that came by this connection waits for the store. */
  awaitsAnswer(socket: Duplex): boolean;
}

export function makeAwaitStore(
  inFlight: InFlight,
  responder: Responder,
  retryAfterSeconds: number,
): AwaitStore {
  const awaiting = new WeakSet<Duplex>();
  return {
    awaitsAnswer: (socket) => awaiting.has(socket),

    answerWhenSaved(request, response, bytes, save, refusal) {
      const { socket } = request;
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
      awaiting.add(socket);
      const leave = () => {
        inFlight.leave(waiting);
        awaiting.delete(socket);
      };
      save().then(
        () => {
          leave();
          if (!open) return;
          if (refusal === undefined) responder.accepted(response);
          else responder.refuse(request, response, refusal);
        },
        (cause: unknown) => {
          leave();
          if (open) responder.refuse(request, response, 'store-unavailable', { retryAfterSeconds, cause });
        },
      );
    },
  };
}
