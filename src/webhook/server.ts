/**
 * The public listener: one HTTP server with every limit that a stranger could make use of, the route of deliveries, and
 * a place for further public routes. It starts, drains and closes; what a delivery means is decided elsewhere.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import { faultOfHead } from '../model/request-head';
import type { Clock } from '../tools/clock';
import { boundConnections } from '../tools/connections';
import { makeArrival, makeErrorAnswer } from './arrive';
import { makeAwaitStore } from './await-store';
import { answerBrokenRequests, ofHead } from './broken-requests';
import { type InFlight, makeInFlight } from './in-flight';
import { makeReceiver } from './receive';
import { makeResponder, type Responder } from './respond';
import {
  deliveryPath,
  limitsOf,
  type WebhookDoors,
  type WebhookLimits,
  type WebhookSettings,
} from './settings';
import { makeTurns } from './turns';

export interface WebhookServer {
  /** Rejects with the system's error (`EADDRINUSE`, …) when the address cannot be had. Port 0 takes a free one. */
  listen(host: string, port: number): Promise<{ port: number }>;
  /** Adds further public routes under a path that is not that of deliveries; they get helmet's headers. */
  mount(path: string, routes: RequestHandler): void;
  /**
   * From now on every answer closes its connection. Requests are still served, and idle connections stay until one comes
   * or `close` is called: what is on its way over them would be lost.
   */
  drain(): void;
  /**
   * Takes no new connection and lets requests finish for `graceMs`; those that still wait then are answered 503 and
   * every connection is ended. Resolves when none is left; may be called again.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Throws `settings.invalid` when no authentication is named or an HMAC secret is malformed. Starts nothing. A stop
 * takes what has come in at most 1,000 turns of the event loop.
 */
export function makeWebhookServer(settings: WebhookSettings, doors: WebhookDoors): WebhookServer {
  const limits = limitsOf(settings);
  const inFlight = makeInFlight(
    {
      bytesMax: limits.bytesInFlightMax,
      deliveriesMax: limits.deliveriesInFlightMax,
      answerWithinMs: limits.answerWithinMs,
    },
    doors.clock,
  );
  const responder = makeResponder(doors);
  const turns = makeTurns(doors.clock);
  const awaitStore = makeAwaitStore(inFlight, turns, responder, limits.retryAfterSeconds);
  const receiver = makeReceiver(settings, limits, doors, responder, awaitStore);
  const further = express.Router();
  const trustsLength = settings.auth !== 'none' && settings.auth.includes('authorization');
  const arrival = makeArrival({ ...limits, trustsLength }, inFlight, responder, doors.clock);
  const app = makeApp(
    [receiver.checkHeaders, ...arrival, awaitStore.waitForTurn, receiver.receiveBody],
    responder,
    further,
  );
  app.use(makeErrorAnswer(responder, limits.retryAfterSeconds));
  const server = makeServer(app, limits, responder);
  turns.watch(server);
  answerBrokenRequests(server, doors.refused);
  const connections = boundConnections(server, limits.connectionsMax, () =>
    doors.refused('too-many-connections', { status: 0, tookMs: null }),
  );
  const closeUnused = async () => {
    await takeWhatCame(server);
    server.closeIdleConnections();
    connections.closeSilent();
  };
  let closed: Promise<void> | null = null;

  return {
    mount: (path, routes) => void further.use(path, routes),
    async listen(host, port) {
      const listening = await listen(server, host, port);
      // Without a listener a connection that the system cannot give us would end the process.
      server.on('error', (cause) => doors.refused('connection-failed', { status: 0, tookMs: null, cause }));
      return listening;
    },
    drain: () => startDraining(server, responder),
    close(graceMs) {
      startDraining(server, responder);
      closed ??= close(server, inFlight, doors.clock, graceMs, closeUnused);
      return closed;
    },
  };
}

function makeApp(receive: RequestHandler[], responder: Responder, further: express.Router): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple');
  app.enable('strict routing').enable('case sensitive routing');
  app.post(deliveryPath, ...receive);
  app.all(deliveryPath, (request, response) => {
    responder.refuse(request, response, 'method', { allow: 'POST' });
  });
  app.use(helmet(), further);
  app.use((request, response) => responder.refuse(request, response, 'not-found'));
  return app;
}

function makeServer(app: Express, limits: WebhookLimits, responder: Responder): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: limits.connectionsCheckMs,
      keepAliveTimeout: limits.keepAliveMs,
      // Node's own answer would be bare, and counted by nobody.
      requireHostHeader: false,
    },
    (request, response) => {
      if (request.socket.destroyed) return;
      if (responder.draining()) response.setHeader('Connection', 'close');
      responder.began(request);
      const fault = faultOfHead(request);
      if (fault === null) return void app(request, response);
      // Whether its body follows is not known, so nothing can follow it.
      response.setHeader('Connection', 'close');
      responder.refuse(request, response, ofHead[fault]);
    },
  );
  // Whoever has said all may close its side and wait: without this, which no type tells of, it would be stored and never answered.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

function startDraining(server: Server, responder: Responder): void {
  responder.drain();
  // Answers of further routes that are under way no longer keep their connection for long.
  server.keepAliveTimeout = 1;
}

/** A turn of the event loop takes one connection, or reads once what has come over each; so many are enough for all. */
const turnsMax = 1000;
/** After so many turns without a new connection, everything that was there has been taken and read. */
const quietTurns = 3;

/**
 * Takes what the system has already: the connections of its queue, and what was sent over them. Senders that were there
 * before the end began get an answer. Bounded, since others may go on connecting.
 */
async function takeWhatCame(server: Server): Promise<void> {
  let taken = 0;
  const take = () => {
    taken += 1;
  };
  server.on('connection', take);
  for (let turn = 0, quiet = 0; turn < turnsMax && quiet < quietTurns; turn += 1) {
    const before = taken;
    await new Promise((resolve) => setImmediate(resolve));
    quiet = taken === before ? quiet + 1 : 0;
  }
  server.off('connection', take);
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

async function close(
  server: Server,
  inFlight: InFlight,
  clock: Clock,
  graceMs: number,
  closeUnused: () => Promise<void>,
): Promise<void> {
  const finished = new AbortController();
  const graceOver = clock.wait(graceMs, finished.signal);
  // Connections that wait in the system's queue would be reset.
  await takeWhatCame(server);
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      finished.abort();
      resolve();
    });
  });
  await closeUnused();
  await graceOver;
  inFlight.stop();
  if (!finished.signal.aborted) {
    // Those who were just told late get their answer written before their connection goes.
    await new Promise((resolve) => setImmediate(resolve));
    server.closeAllConnections();
  }
  await closed;
}
