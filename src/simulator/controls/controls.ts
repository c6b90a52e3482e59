// The simulator's controls under `/_simulator/`, for tests and for people: look at the truth, change it, misbehave.
// Promises to answer loopback callers only, and 400 with a sentence for anything misspelt. No part of the provider.
import express, { type ErrorRequestHandler, type RequestHandler, type Router } from 'express';
import { isObject } from '../json';
import { SANDBOX_CALLS_A_MONTH } from '../provider/sandbox';
import { isDay } from '../rules';
import { changeSettings } from '../settings';
import { serveAccountControls } from './account-controls';
import { BadControl, type Controls, control, objectBody } from './control';
import { readFaults } from './faults';
import { serveResourceControls } from './resource-controls';
import { writeState } from './state';
import { serveWebhookControls } from './webhook-controls';

const BODY_BYTES_MAX = '64mb';
const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

/** All controls, to be mounted at `/_simulator`. Doubled slashes in an address are read as one. */
export function controlRouter(controls: Controls): Router {
  const router = express.Router();
  router.use(loopbackOnly);
  router.use((request, _response, next) => {
    request.url = request.url.replace(/^\/+/, '/');
    next();
  });
  router.use(express.json({ limit: BODY_BYTES_MAX, strict: false, type: () => true }));
  serveLooking(router, controls);
  serveActing(router, controls);
  serveAccountControls(router, controls);
  serveResourceControls(router, controls);
  serveWebhookControls(router, controls);
  router.use((_request, _response) => {
    throw new BadControl('no such control', 404);
  });
  router.use(sayWhy);
  return router;
}

function serveLooking(router: Router, controls: Controls): void {
  const { provider, requests } = controls;
  router.get('/state', async (request, response) => {
    const organizationId =
      typeof request.query.organization === 'string' ? request.query.organization : undefined;
    response.type('application/json');
    await writeState(provider, response, { organizationId, content: request.query.content !== 'false' });
  });
  router.get(
    '/requests',
    control((request) => requests.list(Number(request.query.since ?? 0) || 0)),
  );
  router.delete(
    '/requests',
    control(() => requests.clear() ?? {}),
  );
  router.get(
    '/coverage',
    control(() => provider.coverage.rows()),
  );
  router.get(
    '/coverage/events',
    control(() => provider.coverage.events()),
  );
}

function serveActing(router: Router, controls: Controls): void {
  const { provider, faults } = controls;
  router.get(
    '/faults',
    control(() => faults.list),
  );
  router.put(
    '/faults',
    control((request) => {
      faults.set(readFaults(request.body));
      return faults.list;
    }),
  );
  router.post(
    '/links/move',
    control(() => {
      provider.addresses.move();
      return { moves: provider.addresses.moves };
    }),
  );
  router.get(
    '/settings',
    control(() => provider.settings),
  );
  router.patch(
    '/settings',
    control((request) => {
      changeSettings(provider.settings, objectBody(request));
      return provider.settings;
    }),
  );
  router.get(
    '/sandbox',
    control(() => sandboxState(provider)),
  );
  router.put(
    '/sandbox',
    control((request) => {
      const { calls, since } = objectBody(request);
      if (calls !== undefined && !(Number.isInteger(calls) && Number(calls) >= 0))
        throw new BadControl('calls must be a whole number');
      if (since !== undefined && !(typeof since === 'string' && isDay(since)))
        throw new BadControl('since must be a date written YYYY-MM-DD');
      if (calls !== undefined) provider.sandbox.setCalls(Number(calls));
      if (typeof since === 'string') provider.sandbox.since = since;
      return sandboxState(provider);
    }),
  );
  router.put(
    '/today',
    control((request) => setToday(controls, request.body)),
  );
}

/** The controls can do anything, so only this machine may use them, and not through a name that a web page chose. */
const loopbackOnly: RequestHandler = (request, _response, next) => {
  const from = request.socket.remoteAddress ?? '';
  const { host = '', origin } = request.headers;
  if (!/^(127\.|::1$|::ffff:127\.)/.test(from))
    throw new BadControl('the controls answer this machine only', 403);
  if (!LOOPBACK.test(host)) throw new BadControl('the controls answer a loopback address only', 403);
  // What another page has a browser send says where it comes from; it needs no answer to have done harm.
  if (origin !== undefined && !LOOPBACK.test(URL.parse(origin)?.host ?? ''))
    throw new BadControl('the controls answer no page of another site', 403);
  next();
};

const sayWhy: ErrorRequestHandler = (problem: unknown, _request, response, _next) => {
  const status = problem instanceof BadControl ? problem.status : 400;
  response.status(status).json({ error: problem instanceof Error ? problem.message : String(problem) });
};

function sandboxState({ sandbox, world }: Controls['provider']): object {
  const connected = world.organizations.list.filter((one) => one.connected).length;
  const { plan, since, calls } = sandbox;
  return { plan, since, ends: sandbox.ends(), calls, callsMax: SANDBOX_CALLS_A_MONTH, connected };
}

/** `{today}` or a bare JSON string; null goes back to the real date. */
function setToday({ provider }: Controls, body: unknown): object {
  const today = isObject(body) ? (body.today ?? body.date ?? null) : body;
  if (today !== null && !(typeof today === 'string' && isDay(today)))
    throw new BadControl('today must be a date written YYYY-MM-DD');
  provider.rules.setToday(today ?? undefined);
  return { today: provider.rules.today() };
}
