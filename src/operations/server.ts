/**
 * The operations listener: probes, metrics and the API, on an address of their own. It has the limits of a public
 * listener, reads small bodies only, and goes on answering probes while the process drains. What the answers hold is decided
 * next door.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { Api } from '../model/api';
import { faultOfHead } from '../model/request-head';
import { boundConnections } from '../tools/connections';
import type { Secret } from '../tools/secret';
import { refuse, refuseError } from './answers';
import { answerBrokenRequests, ofHead } from './broken-requests';
import { judgeCaller } from './guard';
import type { Route } from './route';
import { apiRoutes } from './routes';
import { Streamed, sendStreamed } from './streamed';

export interface OperationsDoors {
  api: Api;
  health: {
    live(): { status: 'live' };
    ready(): Promise<{ status: 'ready' } | { status: 'not-ready'; reason: string }>;
  };
  metricsText(): Promise<string>;
  /** null: the API answers this machine only. */
  token: Secret | null;
  /** A fault of our own, for the log. */
  fault(error: unknown): void;
}

export interface OperationsServer {
  /** Rejects with the system's error (`EADDRINUSE`, …). Port 0 takes a free one. */
  listen(host: string, port: number): Promise<{ port: number }>;
  /** From now on every answer closes its connection. */
  drain(): void;
  /** Takes no new connection, lets answers finish for `graceMs`, then ends all; false when one was cut off. May be called again. */
  close(graceMs: number): Promise<boolean>;
  app: Express;
}

/** Whoever holds more connections than this is not a probe or an operator: the longest idle ends for one more. */
export const operationsConnectionsMax = 512;
const limits = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  // Node looks every 30 s otherwise, and the two timeouts above would mean nothing.
  connectionsCheckingInterval: 500,
  keepAliveTimeout: 10_000,
  // Node's own answer to it would be bare.
  requireHostHeader: false,
  // Of 8 KiB of an address that `explain` is asked for, each byte may be written as three.
  maxHeaderSize: 32_768,
};

/**
 * The listener for probes, metrics and the API: apart from the one for deliveries, so that load there leaves these
 * answering. Takes no more than small bodies, on the routes that have one. At most 512 connections, or as many as are given.
 */
export function makeOperationsServer(
  doors: OperationsDoors,
  connectionsMax = operationsConnectionsMax,
): OperationsServer {
  const app = makeApp(doors);
  let draining = false;
  const underWay = new Set<IncomingMessage>();
  const server = createServer(limits, (request, response) => {
    if (request.socket.destroyed) return;
    underWay.add(request);
    response.once('close', () => underWay.delete(request));
    if (draining) response.setHeader('Connection', 'close');
    // Few routes take a body; what is sent may not be read, and the connection is then of no further use.
    if (
      request.headers['content-length'] !== undefined ||
      request.headers['transfer-encoding'] !== undefined
    ) {
      response.setHeader('Connection', 'close');
    }
    app(request, response);
  });
  // As the public listener: a probe that says all and closes its side, as `nc` does, is answered.
  Object.assign(server, { httpAllowHalfOpen: true });
  boundConnections(server, connectionsMax, () => {});
  answerBrokenRequests(server);
  let closed: Promise<boolean> | null = null;
  return {
    app,
    async listen(host, port) {
      const listening = await listen(server, host, port);
      // Without a listener a connection that the system cannot give us would end the process.
      server.on('error', doors.fault);
      return listening;
    },
    drain() {
      draining = true;
      server.closeIdleConnections();
    },
    close(graceMs) {
      draining = true;
      closed ??= close(server, graceMs, () => [...underWay].some(isCutOff));
      return closed;
    },
  };
}

/**
 * Who goes away ends its side as one does that has said all and waits. Where only something was to be read, nobody is taken to be
 * cut off then; what else was begun is broken off whoever waits for it.
 */
function isCutOff({ method, socket }: IncomingMessage): boolean {
  return method !== 'GET' || !socket.readableEnded;
}

