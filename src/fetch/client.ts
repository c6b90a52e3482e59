/**
 * The only outgoing HTTP of this room: node:http and node:https with keep-alive agents. One request at a time for an
 * attempt, no redirect followed, the body capped before and after decompression and read to its very end. It never
 * rejects: whatever goes wrong is an exchange with a code. It knows nothing of JSON, tokens or the provider.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { Attempt, Cut } from './attempt';
import { type Decoded, decodeBody } from './decode-body';
import { failureCode } from './failure-code';
import { isReachable } from './reachable';

export type ReceivedHeaders = http.IncomingHttpHeaders;
export type SentHeaders = Record<string, string>;

/** An answer that was read whole, or why none was, and how many bytes of its body came. */
export type Exchange =
  | { status: number; headers: ReceivedHeaders; body: Buffer; wireBytes: number }
  | { status: null; code: string; wireBytes: number };

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request as it is sent; its headers come apart, since they are made anew for a repetition. */
export interface Sent {
  method: Method;
  url: URL;
  body: Buffer | null;
  /** Asked when its connection stands and nothing is written to it yet: where it answers no, nothing is, and it fails with `held-back`. */
  maySend?: (() => boolean) | undefined;
}

export interface HttpClient {
  /**
   * `headersOf` is asked again for the one repetition that a dead keep-alive connection earns; POST and PATCH earn none,
   * since they may have been acted upon. Ends with the attempt's cut at the latest; the codes of a failed exchange are
   * those of `failureCode`.
   */
  send(sent: Sent, headersOf: () => SentHeaders, attempt: Attempt): Promise<Exchange>;
  /** Closes every connection; what is under way fails with `aborted`. */
  close(): void;
}

export interface HttpBounds {
  bodyBytesMax: number;
  connectionsMax: number;
}

type Done = (exchange: Exchange, mayRepeat: boolean) => void;

export function makeHttpClient(bounds: HttpBounds): HttpClient {
  const { bodyBytesMax, connectionsMax: maxSockets } = bounds;
  const underWay = new Set<(cut: Cut) => void>();
  const kept = { agents: agentsOf({ keepAlive: true, maxSockets }), bodyBytesMax, underWay };
  // A repetition gets a connection of its own: the pool may hold more dead ones.
  const fresh = { agents: agentsOf({ keepAlive: false, maxSockets }), bodyBytesMax, underWay };
  let closed = false;
  return {
    send(sent, headersOf, attempt) {
      const { method } = sent;
      const repeatable = method !== 'POST' && method !== 'PATCH';
      return new Promise((resolve) => {
        if (closed || attempt.cut !== null) return resolve(failed(attempt.cut ?? 'aborted'));
        const finish = (exchange: Exchange) => {
          attempt.whenCut(null);
          if (closed && exchange.status === null) exchange.code = 'aborted';
          resolve(exchange);
        };
        exchangeOnce(sent, headersOf, attempt, kept, (first, mayRepeat) => {
          if (!mayRepeat || !repeatable || closed || attempt.cut !== null) return finish(first);
          attempt.cost.resends += 1;
          exchangeOnce(sent, headersOf, attempt, fresh, finish);
        });
      });
    },
    close() {
      closed = true;
      // Also what waits for a connection: a place that becomes free is given to the next.
      for (const stop of [...underWay]) stop('aborted');
      for (const { plain, secure } of [kept.agents, fresh.agents]) {
        plain.destroy();
        secure.destroy();
      }
    },
  };
}

