// What a story stands on: the provider's stand-in and the service, each as a real process, with times short enough to be
// waited for. A story moves the provider or posts deliveries by hand, and then looks from outside only: at the answer,
// at what the operations API shows of the store, at what the provider was asked, at the events, at log lines and metrics.
import { request as httpRequest } from 'node:http';
import type { AlertView, Journey, LedgerView, StructuredEvent } from '../../src/model/api';
import type { QuarantineView, TaskView } from '../../src/model/inspection';
import type { OrganizationView } from '../../src/model/organization';
import { type Service, type ServiceOptions, startService, temporaryFolder } from './service';
import { type SimulateFlags, type Simulator, startSimulator } from './simulator';
import { until } from './until';

/** How long anything in a story may take on two busy cores. */
export const soon = { withinMs: 20_000 };

export type StoryOptions = {
  /** Of the simulator; they win over the small world below. */
  flags?: SimulateFlags;
  /** Settings of the service; they win over the short times below. */
  settings?: Record<string, string>;
  /** False: the story posts by hand and the provider delivers nothing. */
  delivers?: boolean;
};

/** One life of the service. */
export type Life = Pick<ServiceOptions, 'entry' | 'workingFolder' | 'identity'> & {
  /** Settings that hold for this life only. */
  settings?: Record<string, string>;
};

/** A resource as the simulator's state names it. */
export type Resource = {
  id: string;
  organizationId: string;
  uri: string;
  content: Record<string, unknown>;
};

/** What of a resource is in its key. */
type Keyed = Pick<Resource, 'id' | 'organizationId'>;

/** One request to the provider, as it was received there. */
export type ProviderRequest = {
  number: number;
  method: string;
  path: string;
  url: string;
  at: string;
  status?: number;
  verdict: { scheme: string; valid: boolean; reason?: string; user?: string };
};

export type Posted = { status: number; headers: Record<string, string>; body: string };

export type LogRecord = Record<string, unknown>;

const shortTimes = {
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  READ_GAP_MS: '50',
  SETTLE_SECONDS: '0',
  PROBE_SECONDS: '1',
  PROBE_SECONDS_MAX: '1',
  ALERT_RESEND_SECONDS: '1',
  SHUTDOWN_SECONDS: '10',
};

const smallWorld = { organizations: 2, equipment: 4, 'field-operations': 2, 'heartbeat-ms': 0 };

/** Both processes running and, unless `delivers` is false, the one delivering to the other. Ended with the suite. */
export async function beginStory(options: StoryOptions = {}): Promise<Story> {
  const simulator = await startSimulator({ ...smallWorld, ...options.flags });
  const story = new Story(simulator, options, temporaryFolder());
  await story.serve();
  await story.untilLearned();
  return story;
}

export class Story {
  private running: Service | undefined;
  /** What the deliveries that were posted by hand were answered, in the order of the answers. */
  readonly answers: number[] = [];
  /** How many requests the provider had when this life began. */
  private asked = 0;

  constructor(
    readonly simulator: Simulator,
    private readonly options: StoryOptions,
    readonly dataFolder: string,
  ) {}

  get service(): Service {
    if (this.running === undefined) throw new Error('The service does not run.');
    return this.running;
  }

  /** Everything that the service is told. */
  settings(more: Record<string, string> = {}): Record<string, string> {
    return { ...this.simulator.environment, ...shortTimes, ...this.options.settings, ...more };
  }

  /** Starts the service, or starts it again on the same store. */
  async serve({ settings = {}, ...program }: Life = {}): Promise<void> {
    const environment = this.settings(settings);
    this.asked = this.running === undefined ? 0 : (await this.requests()).length;
    this.running = await startService({ dataFolder: this.dataFolder, environment, ...program });
    if (this.options.delivers === false) return;
    await this.simulator.deliverTo({
      url: `${this.service.publicUrl}/webhooks`,
      retryMs: 50,
      maxBatchSize: 10,
      concurrentDeliveries: 4,
      verify: false,
    });
  }

  /** Until it is known which organizations the connections see; nothing is read before. */
  async untilLearned(): Promise<void> {
    const { organizations } = await this.simulator.state();
    await until(
      async () => (await this.ask<unknown[]>('/api/organizations')).length >= organizations.length,
      { ...soon, what: 'the organizations to be learned' },
    );
  }

  async end(): Promise<void> {
    await this.running?.kill();
    await this.simulator.kill();
  }

