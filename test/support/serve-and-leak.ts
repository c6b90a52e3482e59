// A server that loses something with each request: what LEAK names. For whoever must see that it does.
import './tell-resources';
import { openSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';

const kept: unknown[] = [];

const leaks: Record<string, () => void> = {
  nothing: () => {},
  memory: () => void kept.push(Buffer.alloc(400_000, 1)),
  timers: () => void setTimeout(() => {}, 3_600_000).unref(),
  handles: () => void createSocketServer().listen(0, '127.0.0.1'),
  files: () => void openSync('/dev/null', 'r'),
};
const leak = leaks[process.env.LEAK ?? ''];
if (leak === undefined) throw new Error(`LEAK is one of ${Object.keys(leaks).join(', ')}`);

const server = createServer((_request, response) => {
  leak();
  response.end();
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
