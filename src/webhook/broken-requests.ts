/**
 * Requests that never become one: too slow, not HTTP, headers too large, a tunnel that is asked for. Node hands over the
 * bare socket, so the answer is written byte by byte here, and the connection ends. Nothing of what came is repeated.
 */
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { HeadFault } from '../model/request-head';
import { answers, problemBody, type RefusalReason, refusalReasons } from './refusals';
import type { WebhookDoors } from './settings';

const reasonByCode: Record<string, RefusalReason> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'slow-sender',
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  HPE_INVALID_EOF_STATE: 'aborted',
  ECONNRESET: 'aborted',
  EPIPE: 'aborted',
};

/** Who does not read an answer in this time does not get it: no timeout of the server counts for such a connection. */
const readMsMax = 1000;

/** How a fault of the head is answered. */
export const ofHead: Record<HeadFault, RefusalReason> = {
  'host-missing': 'not-http',
  'expectation-unknown': 'expectation',
};

/**
 * Answers what is broken, unless that answer would be taken for the answer to a whole request before it. Whoever does not
 * read it within 1 s loses it with the connection.
 */
export function answerBrokenRequests(server: Server, refused: WebhookDoors['refused']): void {
  const latest = new WeakMap<Socket, ServerResponse>();
  server.on('request', (request, response) => latest.set(request.socket, response));
  // Node's own answer to one that it does not know would be bare.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  const answer = (socket: Socket, reason: RefusalReason, allow = ''): void => {
    const response = latest.get(socket);
    const code = refusalReasons[reason];
    const { status } = answers[code];
    if (reason === 'aborted' || !socket.writable || owesAnswer(response, socket)) {
      refused(reason, { status: 0, tookMs: null });
      // Another answer may have been given to it a moment ago, of which nothing is sent yet.
      if (response?.headersSent === true) endSoon(socket);
      else socket.destroy();
      return;
    }
    refused(reason, { status, tookMs: null });
    const body = problemBody(code);
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${allow}` +
        'Connection: close\r\n' +
        'Content-Type: application/problem+json\r\n' +
        `Content-Length: ${body.length}\r\n\r\n${body.toString()}`,
    );
    endSoon(socket);
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    answer(socket as Socket, reasonByCode[error.code ?? ''] ?? 'not-http'),
  );
  // Node destroys it without a word where nobody listens, and leaves the socket to whoever does.
  server.on('connect', (_request, socket) => {
    socket.on('error', () => {});
    answer(socket as Socket, 'method', 'Allow: POST\r\n');
  });
}

/** Whoever caused this has no claim on an orderly end. */
function endSoon(socket: Socket): void {
  socket.destroySoon();
  setTimeout(() => socket.destroy(), readMsMax).unref();
}

/** True when a whole request of this connection has no answer yet: this one, or one that is pipelined before it. */
function owesAnswer(response: ServerResponse | undefined, socket: Socket): boolean {
  if (response === undefined || response.writableFinished) return false;
  return response.req.complete || response.headersSent || response.socket !== socket;
}
