/**
 * B11 and B12: a Kafka that cannot prove who it is, does not want us, or says that it is where nobody can be reached.
 * Each is told by the broker's address and the reason, in bounded time; nothing of the login leaves before the far side
 * has proved itself, and while all of this lasts deliveries are accepted.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { CheckLine } from '../../src/model/api';
import { type KafkaTargetOptions, kafkaTargetDefaults, makeKafkaTarget } from '../../src/publish/kafka';
import { systemClock as clock } from '../../src/tools/clock';
import { Secret } from '../../src/tools/secret';
import { startAdvertisingBroker } from '../support/advertising-broker';
import { type Certificate, makeAuthority, makeSelfSigned } from '../support/certificates';
import { freePort } from '../support/free-port';
import { temporaryFolder } from '../support/service';
import { beginStory, notificationOf, type Story } from '../support/story';
import { until } from '../support/until';

const password = 'canary-of-the-login-7c1f';
const times = { connectTimeoutMs: 1_500, requestTimeoutMs: 1_500 };
const names = ['127.0.0.1'];
const authority = makeAuthority();

let closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
});

/** A port behind TLS that keeps what it is told; `told` is what came through a handshake that succeeded. */
async function listenSecurely(certificate: Certificate): Promise<{ port: number; told: Buffer[] }> {
  const told: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createTlsServer(certificate, (socket: TLSSocket) => {
    socket.on('error', () => {}).on('data', (bytes) => told.push(bytes));
  });
  server.on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, told };
}

function targetOf(address: string, ca: string | null, options: Partial<KafkaTargetOptions> = {}) {
  const target = makeKafkaTarget(
    {
      brokers: [address],
      clientId: 'doors',
      tls: ca === null ? null : { now: () => ({ ca, cert: null, key: null }), unfit: () => null },
      sasl: { mechanism: 'plain', username: 'relay', password: new Secret(password) },
    },
    { ...kafkaTargetDefaults, ...times, clock, topics: ['t'], ...options },
  );
  closing.push(() => target.close());
  return target;
}

