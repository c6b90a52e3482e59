// The receiver on a real loopback socket, with doors that record. A test says only what differs from an ordinary one.
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Accepted, Delivery } from '../../../src/model/notification';
import { type Clock, systemClock } from '../../../src/tools/clock';
import { Secret } from '../../../src/tools/secret';
import { makeWebhookServer, type WebhookServer } from '../../../src/webhook/server';
import type { WebhookDoors, WebhookSettings } from '../../../src/webhook/settings';

export const authorization = 'Bearer of-the-provider-0123456789';
export const stored: Accepted = { deliveryId: 'd1', repeated: false, idReused: false, due: 1, probes: false };

export interface RunningReceiver {
  port: number;
  server: WebhookServer;
  deliveries: Delivery[];
  samples: { bodyHash: string; fault: string; raw: Buffer }[];
  refusals: { reason: string; status: number; cause?: unknown }[];
  /** How long each refusal took, in milliseconds of the clock; null where no request had begun. */
  refusalTimes: (number | null)[];
}

export interface Differences {
  settings?: Partial<WebhookSettings>;
  clock?: Clock;
  accept?: WebhookDoors['accept'];
  keepSample?: WebhookDoors['keepSample'];
  storeRefused?: WebhookDoors['storeRefused'];
  heartbeat?: WebhookDoors['heartbeat'];
}

const running = new Set<WebhookServer>();
const connections = new Set<Socket>();

export function settingsWith(differences: Partial<WebhookSettings> = {}): WebhookSettings {
  return {
    auth: ['authorization'],
    authorizationValues: () => [new Secret(authorization)],
    tokens: () => [],
    hmacSecrets: () => [],
    eventTypes: {
      requiredAction: ['requiredCustomerAction'],
      equipment: ['equipment', 'machine'],
      fieldOperation: ['fieldOperation'],
    },
    ...differences,
  };
}

export async function startReceiver(differences: Differences = {}): Promise<RunningReceiver> {
  const deliveries: Delivery[] = [];
  const samples: RunningReceiver['samples'] = [];
  const refusals: RunningReceiver['refusals'] = [];
  const refusalTimes: (number | null)[] = [];
  const server = makeWebhookServer(settingsWith(differences.settings), {
    clock: differences.clock ?? systemClock,
    refused: (reason, { tookMs, ...details }) => {
      refusals.push({ reason, ...details });
      refusalTimes.push(tookMs);
    },
    accept(delivery) {
      deliveries.push(delivery);
      return differences.accept?.(delivery) ?? Promise.resolve(stored);
    },
    ...(differences.storeRefused && { storeRefused: differences.storeRefused }),
    ...(differences.heartbeat && { heartbeat: differences.heartbeat }),
    async keepSample(bodyHash, fault, raw) {
      samples.push({ bodyHash, fault, raw });
      await differences.keepSample?.(bodyHash, fault, raw);
    },
  });
  const { port } = await server.listen('127.0.0.1', 0);
  running.add(server);
  return { port, server, deliveries, samples, refusals, refusalTimes };
}

/** For `afterEach`: no server and no connection outlives its test. */
export async function stopReceivers(): Promise<void> {
  for (const socket of connections) socket.destroy();
  for (const server of running) await server.close(0);
  running.clear();
}

/** A notification as the provider posts it. */
export function notification(differences: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    clientKey: 'acme-abcdef',
    eventTypeId: 'fieldOperation',
    targetResource: 'https://api.acme.test/platform/fieldOperations/795b80cf',
    metadata: [
      { key: 'orgId', value: '4711' },
      { key: 'fieldOperationType', value: 'seeding' },
    ],
    links: [{ rel: 'self', uri: 'https://api.acme.test/platform/x' }],
    ...differences,
  };
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export interface Sending {
  method?: string;
  path?: string;
  /** Added to, or with null taken from, the ordinary ones. */
  headers?: Record<string, string | null>;
}

/** Posts a body (anything but text and bytes as JSON) with the ordinary headers, on a connection of its own. */
export function post(port: number, body: unknown, sending: Sending = {}): Promise<Answer> {
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'content-length': String(bytes.length),
    authorization,
  };
  for (const [name, value] of Object.entries(sending.headers ?? {})) {
    if (value === null) delete headers[name];
    else headers[name] = value;
  }
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        host: '127.0.0.1',
        port,
        agent: false,
        method: sending.method ?? 'POST',
        path: sending.path ?? '/webhooks',
        headers,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        });
      },
    );
    sent.on('error', reject);
    sent.end(bytes);
  });
}

/** The code of a problem document. */
export function codeOf(answer: Answer): string {
  return (JSON.parse(answer.body) as { code: string }).code;
}

/** A bare connection, for what no HTTP client would send. `ended` resolves with all that came once it is closed. */
export function openConnection(port: number): {
  write(text: string | Buffer): void;
  end(): void;
  destroy(): void;
  /** Resolves once so many status lines have come, with all that came. */
  answers(count: number): Promise<string>;
  opened: Promise<void>;
  ended: Promise<string>;
} {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  connections.add(socket);
  socket.once('close', () => connections.delete(socket));
  let text = '';
  let look = () => {};
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    look();
  });
  const opened = new Promise<void>((resolve) => socket.once('connect', resolve));
  // A reset is one of the ways in which a connection ends.
  socket.on('error', () => {});
  const ended = new Promise<string>((resolve) => {
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(text));
  });
  return {
    write: (bytes) => void socket.write(bytes),
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
    answers: (count) =>
      new Promise((resolve, reject) => {
        look = () => {
          if ((text.match(/^HTTP\/1\.1 (?!100)/gm) ?? []).length >= count) resolve(text);
        };
        look();
        void ended.then(() => reject(new Error(`closed after: ${text}`)));
      }),
    opened,
    ended,
  };
}

/** The bytes of an ordinary POST, to be sent over a bare connection. */
export function requestText(body: string, headers: string[] = [], version = '1.1'): string {
  return [
    `POST /webhooks HTTP/${version}`,
    'Host: receiver.test',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Authorization: ${authorization}`,
    ...headers,
    '',
    body,
  ].join('\r\n');
}
