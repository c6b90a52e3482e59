// Ports for servers that must be told theirs before they start (Kafka, Alertmanager). Whoever can listen on port 0 does.
import { createServer } from 'node:net';

// Below the range from which Linux and macOS give ports to outgoing connections: a stopped server finds its port free again.
const lowest = 20_000;
const highest = 31_999;
/** Whoever is given a port listens on it seconds later: each of the runner's workers has a part of its own to give from. */
const parts = 8;
const perPart = Math.floor((highest - lowest + 1) / parts);
const first = lowest + (Number(process.env.JEST_WORKER_ID ?? 0) % parts) * perPart;
const given = new Set<number>();

/** A port of 127.0.0.1 on which nothing listens at this moment, and each time another. Throws after 50 taken ones. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = first + Math.floor(Math.random() * perPart);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error('No free port among 50 tried.');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
