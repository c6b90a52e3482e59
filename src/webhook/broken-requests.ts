/**
 * Requests that never become one: too slow, not HTTP, headers too large. Node hands over the bare socket, so the answer
 * is written byte by byte here, and the connection ends. No request object exists; nothing of what came is repeated.
 */
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { answers, problemBody, type RefusalReason, refusalReasons } from './refusals';
import type { WebhookDoors } from './settings';

const reasonByCode: Record<string, RefusalReason> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'slow-sender',
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  HPE_INVALID_EOF_STATE: 'aborted',
  ECONNRESET: 'aborted',
  EPIPE: 'aborted',
};

/** Answers what is broken, unless that answer would be taken for the answer to a whole request before it. */
export function answerBrokenRequests(server: Server, refused: WebhookDoors['refused']): void {
  const latest = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (request, response) => latest.set(request.socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const reason = reasonByCode[error.code ?? ''] ?? 'not-http';
    const code = refusalReasons[reason];
    const { status } = answers[code];
    if (reason === 'aborted' || !socket.writable || owesAnswer(latest.get(socket), socket)) {
      refused(reason, { status: 0, tookMs: null });
      socket.destroy();
      return;
    }
    refused(reason, { status, tookMs: null });
    const body = problemBody(code);
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n` +
        'Connection: close\r\n' +
        'Content-Type: application/problem+json\r\n' +
        `Content-Length: ${body.length}\r\n\r\n${body.toString()}`,
      // Whoever caused this has no claim on an orderly end.
      () => socket.destroy(),
    );
  });
}

/** True when a whole request of this connection has no answer yet: this one, or one that is pipelined before it. */
function owesAnswer(response: ServerResponse | undefined, socket: Duplex): boolean {
  if (response === undefined || response.writableFinished) return false;
  return response.req.complete || response.headersSent || response.socket !== socket;
}
