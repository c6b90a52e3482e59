// The floor of reading what was parked: the service's own client, with the same number of reads in flight, and nothing
// around it. It is posted a list of resources and answers when all were read; what was read is parsed and let go.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadSettings } from '../../src/config';
import { makeProviderClient } from '../../src/fetch/provider-client';
import { systemClock } from '../../src/tools/clock';
import { providerOptions } from '../../src/wire/options';
import type { Resource } from '../deliveries';

const { settings } = loadSettings('serve');
const [given] = settings.providerTokens ?? [];
if (given === undefined) throw new Error('PROVIDER_TOKENS holds no connection');
const connection = {
  connectionId: given.connection,
  user: given.user,
  auth: given.auth,
  token: given.token,
  sealedToken: null,
  tokenSecret: null,
  refresh: null,
  expiresAt: null,
  status: 'valid' as const,
};
let seen: ReadonlySet<string> = new Set();
const client = makeProviderClient(providerOptions(settings), {
  connections: () => [connection],
  sees: () => seen,
  clock: systemClock,
  called: () => {},
});

async function readAll(resources: Resource[]): Promise<void> {
  seen = new Set(resources.map(([organizationId]) => organizationId));
  let next = 0;
  const lane = async () => {
    while (next < resources.length) {
      const [organizationId, address] = resources[next++] as Resource;
      const { answer } = await client.read({
        address,
        resource: null,
        organizationId: null,
        hintedOrganizationId: organizationId,
        hintedUser: null,
        connectionId: null,
      });
      if (answer.kind !== 'ok') throw new Error(`${address}: ${answer.kind}`);
    }
  };
  await Promise.all(Array.from({ length: settings.providerConcurrency }, lane));
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const resources = JSON.parse(Buffer.concat(chunks).toString()) as Resource[];
    const startedAt = performance.now();
    readAll(resources).then(
      () => response.end(JSON.stringify({ tookMs: performance.now() - startedAt })),
      (error: Error) => response.writeHead(500).end(error.stack),
    );
  });
});
server.requestTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
});
