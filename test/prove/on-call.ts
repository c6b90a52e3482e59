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
  /** Answers 503 until told otherwise. */
  refuse(refuses: boolean): void;
  stop(): Promise<void>;
};

type Told = { labels: Record<string, string>; endsAt?: string };

export async function startOnCall(): Promise<OnCall> {
  const told = new Map<string, Told>();
  const posts = new Map<string, string[]>();
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
        const post = `${new Date().toISOString()} until ${alert.endsAt} as ${alert.labels.severity}`;
        posts.set(nameOf(alert), [...(posts.get(nameOf(alert)) ?? []).slice(-9), post]);
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
    toldOf: (name) => posts.get(name) ?? [],
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

async function bodyOf(request: IncomingMessage): Promise<string | null> {
  let body = '';
  try {
    for await (const chunk of request) body += String(chunk);
  } catch {
    return null;
  }
  return request.complete ? body : null;
}
