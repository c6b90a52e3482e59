/**
 * The path of one POST: authenticate by headers → media type → raw body → authenticate by bytes → parse → tokens →
 * judge each element → the store → answer. Whatever fails on the way is refused with its own reason; a delivery is
 * answered 204 only after the store has it. Nothing is retried or remembered here.
 */
import { hash } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Delivery, Element, QuarantineReason } from '../model/notification';
import { isProblem } from '../model/problem';
import { Secret } from '../tools/secret';
import { type Authenticator, makeAuthenticator, type TokenVerdict } from './authenticate';
import type { AwaitStore } from './await-store';
import { makeFailureLimit } from './failed-authentication';
import { type Judge, makeJudge } from './judge';
import { checkMediaType } from './media-type';
import { type BodyElements, readBody } from './read-body';
import { redactBody } from './redact';
import type { RefusalReason } from './refusals';
import type { Responder } from './respond';
import type { WebhookDoors, WebhookLimits, WebhookSettings } from './settings';
import { readTraceparent } from './traceparent';

const noBytes = Buffer.alloc(0);

export interface Receiver {
  /** Refuses what its headers alone refuse; before the body is read. */
  checkHeaders: RequestHandler;
  /** Takes the whole body from `request.body`. */
  receiveBody: RequestHandler;
}

type RefuseStranger = (request: Request, response: Response, reason: RefusalReason) => void;

/** Throws `settings.invalid` when one of the current HMAC secrets is malformed. */
export function makeReceiver(
  settings: WebhookSettings,
  limits: WebhookLimits,
  doors: WebhookDoors,
  responder: Responder,
  awaitStore: AwaitStore,
): Receiver {
  const authenticator = makeAuthenticator(settings, doors.used);
  const currentSecrets = makeCurrentSecrets(settings);
  const judge = makeJudge(settings.eventTypes, currentSecrets);
  const refuseStranger = makeRefuseStranger(limits, doors, responder);
  return {
    checkHeaders(request, response, next) {
      const stranger = authenticator.checkHeaders(request.headers);
      if (stranger !== null) {
        refuseStranger(request, response, stranger);
        return;
      }
      const unreadable = checkMediaType(request.headers);
      if (unreadable === null) next();
      else responder.refuse(request, response, unreadable);
    },
    receiveBody: makeReceiveBody({ doors, authenticator, judge, awaitStore, refuseStranger, currentSecrets }),
  };
}

/** The same list as long as the lists that it comes from are the same: what is made of it need not be made again. */
function makeCurrentSecrets(settings: WebhookSettings): () => readonly Secret[] {
  let sources: unknown[] = [];
  let secrets: readonly Secret[] = [];
  return () => {
    const lists = [settings.tokens(), settings.authorizationValues(), settings.hmacSecrets()] as const;
    if (lists.every((list, place) => list === sources[place])) return secrets;
    const [tokens, values, hmacSecrets] = lists;
    sources = [...lists];
    secrets = [...tokens.map(({ token }) => token), ...values.flatMap(withoutScheme), ...hmacSecrets];
    return secrets;
  };
}

/** The whole value and, where it has a scheme, what stands behind that: either may be quoted. */
function withoutScheme(value: Secret): Secret[] {
  const credentials = /^\S+ +(\S.*)$/.exec(value.open())?.[1];
  return credentials === undefined ? [value] : [value, new Secret(credentials)];
}

function makeRefuseStranger(
  limits: WebhookLimits,
  doors: WebhookDoors,
  responder: Responder,
): RefuseStranger {
  const windowMs = limits.failedAuthenticationWindowMs;
  const limitFailures = makeFailureLimit(
    { failuresMax: limits.failedAuthenticationsMax, windowMs },
    doors.clock,
    (request, response) => {
      responder.refuse(request, response, 'too-many-failures', {
        retryAfterSeconds: Math.ceil(windowMs / 1000),
      });
    },
  );
  return (request, response, reason) => {
    void limitFailures(request, response, () => responder.refuse(request, response, reason));
  };
}

