// Posts one batch of notifications and waits for the receiver's answer: 204 in time, or it was not accepted.
// Promises one outcome for each batch, also when the connection breaks or nothing ever answers. Whether a batch is sent
// again is decided elsewhere.
import { Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import type { Json } from '../json';
import { DeliveryLog, type Outcome } from './delivery-log';

export interface Target {
  url: string;
  /** Sent verbatim; undefined = no header. */
  authorization: string | undefined;
  /** How long the receiver may take to answer. */
  answerMs: number;
}

/** The provider's limit for an answer. */
export const ANSWER_MS = 5_000;

export class Poster {
  readonly log: DeliveryLog;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #tlsAgent = new TlsAgent({ keepAlive: true });
  #stopped = false;

  constructor(nowMs: () => number) {
    this.log = new DeliveryLog(nowMs);
  }

  /** `done` is not called after {@link stop}. */
  post(target: Target, attempt: number, notifications: Json[], done: (accepted: boolean) => void): void {
    const { url, authorization, answerMs } = target;
    const entry = this.log.start(url, attempt, notifications);
    const body = Buffer.from(JSON.stringify(notifications));
    const secure = url.startsWith('https:');
    let settled = false;
    const finish = (outcome: Outcome): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      this.#timers.delete(timer);
      this.log.finish(entry, outcome);
      if (!this.#stopped) done(outcome.status === 204);
    };
    const outgoing = (secure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      agent: secure ? this.#tlsAgent : this.#agent,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': body.length,
        ...(authorization === undefined ? {} : { Authorization: authorization }),
      },
    });
    const timer = setTimeout(() => {
      finish({ status: undefined, error: `no answer within ${answerMs} ms` });
      outgoing.destroy();
    }, answerMs);
    this.#timers.add(timer);
    outgoing.on('response', (answer) => {
      answer.resume();
      answer.on('error', () => undefined);
      finish({ status: answer.statusCode, error: undefined });
    });
    outgoing.on('error', (problem: NodeJS.ErrnoException) =>
      finish({ status: undefined, error: problem.code ?? problem.message }),
    );
    outgoing.end(body);
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#agent.destroy();
    this.#tlsAgent.destroy();
  }
}
