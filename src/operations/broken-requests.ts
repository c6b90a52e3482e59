/**
 * Requests that never become one: too slow, not HTTP, headers too large, a tunnel that is asked for. Node hands over the
 * bare socket: the answer is written byte by byte, and the connection ends. Nothing of what came is repeated.
 */
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { HeadFault } from '../model/request-head';
import { type AnswerCode, answers } from './answers';

const codeOfError: Record<string, AnswerCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'operations.slow',
  HPE_HEADER_OVERFLOW: 'operations.headers-too-large',
};

/** Who does not read an answer in this time does not get it: no timeout of the server counts for such a connection. */
const readMsMax = 1000;

/** How a fault of the head is answered. */
export const ofHead: Record<HeadFault, AnswerCode> = {
  'host-missing': 'operations.bad-request',
  'expectation-unknown': 'operations.expectation',
};

/**
 * Answers what is broken, unless that answer would be taken for the answer to a request before it. Whoever does not read
 * it within 1 s loses it with the connection.
 */
export function answerBrokenRequests(server: Server): void {
  const latest = new WeakMap<Socket, ServerResponse>();
  server.on('request', (request, response) => latest.set(request.socket, response));
  // Node's own answer to one that it does not know would be bare.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  const answer = (socket: Socket, code: AnswerCode, allow = ''): void => {
    const response = latest.get(socket);
    const owes = response !== undefined && !response.writableFinished;
    if (!owes && socket.writable) socket.write(rawAnswer(code, allow));
    // An answer that was given a moment ago goes out; one that is still worked at goes nowhere.
    if (owes && !response.headersSent) socket.destroy();
    else socket.destroySoon();
    setTimeout(() => socket.destroy(), readMsMax).unref();
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    answer(socket as Socket, codeOfError[error.code ?? ''] ?? 'operations.bad-request'),
  );
  // Node destroys it without a word where nobody listens, and leaves the socket to whoever does.
  server.on('connect', (_request, socket) => {
    socket.on('error', () => {});
    answer(socket as Socket, 'operations.method', 'Allow: GET, HEAD\r\n');
  });
}

function rawAnswer(code: AnswerCode, allow: string): string {
  const { status, title } = answers[code];
  const body = JSON.stringify({ type: 'about:blank', title, status, code });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n${allow}\r\n${body}`;
}