interface BodyParts {
  doors: WebhookDoors;
  authenticator: Authenticator;
  judge: Judge;
  awaitStore: AwaitStore;
  refuseStranger: RefuseStranger;
  currentSecrets(): readonly Secret[];
}

function makeReceiveBody({
  doors,
  authenticator,
  judge,
  awaitStore,
  refuseStranger,
  currentSecrets,
}: BodyParts): RequestHandler {
  return (request, response) => {
    // Refused while its body was arriving.
    if (response.headersSent) return;
    const body: Buffer = Buffer.isBuffer(request.body) ? request.body : noBytes;
    // What waits for the store is the judged elements, not the bytes.
    request.body = undefined;
    const { headers } = request;
    const receivedAtMs = doors.clock.nowMs();
    const stranger = authenticator.checkBody(headers, body, receivedAtMs);
    if (stranger !== null) {
      refuseStranger(request, response, stranger);
      return;
    }
    const reading = readBody(body);
    if ('fault' in reading) {
      if (!authenticator.authenticatesBody) {
        refuseStranger(request, response, 'token-unreadable');
        return;
      }
      const sample = redactBody(body, currentSecrets());
      const keep = async () => doors.keepSample(hash('sha256', body), reading.fault, sample);
      awaitStore.answerWhenSaved(request, response, body.length, keep, 'body-unreadable');
      return;
    }
    const { verdicts, refusal } = authenticator.checkTokens(reading.elements);
    if (refusal !== null) {
      refuseStranger(request, response, refusal);
      return;
    }
    const delivery = {
      receivedAtMs,
      messageId: authenticator.signsMessageId ? (headers['webhook-id'] as string) : null,
      bodyHash: hash('sha256', body),
      bytes: body.length,
      traceparent: readTraceparent(headers.traceparent),
      elements: judgeAll(judge, reading, verdicts),
    };
    for (const id of heartbeatsOf(delivery.elements, verdicts)) doors.heartbeat?.(id);
    const setAside = (reason: QuarantineReason) =>
      reading.elements.map((element, at) => judge.setAside(element, reason, '', reading.repeated.get(at)));
    awaitStore.answerWhenSaved(request, response, body.length, () => accept(doors, delivery, setAside));
  };
}

/**
 * A delivery that the store cannot take as it is would come for ever, and one whose message id came before with another
 * body may be news all the same: each is kept whole for an operator instead.
 */
async function accept(
  doors: WebhookDoors,
  delivery: Delivery,
  setAside: (reason: QuarantineReason) => Element[],
): Promise<void> {
  try {
    const { idReused } = await doors.accept(delivery);
    if (!idReused) return;
    // Under an id of its own: however often this body comes, it is kept once.
    const messageId = `${delivery.messageId}#${delivery.bodyHash}`;
    await doors.accept({ ...delivery, messageId, elements: setAside('message-id-reused') });
  } catch (error) {
    if (!isProblem(error, 'store.refused')) throw error;
    doors.storeRefused?.(error.message);
    await doors.accept({ ...delivery, elements: setAside('store-refused') });
  }
}

/** Ids of the tokens that heartbeats carried. */
function heartbeatsOf(elements: readonly Element[], verdicts: readonly TokenVerdict[]): string[] {
  return elements.flatMap((element, at) => {
    const id = verdicts[at]?.id;
    return id !== undefined && element.line === 'acted' && element.eventTypeId === 'heartbeat' ? [id] : [];
  });
}

function judgeAll(judge: Judge, body: BodyElements, verdicts: readonly TokenVerdict[]): Element[] {
  return body.elements.map((element, at) => {
    const { holds, user } = verdicts[at] as TokenVerdict;
    const repeated = body.repeated.get(at);
    if (!holds) return judge.setAside(element, 'unauthenticated', '/token', repeated);
    // The last was built; the sender may have meant the first.
    if (repeated !== undefined) return judge.setAside(element, 'repeated-member', repeated.path, repeated);
    return judge.judge(element, user);
  });
}