  /** Posts to the public listener, of this service or of one beside it. A string or bytes go out as they are, anything else as JSON. */
  async post(
    body: unknown,
    headers: Record<string, string> = {},
    to: Pick<Service, 'publicUrl'> = this.service,
  ): Promise<Posted> {
    const bytes =
      typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body);
    const authorization = this.simulator.environment.WEBHOOK_AUTHORIZATION ?? '';
    const given = { authorization, ...headers };
    const answer = await post(`${to.publicUrl}/webhooks`, Buffer.from(bytes), given);
    this.answers.push(answer.status);
    return answer;
  }

  /** The equipment of one organization, the first unless its place in the list is given. */
  async equipment(organization = 0): Promise<Resource[]> {
    const { organizations, equipment } = await this.simulator.state();
    return equipment.filter(({ organizationId }) => organizationId === organizations[organization]?.id);
  }

  ask<Answer>(path: string, method = 'GET'): Promise<Answer> {
    return askJson<Answer>(`${this.service.operationsUrl}${path}`, method);
  }

  events(): Promise<StructuredEvent[]> {
    return this.ask('/api/events?after=0&limit=1000');
  }

  /** The events of one resource, in the order in which they were published. */
  async eventsOf({ id, organizationId }: Keyed, kind = 'equipment'): Promise<StructuredEvent[]> {
    const key = `${organizationId}/${kind}/${id}`;
    return (await this.events()).filter(({ subject }) => subject === key);
  }

  /** Until that many events of the resource are published. */
  untilEvents(resource: Keyed, count: number, kind = 'equipment'): Promise<StructuredEvent[]> {
    const what = `${count} events of ${kind} ${resource.id}`;
    return until(
      async () => {
        const events = await this.eventsOf(resource, kind);
        return events.length >= count ? events : null;
      },
      { ...soon, what },
    );
  }

  /** What was told of the organization's access, once that much is published: it is decided before, and shown by then. */
  untilAccessEvents(organizationId: string, count: number): Promise<StructuredEvent[]> {
    return this.untilEvents({ id: organizationId, organizationId }, count, 'organization-access');
  }

  ledger(): Promise<LedgerView> {
    return this.ask('/api/ledger');
  }

  tasks(state?: string): Promise<TaskView[]> {
    return this.ask(`/api/tasks${state === undefined ? '' : `?state=${state}`}`);
  }

  organization(id: string): Promise<OrganizationView> {
    return this.ask(`/api/organizations/${id}`);
  }

  quarantine(): Promise<QuarantineView[]> {
    return this.ask('/api/quarantine');
  }

  alerts(): Promise<AlertView[]> {
    return this.ask('/api/alerts');
  }

  explain(of: string): Promise<Journey> {
    return this.ask(`/api/explain?of=${encodeURIComponent(of)}`);
  }

  /** The sum of the metric's samples whose labels include these; 0 when there is none. */
  async metric(name: string, labels: Record<string, string> = {}): Promise<number> {
    const response = await fetch(`${this.service.operationsUrl}/metrics`);
    return sumOf(await response.text(), name, labels);
  }

  /** Log lines of one name, in the order in which they were written. */
  log(line: string): LogRecord[] {
    return this.service.records().filter((record) => record.line === line);
  }

  /** The line of every attempt that is counted so far. A line is written when it is counted, and comes a little later. */
  async untilAttemptsTold(): Promise<LogRecord[]> {
    const counted = await this.metric('tramline_attempts_total');
    return until(
      () => {
        const told = this.log('attempt');
        return told.length >= counted ? told : null;
      },
      { ...soon, what: 'a line of each attempt' },
    );
  }

  /** What the provider was asked at the address of this resource, in order. */
  async readsOf({ uri }: Resource): Promise<ProviderRequest[]> {
    const { pathname } = new URL(uri);
    return (await this.requests()).filter(({ path }) => path === pathname);
  }

  async requests(): Promise<ProviderRequest[]> {
    return (await this.simulator.requests()) as ProviderRequest[];
  }

  /** A document of the provider as it answers it now, to a user whose token the settings hold. Throws on any other answer. */
  async provided(address: string): Promise<Record<string, unknown>> {
    const { environment, catalog, vendor } = this.simulator;
    const [{ token }] = JSON.parse(environment.PROVIDER_TOKENS ?? '[]');
    const accept = address.startsWith(catalog)
      ? `application/vnd.${vendor}.axiom.v3+json`
      : 'application/json';
    const response = await fetch(address, { headers: { accept, authorization: `Bearer ${token}` } });
    if (response.status !== 200) throw new Error(`GET ${address}: ${response.status}`);
    return (await response.json()) as Record<string, unknown>;
  }

  /** Those that were made since the service was started the last time. */
  async requestsOfLife(): Promise<ProviderRequest[]> {
    return (await this.requests()).slice(this.asked);
  }

  /** Until everything that was sent is accepted and has its line, nothing will be read again, and all events are sent. */
  async untilRest(): Promise<LedgerView> {
    const moving = new Set(['due', 'taken', 'postponed', 'settling']);
    return until(
      async () => {
        const { notificationsPending } = await this.simulator.counts();
        if (notificationsPending > 0)
          throw new Error(`${notificationsPending} notifications are not delivered`);
        const atWork = (await this.tasks()).filter(({ state }) => moving.has(state));
        if (atWork.length > 0) throw new Error(`tasks at work: ${JSON.stringify(atWork.slice(0, 3))}`);
        const ledger = await this.ledger();
        const pending = await this.metric('tramline_outbox_pending');
        if (ledger.waiting > 0 || pending !== 0)
          throw new Error(`${ledger.waiting} wait, ${pending} in the outbox`);
        return ledger;
      },
      { ...soon, what: 'everything to come to rest' },
    );
  }
}

/** A notification as the provider sends it; `more` replaces parts of it. */
export function notificationOf(
  { uri, organizationId }: Pick<Resource, 'uri' | 'organizationId'>,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    clientKey: 'a-client',
    eventTypeId: 'equipment',
    targetResource: uri,
    metadata: [{ key: 'orgId', value: organizationId }],
    links: [],
    ...more,
  };
}

/** Throws on any answer but 2xx, with the answer's text. */
export async function askJson<Answer>(address: string, method = 'GET'): Promise<Answer> {
  const response = await fetch(address, { method });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${address}: ${response.status} ${text}`);
  return JSON.parse(text) as Answer;
}

/** On a connection of its own, so that a service that stops is not waited for. */
export function post(address: string, body: Buffer, headers: Record<string, string>): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const given = { 'content-type': 'application/json', 'content-length': body.length, ...headers };
    const outgoing = httpRequest(address, { method: 'POST', agent: false, headers: given }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
          ),
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

export function sumOf(text: string, name: string, labels: Record<string, string> = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
