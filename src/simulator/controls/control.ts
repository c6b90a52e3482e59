// What the simulator's controls share: the parts they act on, and the answer of a control.
// A control answers with JSON; what it refuses is a sentence in `error`.
import type { Request, RequestHandler } from 'express';
import { isObject, type JsonObject } from '../json';
import type { Provider } from '../provider/provider';
import type { Deliveries } from '../webhooks/deliveries';
import type { Dispatch } from '../webhooks/dispatch';
import type { Sender } from '../webhooks/notifications';
import type { Poster } from '../webhooks/poster';
import type { Subscriptions } from '../webhooks/subscriptions';
import type { Faults } from './faults';
import type { RequestLog } from './request-log';

export interface Controls {
  provider: Provider;
  faults: Faults;
  requests: RequestLog;
  /** The line of `--deliver-to`. */
  deliveries: Deliveries;
  dispatch: Dispatch;
  poster: Poster;
  subscriptions: Subscriptions;
  sender: Sender;
  subscriptionId: string;
  /** The `Authorization` value and the token of deliveries, where a control names no others. */
  webhookSecrets: { authorization: string; token: string };
  retryMs: number;
}

/** What a control refuses, with the status it answers. */
export class BadControl extends Error {
  constructor(
    message: string,
    readonly status = 400,
  ) {
    super(message);
  }
}

/** A control that answers with the JSON its function returns. */
export function control(act: (request: Request) => unknown): RequestHandler {
  return (request, response) => {
    response.json(act(request));
  };
}

/** The JSON object a control was sent; nothing counts as an empty one. Throws a {@link BadControl} otherwise. */
export function objectBody(request: Request): JsonObject {
  const body: unknown = request.body ?? {};
  if (isObject(body)) return body;
  throw new BadControl('the body must be a JSON object');
}
