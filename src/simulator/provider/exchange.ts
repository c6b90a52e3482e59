// One request and its answer: what a route needs to know, and the only place that writes to the socket.
// Promises the provider's headers on every answer (`Date` comes from node) and chunked bodies.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Verdict } from '../auth/verdict';
import type { Fault } from '../controls/faults';
import type { RequestRecord } from '../controls/request-log';
import type { Json } from '../json';
import { distort } from './distort';
import { withNextPage } from './next-page';

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  api: 'platform' | 'equipment';
  vendor: string;
  verdict: Verdict;
  /** The path below the API's base, without query and matrix parameters. */
  path: string;
  /** The query as sent, without the question mark. */
  query: string;
  /** The request carried matrix paging parameters or the old paging header. */
  oldPaging: boolean;
  /** The matrix parameters of the path, each with its semicolon; empty without any. */
  matrix: string;
  body: Buffer | undefined;
  fault: Fault | undefined;
  record: RequestRecord;
  startedAtMs: number;
}

export interface Answer {
  status?: number;
  /** Serialized here; `text` goes out as it is. */
  json?: Json;
  text?: string | Buffer;
  /** Sent part by part, with its length; never in memory whole unless a fault distorts it. */
  bytes?: { parts: Iterable<Buffer>; length: number };
  contentType?: string;
  headers?: Record<string, string>;
}

/** The value of a request header that is not a list. */
export function header(exchange: Exchange, name: string): string | undefined {
  const value = exchange.request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

export function mediaType(exchange: { api: Exchange['api']; vendor: string }): string {
  return exchange.api === 'platform'
    ? `application/vnd.${exchange.vendor}.axiom.v3+json`
    : 'application/json';
}

function shown(exchange: Exchange, json: Json): Json {
  const kind = exchange.fault?.nextPage;
  if (kind === undefined) return json;
  return withNextPage(`http://${exchange.request.headers.host}${exchange.record.url}`, json, kind);
}

/** Writes the answer, distorted where a fault says so. */
export function send(exchange: Exchange, answer: Answer): void {
  const { response, record, fault } = exchange;
  if (response.destroyed || response.headersSent) return;
  const status = answer.status ?? 200;
  const elapsedMs = performance.now() - exchange.startedAtMs;
  record.status = status;
  record.tookMs = elapsedMs;
  const headers = headersOf(exchange, answer, status, elapsedMs);
  if (answer.bytes && !fault) {
    response.writeHead(status, headers);
    pipeline(Readable.from(answer.bytes.parts), response, () => undefined);
    return;
  }
  const body = answer.bytes ? Buffer.concat([...answer.bytes.parts]) : textOf(exchange, answer);
  if (fault) {
    distort(response, fault, status, headers, Buffer.from(body));
    return;
  }
  response.writeHead(status, headers);
  response.end(body);
}

function textOf(exchange: Exchange, answer: Answer): string | Buffer {
  return answer.text ?? (answer.json === undefined ? '' : JSON.stringify(shown(exchange, answer.json)));
}

function headersOf(
  exchange: Exchange,
  answer: Answer,
  status: number,
  elapsedMs: number,
): Record<string, string> {
  const headers: Record<string, string> = {
    [`X-${exchange.vendor}-Elapsed-Ms`]: String(Math.round(elapsedMs)),
    'Content-Language': 'en',
    ...answer.headers,
  };
  if (status === 204 || status === 304) return headers;
  headers['Content-Type'] = answer.contentType ?? `${mediaType(exchange)};charset=UTF-8`;
  if (answer.bytes) headers['Content-Length'] = String(answer.bytes.length);
  else headers['Transfer-Encoding'] = 'chunked';
  return headers;
}
