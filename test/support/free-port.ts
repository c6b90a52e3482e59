// Ports for servers that must be told theirs before they start (Kafka, Alertmanager). Whoever can listen on port 0 does.
import { createServer } from 'node:net';

// Below the range from which Linux and macOS give ports to outgoing connections: a stopped server finds its port free again.
const lowest = 20_000;
const highest = 31_999;

/** A port of 127.0.0.1 on which nothing listens at this moment. Throws after 50 taken ones. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest + 1));
    if (await isFree(port)) return port;
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