describe('B11: a broker', () => {
  test.each<[string, () => Certificate, string]>([
    ['that signed for itself', () => makeSelfSigned({ names }), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    [
      'whom another authority signed',
      () => makeAuthority('Somebody else').issue({ names }),
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
    [
      'whose certificate has expired',
      () => authority.issue({ names, untilMs: Date.now() - 1000 }),
      'CERT_HAS_EXPIRED',
    ],
    [
      'with the certificate of another name',
      () => authority.issue({ names: ['kafka.example'] }),
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ],
  ])('%s is refused by name and reason, and is told no login', async (_what, certificateOf, reason) => {
    const { port, told } = await listenSecurely(certificateOf());
    await expect(targetOf(`127.0.0.1:${port}`, authority.cert).open()).rejects.toMatchObject({
      code: 'publish.refused',
      message: `Kafka cannot be used: no connection at 127.0.0.1:${port} (${reason})`,
    });
    expect(told).toEqual([]);
  });

  test('with a certificate for its name by the authority that is named is spoken to', async () => {
    const { port, told } = await listenSecurely(authority.issue({ names }));
    const opening = targetOf(`127.0.0.1:${port}`, authority.cert)
      .open()
      .catch(() => {});
    await until(async () => told.length > 0, { withinMs: 10_000 });
    for (const close of closing.reverse()) await close();
    closing = [];
    await opening;
  });
});

describe('B11: while the brokers prove nothing', () => {
  let story: Story;
  afterEach(() => story.end());

  test('deliveries are accepted, a person is told which broker and why, and the login is written nowhere', async () => {
    const { port, told } = await listenSecurely(authority.issue({ names, untilMs: Date.now() - 1000 }));
    const caFile = join(temporaryFolder(), 'authority.pem');
    writeFileSync(caFile, authority.cert);
    story = await beginStory({
      delivers: false,
      settings: {
        KAFKA_BROKERS: `127.0.0.1:${port}`,
        KAFKA_TLS: 'true',
        KAFKA_CA_FILE: caFile,
        KAFKA_SASL_MECHANISM: 'plain',
        KAFKA_SASL_USERNAME: 'relay',
        KAFKA_SASL_PASSWORD: password,
        LOG_LEVEL: 'debug',
      },
    });
    const [machine] = await story.equipment();
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    const alert = await until(async () => (await story.alerts())[0] ?? null, { withinMs: 40_000 });
    expect(alert).toMatchObject({ name: 'TramlineKafkaUnavailable', state: 'firing' });
    expect(JSON.stringify(alert)).toContain(`127.0.0.1:${port} (CERT_HAS_EXPIRED)`);
    expect((await fetch(`${story.service.operationsUrl}/readyz`)).status).toBe(200);
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    expect(await story.ledger()).toMatchObject({ accepted: 2, lost: 0 });
    const kafka = (await story.ask<CheckLine[]>('/api/check')).find(({ name }) => name === 'kafka');
    expect(kafka).toMatchObject({
      state: 'failed',
      next: expect.stringMatching(/KAFKA_CA_FILE.*without a restart\.$/),
    });
    expect(told).toEqual([]);
    // The page is saved before it is written to the log.
    await until(() => story.service.lines().join('\n').includes('CERT_HAS_EXPIRED'), { withinMs: 10_000 });
    const written = story.service.lines().join('\n');
    expect(written).not.toContain(password);
    expect(written).not.toContain(Buffer.from(password).toString('base64').slice(0, 20));
  }, 90_000);

  test('an authority that is renewed on disk is believed without a restart, and what does not fit is told', async () => {
    const other = makeAuthority('Somebody else');
    const { port, told } = await listenSecurely(other.issue({ names }));
    const caFile = join(temporaryFolder(), 'authority.pem');
    writeFileSync(caFile, authority.cert);
    const settings = { KAFKA_BROKERS: `127.0.0.1:${port}`, KAFKA_TLS: 'true', KAFKA_CA_FILE: caFile };
    story = await beginStory({ delivers: false, settings });
    const [machine] = await story.equipment();
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    const linesWith = (words: string) => story.service.lines().filter((line) => line.includes(words));
    await until(() => linesWith('UNABLE_TO_VERIFY_LEAF_SIGNATURE').length > 0, { withinMs: 20_000 });

    writeFileSync(caFile, other.cert.slice(0, 300));
    const line = await until(() => linesWith('publish.files-unfit')[0], { withinMs: 20_000 });
    expect(line).toContain('KAFKA_CA_FILE must be the path of a PEM file that holds a certificate');
    const kafka = (await story.ask<CheckLine[]>('/api/check')).find(({ name }) => name === 'kafka');
    expect(kafka).toMatchObject({
      state: 'failed',
      next: expect.stringMatching(
        /without a restart\. But what .* hold now is not used: KAFKA_CA_FILE must be .*\.$/,
      ),
    });
    expect(told).toEqual([]);

    writeFileSync(caFile, other.cert);
    await until(() => told.length > 0, { withinMs: 20_000 });
    expect(linesWith('publish.files-unfit')).toHaveLength(1);
  }, 90_000);
});

describe('B12: a broker that advertises an address', () => {
  const openAt = async (advertised: { host: string; port: number }) => {
    const broker = await startAdvertisingBroker(advertised);
    closing.push(() => broker.close());
    const target = makeKafkaTarget(
      { brokers: [broker.address], clientId: 'doors', tls: null, sasl: null },
      { ...kafkaTargetDefaults, ...times, clock, topics: [] },
    );
    closing.push(() => target.close());
    const startedAt = performance.now();
    const error: unknown = await target.open().catch((thrown: unknown) => thrown);
    return { error, tookMs: performance.now() - startedAt };
  };

  test('where nobody listens is told by that address', async () => {
    const port = await freePort();
    const { error } = await openAt({ host: '127.0.0.2', port });
    expect(error).toMatchObject({ code: 'publish.unavailable' });
    expect((error as Error).message).toContain(`127.0.0.2:${port}`);
  });

  test('where somebody listens and says nothing is given up in time, and told by that address', async () => {
    const mute = createServer((socket) => {
      socket.on('error', () => {});
      closing.push(async () => socket.destroy());
    });
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    closing.push(async () => void mute.close());
    const { port } = mute.address() as AddressInfo;
    const { error, tookMs } = await openAt({ host: 'localhost', port });
    expect(error).toMatchObject({ code: 'publish.unavailable' });
    expect((error as Error).message).toContain(`localhost:${port}`);
    expect(tookMs).toBeLessThan(3 * times.connectTimeoutMs + 1_500);
  });
});
