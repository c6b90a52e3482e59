// Goal: metrics go to a collector over gRPC when that is asked for, and one that is dead keeps nothing back. Method: the real exporter and an HTTP/2 server on loopback. The other protocols load their client in a way that
// only a process of its own can, and are shown with the whole service.
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Gauges } from '../../../src/observe/lines';
import { type Metrics, makeMetrics } from '../../../src/observe/metrics';
import { startTelemetry, type Telemetry } from '../../../src/observe/telemetry';
import { freePort } from '../../support/free-port';
import { until } from '../../support/until';
import { gauges, unexported } from './sample-lines';

const endpoint = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const soon = { withinMs: 4000 };
let telemetry: Telemetry;
let metrics: Metrics;

function start(port: number, intervalMs = 100, from: Gauges = gauges): void {
  process.env[endpoint] = `http://127.0.0.1:${port}`;
  telemetry = startTelemetry({ ...unexported, exportMetrics: { protocol: 'grpc', intervalMs } });
  metrics = makeMetrics(telemetry.meter, from);
  metrics.fault('pipeline');
}

afterEach(() => {
  delete process.env[endpoint];
});

/** Keeps exports, by their path and whole, and answers each. */
async function collector() {
  const paths: string[] = [];
  const bodies: string[] = [];
  const sessions: ServerHttp2Session[] = [];
  const server = createServer()
    .on('session', (session) => sessions.push(session))
    .on('stream', (stream, headers) => {
      paths.push(String(headers[':path']));
      let body = '';
      stream.setEncoding('latin1').on('data', (part: string) => {
        body += part;
      });
      stream.on('end', () => bodies.push(body));
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.alloc(5));
    });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    paths,
    bodies,
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise<void>((resolve) => {
        for (const session of sessions) session.destroy();
        server.close(() => resolve());
      }),
  };
}

/** How long the end took. */
async function stopMs(): Promise<number> {
  metrics.stop();
  const beganMs = performance.now();
  await telemetry.shutdown();
  return performance.now() - beganMs;
}

test('they go out at the interval, and once more at the end', async () => {
  const far = await collector();
  start(far.port);
  await until(() => far.paths.length > 1, soon);
  expect(far.paths[0]).toBe('/opentelemetry.proto.collector.metrics.v1.MetricsService/Export');
  await stopMs();
  await far.stop();

  const last = await collector();
  start(last.port, 3_600_000);
  await stopMs();
  expect(last.paths).toHaveLength(1);
  await last.stop();
});

test('what a store counted is not sent once it says nothing', async () => {
  const far = await collector();
  let counts = gauges.counts;
  start(far.port, 100, { ...gauges, counts: () => counts() });
  await until(() => far.bodies.some((body) => body.includes('tramline.inbox_pending')), soon);
  counts = () => Promise.reject(new Error('gone'));
  await until(() => !far.bodies.at(-1)!.includes('tramline.inbox_pending'), soon);
  expect(far.bodies.at(-1)).toContain('tramline.faults');
  await stopMs();
  await far.stop();
});

test('R12: a dead collector keeps nothing back, and holds up the end for two seconds at most', async () => {
  start(await freePort());
  expect(await telemetry.metricsText()).toContain('tramline_faults_total{place="pipeline"} 1\n');
  expect(await stopMs()).toBeLessThan(3500);
});
