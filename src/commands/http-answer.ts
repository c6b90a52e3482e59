/**
 * One request to a service of ours and the head of its answer, whose body is read by whoever asked. By `node:http`: the
 * `fetch` of Node takes as long to load as all else that a command is made of.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import type * as Https from 'node:https';

export interface Asked {
  method: string;
  headers: Record<string, string>;
  body: string | null;
}

/** What is known of an answer before its body is read. */
export interface AnswerHead {
  url: string;
  headers: { get(name: string): string | null };
}

export interface HttpAnswer extends AnswerHead {
  status: number;
  /** Throws where it breaks off, or is given up. */
  body: AsyncIterable<Uint8Array>;
  /** To be called with each piece of the body: it is given up when nothing comes for so long. */
  heard(): void;
  /** No more of it is wanted. */
  leave(): void;
}

/** Nothing came in time. */
export class NoAnswerInTime extends Error {}

/**
 * Rejects with the system's error, which has a code, with one that has none where what comes is no answer, and with
 * `NoAnswerInTime` where nothing comes for `silenceMs`, which the body throws as well. A redirect is an answer like others,
 * and not followed.
 */
export function answerTo(address: URL, asked: Asked, silenceMs: number): Promise<HttpAnswer> {
  const { method, headers, body } = asked;
  return new Promise((resolve, reject) => {
    const { request: requestHttps } =
      address.protocol === 'https:' ? (require('node:https') as typeof Https) : { request: requestHttp };
    // A connection of its own: one that was kept may end as it is used.
    const sent = requestHttps(address, { method, headers, agent: false });
    let late: NoAnswerInTime | null = null;
    const timer = setTimeout(() => {
      late = new NoAnswerInTime();
      sent.destroy(late);
    }, silenceMs);
    timer.unref();
    sent.once('close', () => {
      clearTimeout(timer);
      // Of an answer that goes over to another protocol Node says nothing else.
      reject(new Error('no answer'));
    });
    // Also what comes after the head, which the body tells.
    sent.on('error', (error) => reject(late ?? error));
    sent.once('response', (came: IncomingMessage) =>
      resolve({
        status: came.statusCode!,
        url: address.href,
        headers: { get: (name) => came.headers[name]?.toString() ?? null },
        body: piecesOf(came, () => late),
        heard: () => void timer.refresh(),
        leave: () => void came.destroy(),
      }),
    );
    sent.end(body ?? undefined);
  });
}

async function* piecesOf(came: IncomingMessage, late: () => Error | null): AsyncGenerator<Uint8Array> {
  try {
    yield* came as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw late() ?? error;
  }
}
