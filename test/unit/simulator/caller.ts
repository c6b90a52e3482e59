// How the simulator's tests call it: bearer or OAuth 1 requests through node's own client, the controls, and a receiver
// for its deliveries. Signatures come from oauth-1.0a, an implementation the simulator does not share.
import { createHmac, randomBytes } from 'node:crypto';
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import OAuth from 'oauth-1.0a';
import type { Simulator } from '../../../src/simulator/simulator';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers of any shape.
export type Body = any;

export interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  bytes: Buffer;
  body: Body;
}

/** One request; rejects when the connection breaks before the answer is complete. */
export function call(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
  body?: string,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method, headers, agent: false }, (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const bytes = Buffer.concat(parts);
        const text = bytes.toString();
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text,
          bytes,
          body: parsed(text),
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function parsed(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function tokenOf(simulator: Simulator, user = 0): Body {
  return JSON.parse(simulator.environment.PROVIDER_TOKENS!)[user];
}

export function platformAccept(simulator: Simulator): string {
  return `application/vnd.${simulator.vendor}.axiom.v3+json`;
}

/** GET with the first user's bearer token and the media type of the API the address belongs to. */
export function get(
  simulator: Simulator,
  url: string,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const accept = url.startsWith(simulator.equipment) ? 'application/json' : platformAccept(simulator);
  return call(url, { Accept: accept, Authorization: `Bearer ${tokenOf(simulator).token}`, ...headers });
}

export interface Signing {
  method?: string;
  token?: { key: string; secret: string } | undefined;
  /** Further protocol parameters, or other values for them. */
  protocol?: Record<string, string>;
  /** Form pairs of the body, which are signed too. */
  form?: [string, string][];
  clientSecret?: string;
}

/** The `Authorization` value for a request, `realm=""` included, as the provider wants it. */
export function sign(
  { environment }: Pick<Simulator, 'environment'>,
  url: string,
  signing: Signing = {},
): string {
  const address = new URL(url);
  const data: Record<string, string | string[]> = {};
  for (const [name, value] of [...address.searchParams, ...(signing.form ?? [])]) {
    const before = data[name];
    data[name] = before === undefined ? value : [before, value].flat();
  }
  const oauth = new OAuth({
    consumer: {
      key: environment.PROVIDER_CLIENT_KEY!,
      secret: signing.clientSecret ?? environment.PROVIDER_CLIENT_SECRET!,
    },
    signature_method: 'HMAC-SHA1',
    hash_function: (base, key) => createHmac('sha1', key).update(base).digest('base64'),
  });
  const protocol: Record<string, string> = {
    oauth_consumer_key: environment.PROVIDER_CLIENT_KEY!,
    oauth_nonce: randomBytes(16).toString('hex'),
    oauth_timestamp: String(Math.floor(Date.now() / 1000)),
    oauth_version: '1.0',
    oauth_signature_method: 'HMAC-SHA1',
    ...(signing.token ? { oauth_token: signing.token.key } : {}),
    ...signing.protocol,
  };
  const request = {
    url: address.origin + address.pathname,
    method: signing.method ?? 'GET',
    data: { ...data },
  };
  // The library writes the request's data into what it is given, hence the copies.
  const signature = oauth.getSignature(request, signing.token?.secret, {
    ...protocol,
  } as unknown as OAuth.Data);
  const all = { realm: '', ...protocol, oauth_signature: signature };
  return `OAuth ${Object.entries(all)
    .map(([name, value]) => `${name}="${oauth.percentEncode(value)}"`)
    .join(', ')}`;
}

/** A control of the simulator; fails the test when the control refuses. */
export async function control(
  simulator: Simulator,
  method: string,
  path: string,
  body?: unknown,
): Promise<Body> {
  const answer = await rawControl(simulator, method, path, body);
  if (answer.status !== 200) throw new Error(`${method} ${path} → ${answer.status} ${answer.text}`);
  return answer.body;
}

export function rawControl(
  simulator: Simulator,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answered> {
  return call(
    simulator.control + path,
    { 'Content-Type': 'application/json' },
    method,
    body === undefined ? undefined : JSON.stringify(body),
  );
}

export interface Delivered {
  headers: IncomingHttpHeaders;
  notifications: Body[];
}

export interface Receiver {
  url: string;
  deliveries: Delivered[];
  /** What the next deliveries are answered with, in order; 204 when empty, no answer at all for 0. */
  answers: number[];
  /** Resolves once so many deliveries have come. */
  came(count: number): Promise<void>;
  /** How many were open at once, at most. */
  openMax: number;
  /** From now on answers wait for `release`. */
  hold(): void;
  /** Answers what waits. */
  release(): void;
  close(): Promise<void>;
}

/** A receiver of webhooks on a free port. */
export async function startReceiver(): Promise<Receiver> {
  let open = 0;
  let held: (() => void)[] | null = null;
  const waiting: { count: number; resolve: () => void }[] = [];
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    open += 1;
    receiver.openMax = Math.max(receiver.openMax, open);
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      receiver.deliveries.push({
        headers: request.headers,
        notifications: JSON.parse(Buffer.concat(parts).toString()),
      });
      const status = receiver.answers.shift() ?? 204;
      const answer = (): void => {
        open -= 1;
        if (status !== 0) response.writeHead(status).end();
      };
      if (held === null) answer();
      else held.push(answer);
      for (const one of waiting) if (receiver.deliveries.length >= one.count) one.resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    deliveries: [],
    answers: [],
    openMax: 0,
    hold: () => {
      held = [];
    },
    release: () => {
      for (const answer of held?.splice(0) ?? []) answer();
    },
    came: (count) =>
      receiver.deliveries.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push({ count, resolve });
          }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
