// The farm-data provider on a laptop: makes its parts, listens on loopback, and closes. It shares no module with the
// rest of the project, so that a mistake cannot hide in both; nothing else may be added here than making and joining.
import { appendFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import { Accounts, type User } from './auth/accounts';
import { Nonces } from './auth/nonces';
import { oauth1Consent } from './auth/oauth1-consent';
import { OAuth1Flow } from './auth/oauth1-flow';
import { oauth2Server } from './auth/oauth2-server';
import { secretFor } from './auth/secrets';
import { Tokens } from './auth/tokens';
import { controlRouter } from './controls/controls';
import { Coverage } from './controls/coverage';
import { Faults } from './controls/faults';
import { RequestLog } from './controls/request-log';
import { environmentFor } from './environment';
import { type CheckedOptions, checkOptions, type SimulatorOptions } from './options';
import { overviewPages } from './pages/overview';
import { Addresses, ISSUER_PATH } from './provider/addresses';
import { serveCatalog } from './provider/catalog';
import { ChangeTokens } from './provider/change-tokens';
import { serveConnections } from './provider/connections';
import { providerEntry } from './provider/entry';
import { serveEquipment } from './provider/equipment';
import { serveEquipmentReference } from './provider/equipment-reference';
import { serveEquipmentWrites } from './provider/equipment-writes';
import { serveFieldOperationLists } from './provider/field-operation-lists';
import { serveFieldOperations } from './provider/field-operations';
import { serveFields } from './provider/fields';
import { serveFiles } from './provider/files';
import { serveOldEquipment } from './provider/old-equipment';
import { serveOrganizations } from './provider/organizations';
import type { Provider } from './provider/provider';
import { RateLimit } from './provider/rate-limit';
import { SANDBOX_CONNECTED_MAX, Sandbox } from './provider/sandbox';
import { serveSubscriptions } from './provider/subscriptions';
import { serveUsers } from './provider/users';
import { Rules } from './rules';
import { defaultSettings } from './settings';
import { Deliveries } from './webhooks/deliveries';
import { Dispatch } from './webhooks/dispatch';
import { type Sender, subscriptionNotification } from './webhooks/notifications';
import { ANSWER_MS, Poster } from './webhooks/poster';
import { Subscriptions } from './webhooks/subscriptions';
import { uuidFor } from './world/random';
import { World } from './world/world';

/** The invented provider's name, as it stands in its media type and headers. */
const VENDOR = 'harrow';
const HOST = '127.0.0.1';

export interface Simulator {
  catalog: string;
  equipment: string;
  /** The base of the controls, with a slash at its end. */
  control: string;
  consent: string;
  issuer: string;
  vendor: string;
  clientKey: string;
  /** Every setting a service needs to work with this simulator. */
  environment: Record<string, string>;
  close(): Promise<void>;
}

/**
 * Starts a simulator on 127.0.0.1. Throws a RangeError for options that cannot be, and the system's error when the
 * port is taken. Memory grows with changes and with bounded logs, not with the size of the world.
 */
export async function startSimulator(given: SimulatorOptions = {}): Promise<Simulator> {
  const options = checkOptions(given);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const server = createServer({ keepAliveTimeout: 30_000 }, app);
  await listen(server, options.port);
  const addresses = new Addresses(`http://${HOST}:${(server.address() as AddressInfo).port}`);
  const provider = makeProvider(options, addresses);
  const webhooks = makeWebhooks(provider, options);
  const { deliveries, dispatch, poster, sender, subscriptionId } = webhooks;
  serve(app, options, { provider, ...webhooks });
  if (options.deliverTo !== undefined) {
    const settings = {
      url: options.deliverTo,
      ...webhooks.webhookSecrets,
      maxBatchSize: 10,
      concurrentDeliveries: 1,
      retryMs: options.retryMs,
      answerMs: ANSWER_MS,
    };
    deliveries.deliverTo(settings, () =>
      subscriptionNotification(sender, 'subscriptionVerification', subscriptionId),
    );
  }
  const heartbeat = startHeartbeat(options.heartbeatMs, () => dispatch.beat(subscriptionId));
  return {
    catalog: addresses.catalog,
    equipment: addresses.equipmentBase,
    control: `${addresses.origin}/_simulator/`,
    consent: `${addresses.origin}/consent`,
    issuer: `${addresses.origin}${ISSUER_PATH}`,
    vendor: VENDOR,
    clientKey: provider.accounts.clientKey,
    environment: environmentFor(provider, options, webhooks.webhookSecrets),
    close: async () => {
      clearInterval(heartbeat);
      deliveries.stop();
      dispatch.stop();
      poster.stop();
      await closeServer(server);
      if (options.coverageFile !== undefined) appendFileSync(options.coverageFile, provider.coverage.line());
    },
  };
}

function makeProvider(options: CheckedOptions, addresses: Addresses): Provider {
  const nowMs = (): number => Date.now();
  const rules = new Rules(options.today, options.oauth1Ends, options.oldEquipmentEnds);
  const since = options.sandboxSince ?? new Date(nowMs()).toISOString().slice(0, 10);
  const world = new World(options.seed, options);
  // More than these cannot be connected in the sandbox.
  if (options.plan === 'sandbox')
    for (const organization of world.organizations.list.slice(SANDBOX_CONNECTED_MAX))
      world.organizations.change(organization, { connected: false });
  const coverage = new Coverage();
  const accounts = new Accounts(VENDOR, options.seed, options);
  return {
    vendor: VENDOR,
    world,
    rules,
    sandbox: new Sandbox(options.plan, since, nowMs, () => rules.today(), coverage),
    settings: defaultSettings(),
    accounts,
    tokens: new Tokens(accounts, options.seed, Math.floor(nowMs() / 1_000)),
    addresses,
    coverage,
    changeTokens: new ChangeTokens(),
    oldEquipmentIds: options.oldEquipmentIds,
    nowMs,
    announce: () => undefined,
  };
}

interface Webhooks {
  poster: Poster;
  deliveries: Deliveries;
  dispatch: Dispatch;
  sender: Sender;
  subscriptions: Subscriptions;
  subscriptionId: string;
  webhookSecrets: { authorization: string; token: string };
}

/** Joins the sender's parts, and lets the provider announce changes through them. */
function makeWebhooks(provider: Provider, { retryMs, seed }: CheckedOptions): Webhooks {
  const { accounts, addresses, coverage, nowMs, settings, world } = provider;
  const poster = new Poster(nowMs);
  const deliveries = new Deliveries(poster, coverage);
  const secrets = webhookSecrets(seed);
  const token = (): string | undefined => deliveries.settings?.token;
  const sender: Sender = { clientKey: accounts.clientKey, addresses, world, token };
  const subscriptions = new Subscriptions({
    status: 'Active',
    authorizationHeaderValue: secrets.authorization,
    concurrentDeliveries: 1,
    maxBatchSize: 10,
  });
  const sees = (user: User, organizationId: string): boolean => {
    const organization = world.organizations.find(organizationId);
    return organization !== undefined && accounts.sees(user, organization.index);
  };
  const parts = { sender, poster, coverage, settings, subscriptions, deliveries, retryMs, sees };
  const dispatch = new Dispatch(parts);
  provider.announce = (seen) => dispatch.announce(seen);
  const subscriptionId = uuidFor(seed, 51, 1);
  return { poster, deliveries, dispatch, sender, subscriptions, subscriptionId, webhookSecrets: secrets };
}

function serve(app: Express, options: CheckedOptions, parts: Webhooks & { provider: Provider }): void {
  const { provider } = parts;
  const faults = new Faults();
  const requests = new RequestLog();
  const flow = new OAuth1Flow(provider);
  const platform = express.Router();
  serveCatalog(platform, provider);
  serveOrganizations(platform, provider);
  serveFieldOperations(platform, provider);
  serveFieldOperationLists(platform, provider);
  serveFields(platform, provider);
  serveOldEquipment(platform, provider);
  serveFiles(platform, provider);
  serveSubscriptions(platform, parts);
  serveConnections(platform, provider);
  serveUsers(platform, provider);
  flow.serve(platform);
  const equipment = express.Router();
  serveEquipment(equipment, provider);
  serveEquipmentReference(equipment, provider);
  serveEquipmentWrites(equipment, provider);
  const judge = {
    accounts: provider.accounts,
    tokens: provider.tokens,
    nonces: new Nonces(),
    oauth1Ended: () => provider.rules.oauth1Ended(),
    nowSeconds: () => Math.floor(provider.nowMs() / 1_000),
  };
  const requestTokenSecret = (token: string): string | undefined => flow.secretOf(token);
  app.use(
    providerEntry({
      provider,
      judge,
      requestTokenSecret,
      faults,
      requests,
      rateLimit: new RateLimit(provider.settings, provider.nowMs),
      latencyMs: options.latencyMs,
      platform,
      equipment,
    }),
  );
  app.use('/_simulator', controlRouter({ ...parts, faults, requests, retryMs: options.retryMs }));
  app.use(oauth2Server(provider, faults));
  app.use(oauth1Consent(provider, flow));
  app.use(overviewPages(provider));
}

/** The same for the same seed, so that a simulator started again still passes the receiver's check. */
function webhookSecrets(seed: number): { authorization: string; token: string } {
  const secret = (purpose: string): string => secretFor(seed, purpose).toString('base64');
  return { authorization: `Bearer ${secret('webhook-authorization')}`, token: secret('webhook-token') };
}

function startHeartbeat(everyMs: number, beat: () => void): NodeJS.Timeout | undefined {
  if (everyMs === 0) return undefined;
  const timer = setInterval(beat, everyMs);
  timer.unref();
  return timer;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