function makeApp(doors: OperationsDoors): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.enable('strict routing').enable('case sensitive routing');
  app.use(helmet());
  app.use((request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    const fault = faultOfHead(request);
    if (fault === null) return next();
    // Whether its body follows is not known, so nothing can follow it.
    response.setHeader('Connection', 'close');
    refuse(response, ofHead[fault]);
  });
  /** All methods of a path at once, so that another one is told which there are. */
  const serve = (path: string, handlers: Handlers, guarded = false) => {
    const route = app.route(path);
    if (guarded) route.all(guard(doors.token));
    const methods = Object.keys(handlers) as Method[];
    for (const method of methods) route[method](...(handlers[method] as RequestHandler[]));
    route.all((_request, response) => {
      const allowed = methods.map((method) => (method === 'get' ? 'GET, HEAD' : method.toUpperCase()));
      response.setHeader('Allow', allowed.join(', '));
      refuse(response, 'operations.method');
    });
  };
  const only = (path: string, method: Method, handler: RequestHandler) =>
    serve(path, { [method]: [handler] });
  only('/', 'get', (_request, response) => {
    response.type('text/plain').send(indexText());
  });
  only('/healthz', 'get', (_request, response) => {
    response.json(doors.health.live());
  });
  only('/readyz', 'get', async (_request, response) => {
    const ready = await doors.health.ready();
    response.status(ready.status === 'ready' ? 200 : 503).json(ready);
  });
  only('/metrics', 'get', async (_request, response) => {
    response.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8');
    response.send(await doors.metricsText());
  });
  for (const [path, routes] of Map.groupBy(apiRoutes, (route) => route.path)) {
    const handlers = routes.map((route) => [route.method, handlersOf(route, doors.api)] as const);
    serve(path, Object.fromEntries(handlers), true);
  }
  // A stranger does not learn which routes exist.
  app.use('/api', guard(doors.token));
  app.use((_request, response) => refuse(response, 'operations.not-found'));
  const answerError: ErrorRequestHandler = (error, _request, response, _next) =>
    refuseError(response, error, doors.fault);
  app.use(answerError);
  return app;
}

type Method = Route['method'];
type Handlers = Partial<Record<Method, RequestHandler[]>>;

const bodyBytesMax = 16_384;
const readJson = express.json({ limit: bodyBytesMax, strict: true, type: 'application/json' });

function handlersOf({ answer, takesBody }: Route, api: Api): RequestHandler[] {
  const handler: RequestHandler = async (request, response) => {
    const [, search = ''] = /\?(.*)$/s.exec(request.url) ?? [];
    const { id } = request.params;
    const body: unknown = takesBody ? request.body : undefined;
    const answered = await answer(api, { id: typeof id === 'string' ? id : '', search, body });
    if (answered instanceof Streamed) await sendStreamed(response, answered);
    else response.json(answered);
  };
  return takesBody ? [readJson, handler] : [handler];
}

function guard(token: Secret | null): RequestHandler {
  return (request, response, next) => {
    const verdict = judgeCaller(request, token);
    if (verdict === 'admitted') return next();
    if (verdict === 'operations.unauthenticated') response.setHeader('WWW-Authenticate', 'Bearer');
    refuse(response, verdict);
  };
}

function indexText(): string {
  const open = ['GET    /healthz', 'GET    /readyz', 'GET    /metrics'];
  const guarded = apiRoutes.map(({ method, path, summary }) => {
    const shown = path.replace(/:(\w+)/g, '{$1}');
    return `${method.toUpperCase().padEnd(6)} ${shown.padEnd(34)} ${summary}`;
  });
  return ['Tramline', '', ...open, ...guarded, ''].join('\n');
}

function listen(server: Server, host: string, port: number): Promise<{ port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve({ port: (server.address() as AddressInfo).port });
    });
  });
}

async function close(server: Server, graceMs: number, isAtWork: () => boolean): Promise<boolean> {
  let isCut = false;
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    isCut = isAtWork();
    server.closeAllConnections();
  }, graceMs);
  await closed;
  clearTimeout(timer);
  return !isCut;
}
