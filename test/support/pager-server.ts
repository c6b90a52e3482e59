// Stand-ins for PagerDuty (Events API v2) and for Slack's incoming webhooks, on loopback. They are as strict as the real
// ones say they are, and stricter where a mistake would only be seen by a person: an unknown field is refused. Each can
// be told how to answer the next requests. Know nothing of the product.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `takes`: it took the event, whatever it answers. Of PagerDuty only. */
export type Answer = { status: number; body?: string; headers?: Record<string, string>; takes?: true };

export type PagerDutyIncident = {
  open: boolean;
  severity: string;
  summary: string;
  /** Since it was opened last. */
  triggers: number;
  /** How often it was opened. */
  pages: number;
};

export type PagerDutyServer = {
  /** Of the enqueue endpoint. */
  url: string;
  /** Bodies of all requests, refused ones included. */
  events: Record<string, unknown>[];
  /** By dedup key, as PagerDuty would show them; `opened` counts the pages. */
  incidents: Map<string, PagerDutyIncident>;
  opened: number;
  /** Answers for the next requests, before it answers by itself. */
  next: Answer[];
  stop(): Promise<void>;
};

export type SlackServer = {
  url: string;
  /** Texts of the messages that were posted. */
  texts: string[];
  bodies: string[];
  next: Answer[];
  stop(): Promise<void>;
};

export async function startPagerDuty(routingKey: string): Promise<PagerDutyServer> {
  const stand: Omit<PagerDutyServer, 'url' | 'stop'> = {
    events: [],
    incidents: new Map(),
    opened: 0,
    next: [],
  };
  const listening = await listen((path, request, body) => {
    const event = JSON.parse(body) as Record<string, unknown>;
    stand.events.push(event);
    const ordered = stand.next.shift();
    if (ordered?.takes) take(stand, event);
    if (ordered !== undefined) return ordered;
    const wrong = pagerDutyFault(path, request, event, routingKey);
    if (wrong !== null) {
      return { status: 400, body: JSON.stringify({ status: 'invalid event', errors: [wrong] }) };
    }
    take(stand, event);
    const { dedup_key } = event;
    return {
      status: 202,
      body: JSON.stringify({ status: 'success', message: 'Event processed', dedup_key }),
    };
  });
  return Object.assign(stand, { url: `${listening.url}/v2/enqueue`, stop: listening.stop });
}

/** An open incident swallows further triggers; what was resolved opens anew. */
function take(stand: Pick<PagerDutyServer, 'incidents' | 'opened'>, event: Record<string, unknown>): void {
  const key = event.dedup_key as string;
  const incident = stand.incidents.get(key);
  if (event.event_action === 'resolve') {
    if (incident !== undefined) incident.open = false;
    return;
  }
  const { severity, summary } = event.payload as { severity: string; summary: string };
  if (incident?.open === true) {
    Object.assign(incident, { severity, triggers: incident.triggers + 1 });
    return;
  }
  stand.opened += 1;
  stand.incidents.set(key, { open: true, severity, summary, triggers: 1, pages: (incident?.pages ?? 0) + 1 });
}

const eventFields = ['routing_key', 'event_action', 'dedup_key', 'payload', 'links', 'client', 'client_url'];
const payloadFields = [
  'summary',
  'source',
  'severity',
  'timestamp',
  'component',
  'group',
  'class',
  'custom_details',
];

function pagerDutyFault(
  path: string,
  request: IncomingMessage,
  event: Record<string, unknown>,
  routingKey: string,
): string | null {
  const { routing_key, event_action, dedup_key, payload, links = [] } = event;
  if (path !== '/v2/enqueue' || request.method !== 'POST') return 'wrong endpoint';
  if (request.headers['content-type'] !== 'application/json') return 'wrong content type';
  const unknown = Object.keys(event).find((name) => !eventFields.includes(name));
  if (unknown !== undefined) return `unknown field ${unknown}`;
  if (routing_key !== routingKey) return 'invalid routing key';
  if (typeof dedup_key !== 'string' || dedup_key === '' || dedup_key.length > 255) return 'bad dedup_key';
  if (event_action === 'resolve') return payload === undefined ? null : 'a resolve needs no payload';
  if (event_action !== 'trigger') return 'bad event_action';
  return payloadFault(payload) ?? linksFault(links);
}

function payloadFault(payload: unknown): string | null {
  if (typeof payload !== 'object' || payload === null) return 'no payload';
  const { summary, source, severity, timestamp } = payload as Record<string, unknown>;
  const unknown = Object.keys(payload).find((name) => !payloadFields.includes(name));
  if (unknown !== undefined) return `unknown field ${unknown}`;
  if (typeof summary !== 'string' || summary === '' || summary.length > 1024) return 'bad summary';
  if (typeof source !== 'string' || source === '') return 'bad source';
  if (!['critical', 'error', 'warning', 'info'].includes(severity as string)) return 'bad severity';
  const isTime = typeof timestamp === 'string' && !Number.isNaN(Date.parse(timestamp));
  if (!isTime) return 'bad timestamp';
  return JSON.stringify(payload).length > 512_000 ? 'too large' : null;
}

function linksFault(links: unknown): string | null {
  const isGood = (link: { href?: unknown }) => typeof link.href === 'string' && URL.canParse(link.href);
  return Array.isArray(links) && links.every(isGood) ? null : 'bad link';
}

const slackFields = ['text', 'mrkdwn', 'parse', 'link_names', 'unfurl_links', 'unfurl_media'];

/** Its address holds `token`, as Slack's do. */
export async function startSlack(token: string): Promise<SlackServer> {
  const stand: Omit<SlackServer, 'url' | 'stop'> = { texts: [], bodies: [], next: [] };
  const listening = await listen((path, request, body) => {
    stand.bodies.push(body);
    const ordered = stand.next.shift();
    if (ordered !== undefined) return ordered;
    if (path !== `/services/${token}`) return { status: 404, body: 'no_service' };
    const message = JSON.parse(body) as Record<string, unknown>;
    const isGood =
      request.headers['content-type'] === 'application/json' &&
      typeof message.text === 'string' &&
      message.text !== '' &&
      message.text.length <= 40_000 &&
      Object.keys(message).every((name) => slackFields.includes(name));
    if (!isGood) return { status: 400, body: 'invalid_payload' };
    stand.texts.push(message.text as string);
    return { status: 200, body: 'ok' };
  });
  return Object.assign(stand, { url: `${listening.url}/services/${token}`, stop: listening.stop });
}

async function listen(
  answer: (path: string, request: IncomingMessage, body: string) => Answer,
): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const {
        status,
        body = '',
        headers,
      } = answer(request.url ?? '', request, Buffer.concat(chunks).toString());
      response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => closeAll(server),
  };
}

function closeAll(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
