// Who is on call, as a stand-in for Alertmanager: believes of each label set what it was told last, and that it ends when
// its end has passed. Refuses posts for a while when it is told to.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export type OnCall = {
  url: string;
  /** The alerts that fire by now, as `alertname organization`. */
  open(): string[];
  /** What it was told last of an open one, or of one that ended: at most the last ten posts, as text. */
  toldOf(open: string): string[];
  /** All that it was told, in order. */
  posts(): Post[];
  /** Answers 503 until told otherwise. */
  refuse(refuses: boolean): void;
  stop(): Promise<void>;
};

/** One alert of one post; times in milliseconds since the epoch. */
export type Post = {
  /** As in `open`. */
  name: string;
  labels: string;
  atMs: number;
  startsAtMs: number;
  endsAtMs: number;
};

type Told = { labels: Record<string, string>; startsAt?: string; endsAt?: string };

export async function startOnCall(): Promise<OnCall> {
  const told = new Map<string, Told>();
  const posts: Post[] = [];
  const startedAt = new Date().toISOString();
  let refuses = false;
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      // Whoever is killed in the middle of a post has told nothing.
      if (body === null) return;
      if (refuses) return response.writeHead(503).end();
      if (request.method === 'GET') return response.end(JSON.stringify({ uptime: startedAt }));
      for (const alert of JSON.parse(body) as Told[]) {
        told.set(JSON.stringify(alert.labels), alert);
        posts.push(postOf(alert));
      }
      response.writeHead(200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    open: () =>
      [...told.values()]
        .filter(({ endsAt }) => endsAt === undefined || Date.parse(endsAt) > Date.now())
        .map(nameOf)
        .sort(),
    toldOf: (name) =>
      posts
        .filter((post) => post.name === name)
        .slice(-10)
        .map(textOf),
    posts: () => posts,
    refuse: (to) => {
      refuses = to;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const nameOf = ({ labels }: Told): string =>
  [labels.alertname, labels.organization_id, labels.group].filter(Boolean).join(' ');

/** What says no start began when it was told, and what says no end goes on. */
function postOf(alert: Told): Post {
  const atMs = Date.now();
  const { startsAt, endsAt, labels } = alert;
  return {
    name: nameOf(alert),
    labels: JSON.stringify(labels),
    atMs,
    startsAtMs: startsAt === undefined ? atMs : Date.parse(startsAt),
    endsAtMs: endsAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(endsAt),
  };
}

function textOf({ atMs, endsAtMs, labels }: Post): string {
  const time = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : 'further notice');
  return `${time(atMs)} until ${time(endsAtMs)} as ${labels}`;
}

async function bodyOf(request: IncomingMessage): Promise<string | null> {
  let body = '';
  try {
    for await (const chunk of request) body += String(chunk);
  } catch {
    return null;
  }
  return request.complete ? body : null;
}