function exchangeOnce(
  { method, url, body, maySend }: Sent,
  headersOf: () => SentHeaders,
  attempt: Attempt,
  { agents, bodyBytesMax, underWay }: Way,
  done: Done,
): void {
  let answered = false;
  let settled = false;
  const settle = (exchange: Exchange, mayRepeat = false) => {
    if (settled) return;
    settled = true;
    underWay.delete(stop);
    done(exchange, mayRepeat);
  };
  let came = () => 0;
  let request: http.ClientRequest;
  const stop = (cut: Cut) => {
    settle(failed(cut, came()));
    request.destroy();
  };
  const secure = url.protocol === 'https:';
  try {
    request = (secure ? https : http).request({
      method,
      protocol: url.protocol,
      hostname: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
      port: url.port,
      path: url.pathname + url.search,
      headers: writeHeaders(method, url, headersOf(), body),
      agent: secure ? agents.secure : agents.plain,
    });
  } catch {
    // A header that cannot be sent, such as a token with a line break; its value stays out of the detail.
    settle(failed('request-invalid'));
    return;
  }
  underWay.add(stop);
  attempt.whenCut(stop);
  request.on('response', (response) => {
    answered = true;
    came = collect(response, bodyBytesMax, settle);
  });
  request.on('error', (error) => {
    const code = failureCode(error);
    settle(failed(code), !answered && request.reusedSocket && code === 'connection-reset');
  });
  request.on('close', () => {
    if (!answered) settle(failed('connection-reset'));
  });
  const send = () => void request.end(body ?? undefined);
  const sendIfItMay = () => {
    if (maySend?.() !== false) return send();
    settle(failed('held-back'));
    request.destroy();
  };
  if (maySend === undefined) send();
  else onceConnected(request, sendIfItMay);
}

/** A socket that was used before is given as it stands; a new one connects first, and over TLS agrees on its keys. */
function onceConnected(request: http.ClientRequest, then: () => void): void {
  request.once('socket', (socket) => {
    if (socket.connecting) socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', then);
    else then();
  });
}

/** In pairs, as they are written: headers that come as an object are kept and checked one by one first. */
function writeHeaders(method: Method, url: URL, headers: SentHeaders, body: Buffer | null): string[] {
  const pairs = ['Host', url.host];
  for (const name in headers) pairs.push(name, headers[name] as string);
  const isRead = method === 'GET' || method === 'DELETE';
  if (body !== null || !isRead) pairs.push('Content-Length', String(body?.length ?? 0));
  return pairs;
}

/**
 * Reads the body to its end, and says at any time how many bytes of it came. A length that promises more than the cap is not
 * read at all.
 */
function collect(response: http.IncomingMessage, bodyBytesMax: number, settle: (exchange: Exchange) => void) {
  const chunks: Buffer[] = [];
  let wireBytes = 0;
  const came = () => wireBytes;
  const refuse = (code: string) => {
    settle(failed(code, wireBytes));
    response.destroy();
  };
  if (Number(response.headers['content-length']) > bodyBytesMax) {
    refuse('body-too-large');
    return came;
  }
  response.on('data', (chunk: Buffer) => {
    wireBytes += chunk.length;
    if (wireBytes > bodyBytesMax) return refuse('body-too-large');
    chunks.push(chunk);
  });
  response.on('error', () => settle(failed('body-cut', wireBytes)));
  response.on('close', () => {
    if (!response.readableEnded) settle(failed('body-cut', wireBytes));
  });
  response.on('end', () => {
    if (!response.complete) return refuse('body-cut');
    const received = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, wireBytes);
    const { statusCode = 0, headers } = response;
    const finish = (decoded: Decoded) => {
      if (typeof decoded === 'string') settle(failed(decoded, wireBytes));
      else settle({ status: statusCode, headers, body: decoded, wireBytes });
    };
    const decoded = decodeBody(received, headers['content-encoding'], bodyBytesMax);
    if (decoded instanceof Promise) void decoded.then(finish);
    else finish(decoded);
  });
  return came;
}

function failed(code: string, wireBytes = 0): Exchange {
  return { status: null, code, wireBytes };
}

/** By which a request goes out, and what stops those that are under way. */
interface Way {
  agents: Agents;
  bodyBytesMax: number;
  underWay: Set<(cut: Cut) => void>;
}

interface Agents {
  plain: http.Agent;
  secure: https.Agent;
}

function agentsOf(options: https.AgentOptions): Agents {
  return { plain: guarded(new http.Agent(options)), secure: guarded(new https.Agent(options)) };
}

/** Judges each socket in the moment it is connected, before the request or a TLS greeting is written to it. */
function guarded<A extends http.Agent>(agent: A): A {
  const create = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = create(options, callback) as (Duplex & { remoteAddress?: string }) | null | undefined;
    socket?.prependOnceListener('connect', () => {
      if (isReachable(options.host ?? '', socket.remoteAddress)) return;
      socket.destroy(Object.assign(new Error('the address is not public'), { code: 'EADDRESSPRIVATE' }));
    });
    return socket;
  };
  return agent;
}
