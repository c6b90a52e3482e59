// Goal: each connection of a client that lives on shows the certificate of its own time.
// Method: a server that ends every connection once it knows who came, so that the client makes another.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { makeCluster } from '../../../src/publish/kafka-cluster';
import { systemClock as clock } from '../../../src/tools/clock';
import { Secret } from '../../../src/tools/secret';
import { makeAuthority } from '../../support/certificates';

const times = { connectTimeoutMs: 2_000, requestTimeoutMs: 2_000, clock };

test('a client that is made once uses what was renewed since', async () => {
  const authority = makeAuthority();
  const renewed = [authority.issue({}), authority.issue({}), authority.issue({})];
  const shown: string[] = [];
  const server = createServer(
    { ...authority.issue({ names: ['127.0.0.1'] }), requestCert: true, rejectUnauthorized: false },
    (socket) => {
      shown.push(socket.getPeerCertificate().fingerprint256);
      socket.on('error', () => {}).once('data', () => socket.destroy());
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const now = () => {
    const { cert, key } = renewed[Math.min(shown.length, 2)]!;
    return { ca: authority.cert, cert, key: new Secret(key) };
  };
  const cluster = makeCluster(
    {
      brokers: [`127.0.0.1:${(server.address() as AddressInfo).port}`],
      clientId: 'unit',
      tls: { now, unfit: () => null },
      sasl: null,
    },
    times,
  );
  await expect(cluster.connect()).rejects.toThrow();
  cluster.destroy();
  await new Promise((resolve) => server.close(resolve));
  expect(shown.slice(0, 3)).toEqual(renewed.map(({ cert }) => new X509Certificate(cert).fingerprint256));
});
