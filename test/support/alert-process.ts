// Alerting as the service joins it, on a store on disk, as a process that a test may kill at any moment. Organizations
// are blocked and opened by requests of the test; what was answered 200 is on disk.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makeAlerting } from '../../src/alert/alerting';
import { makeAlertmanagerSink } from '../../src/alert/alertmanager';
import { makePagerDutySink } from '../../src/alert/pagerduty';
import { makeSlackSink } from '../../src/alert/slack';
import type { Cause, Observation } from '../../src/model/organization';
import { openStore } from '../../src/store/open-store';
import { makeLoop, systemClock } from '../../src/tools/clock';
import { Secret } from '../../src/tools/secret';
import { settingsFor } from '../contract/open-sqlite';

/** What it is told, as JSON in ALERT_PROCESS. */
export type AlertProcessOptions = {
  folder: string;
  alertmanagerUrl: string;
  pagerDutyUrl: string;
  slackUrl: string;
  resendMs: number;
  holdMs: number;
  /** So long an alert fires in Alertmanager before its end is told. */
  openMs: number;
  groupAbove: number;
};

/** What the test asks: the provider's word on an organization. `cause` null: it may be read. */
export type Said =
  | { organizationId: string; cause: Cause | null }
  /** A notification of it came so long ago that time runs out for it. */
  | { organizationId: string; waits: true };

export type AlertProgress = {
  /** Rounds of evaluation that ended. */
  steps: number;
  /** Posts to Alertmanager that reached nobody. */
  unreachable: number;
};

export type Firing = {
  /** What fires as far as the store knows, also what is held against flapping: the alert's name, its subject's id and its severity. */
  firing: string[];
};

const journalMs = 30 * 86_400_000;

/** Of an organization that nobody knew. */
const firstEpoch = 1;

async function main(options: AlertProcessOptions): Promise<void> {
  const store = await openStore(settingsFor(join(options.folder, 'store.db')));
  const counts = { steps: 0, unreachable: 0 };
  const { alertmanagerUrl, pagerDutyUrl, slackUrl, resendMs, holdMs, openMs, groupAbove } = options;
  const alerting = makeAlerting({
    store,
    holder: 'one',
    clock: systemClock,
    conditions: () => [],
    sinks: [
      makeAlertmanagerSink({ urls: [alertmanagerUrl], openMs }),
      makePagerDutySink({ url: pagerDutyUrl, routingKey: new Secret('key'), clientUrl: null }),
      makeSlackSink({ url: new Secret(slackUrl) }),
    ],
    options: {
      leaseMs: 15_000,
      resendMs,
      holdMs,
      groupAbove,
      gatherMs: 100,
      resolveRepeatMs: 600_000,
      journalMs,
      runbookBase: 'https://runbooks.example',
      ownNames: [],
    },
    hooks: {
      posted: ({ sink, outcome }) => {
        if (sink === 'alertmanager' && outcome !== 'accepted') counts.unreachable += 1;
      },
    },
  });
  const step = async () => {
    await alerting.step();
    counts.steps += 1;
    return 25;
  };
  const failed = (error: unknown) => void process.stderr.write(`${String(error)}\n`);

  async function hint(organizationId: string): Promise<void> {
    await store.put({
      receivedAtMs: Date.now() - journalMs + 86_400_000,
      messageId: null,
      bodyHash: organizationId,
      bytes: 1,
      traceparent: null,
      elements: [
        {
          line: 'hint',
          eventTypeId: 'equipment',
          address: `https://provider.example/equipment/${organizationId}`,
          organizationId,
          user: null,
        },
      ],
    });
  }

  async function apply(said: Said): Promise<void> {
    const { organizationId } = said;
    if ('waits' in said) return hint(organizationId);
    const { cause } = said;
    const known = await store.access(organizationId);
    const epoch = known?.epoch ?? firstEpoch;
    // Only whoever was read before raises an alert when it is not connected.
    if (known === null) await store.observe({ organizationId, epoch, by: 'probe', found: { cause: null } });
    const detail = { actionUrl: null, message: null };
    const connection = cause === 'refused-grant' ? { connectionId: `c${organizationId}` } : {};
    const found = cause === null ? { cause } : { cause, ...detail, ...connection };
    const { applied } = await store.observe({ organizationId, epoch, by: 'probe', found } as Observation);
    if (!applied) throw new Error(`${organizationId} changed meanwhile`);
  }

  async function firing(): Promise<Firing> {
    const alerts = (await store.listAlerts()).filter(({ state }) => state === 'firing');
    return {
      firing: alerts.map(({ name, labels, severity }) => `${name} ${Object.values(labels)[0]} ${severity}`),
    };
  }

  const server = createServer((request, response) => {
    const answer = async () => {
      if (request.method === 'POST') await apply(JSON.parse(await bodyOf(request)) as Said);
      const progress: AlertProgress = counts;
      response.end(JSON.stringify(request.url === '/firing' ? await firing() : progress));
    };
    answer().catch((error: unknown) => {
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  server.listen(0, '127.0.0.1', () => {
    makeLoop(step, systemClock, failed).start();
    process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

if (require.main === module) void main(JSON.parse(process.env.ALERT_PROCESS!) as AlertProcessOptions);
