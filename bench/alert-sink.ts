// An Alertmanager as far as posts go: takes everything, and keeps when what was told. It notifies nobody.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Told {
  labels: Record<string, string>;
  endsAt: string;
}

export interface Post {
  /** On the clock of `performance`. */
  atMs: number;
  alerts: { of: string; organizationId: string | null; firing: boolean }[];
}

export interface AlertSink {
  url: string;
  /** The first post that says that this organization's alert fires; null when none did. */
  firstOf(organizationId: string): Post | null;
  between(fromMs: number, toMs: number): Post[];
  /** How many alerts that were first told after `sinceMs` were told as firing last, as of then. */
  openAt(atMs: number, sinceMs: number): number;
  stop(): Promise<void>;
}

export async function startAlertSink(): Promise<AlertSink> {
  const posts: Post[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (request.method === 'POST') posts.push(postOf(Buffer.concat(chunks).toString('utf8')));
      response.end(request.method === 'POST' ? '' : '{"uptime":"2025-01-01T00:00:00Z"}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    firstOf: (organizationId) =>
      posts.find(({ alerts }) => alerts.some((one) => one.organizationId === organizationId && one.firing)) ??
      null,
    between: (fromMs, toMs) => posts.filter(({ atMs }) => atMs >= fromMs && atMs < toMs),
    openAt(atMs, sinceMs) {
      const told = new Map<string, { firstMs: number; firing: boolean }>();
      for (const post of posts) {
        if (post.atMs > atMs) break;
        for (const { of, firing } of post.alerts) {
          told.set(of, { firstMs: told.get(of)?.firstMs ?? post.atMs, firing });
        }
      }
      return [...told.values()].filter(({ firstMs, firing }) => firing && firstMs > sinceMs).length;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function postOf(body: string): Post {
  const told = JSON.parse(body) as Told[];
  return {
    atMs: performance.now(),
    alerts: told.map(({ labels, endsAt }) => ({
      of: JSON.stringify(Object.entries(labels).sort()),
      organizationId: labels.organization_id ?? null,
      firing: Date.parse(endsAt) > Date.now(),
    })),
  };
}
