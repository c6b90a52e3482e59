// A collector of traces for tests: an HTTP server that takes what the OpenTelemetry SDK posts, keeps every request as it
// came, and shows the spans of those that are JSON. It can be told never to answer. Knows nothing of the product.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type CollectorSpan = {
  name: string;
  /** `internal`, `server`, `client`, … */
  kind: string;
  traceId: string;
  spanId: string;
  /** Empty for a span that begins a trace. */
  parentSpanId: string;
  links: { traceId: string; spanId: string }[];
  attributes: Record<string, unknown>;
  failed: boolean;
};

export type CollectorPoint = { attributes: Record<string, unknown>; value: unknown };

export type CollectorRequest = { path: string; headers: IncomingHttpHeaders; body: Buffer };

export type Collector = {
  /** Without a slash at the end. */
  url: string;
  requests: CollectorRequest[];
  /** In the order of arrival; of JSON requests only. */
  spans(): CollectorSpan[];
  /** Of the latest JSON request that brought metrics: name → sets of attribute names, a value each. */
  metrics(): Map<string, CollectorPoint[]>;
  close(): Promise<void>;
};

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

/** Listens on loopback. With `answers: false` it takes connections and says nothing. */
export async function startCollector({ answers = true } = {}): Promise<Collector> {
  const requests: CollectorRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const { url: path = '', headers } = request;
      requests.push({ path, headers, body: Buffer.concat(chunks) });
      if (answers) response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans: () =>
      requests.filter(isJsonAt('/v1/traces')).flatMap(({ body }) => spansIn(JSON.parse(body.toString()))),
    metrics: () => {
      const latest = requests.filter(isJsonAt('/v1/metrics')).at(-1);
      return latest === undefined ? new Map() : metricsIn(JSON.parse(latest.body.toString()));
    },
    close: () => closeAll(server),
  };
}

/** Settings of a service that traces everything and sends it there at once, as JSON. */
export const tracedTo = (url: string): Record<string, string> => ({
  OTEL_TRACES_EXPORTER: 'otlp',
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_TRACES_SAMPLER: 'always_on',
  OTEL_BSP_SCHEDULE_DELAY: '50',
  OTEL_METRIC_EXPORT_INTERVAL: '200',
});

/** How many spans of each name there are. */
export function countByName(spans: CollectorSpan[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { name } of spans) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

const isJsonAt =
  (place: string) =>
  ({ path, headers }: CollectorRequest) =>
    path.endsWith(place) && headers['content-type'] === 'application/json';

type WireAttribute = { key: string; value: Record<string, unknown> };
type WireSpan = {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  links?: { traceId: string; spanId: string }[];
  attributes: WireAttribute[];
  status?: { code?: number };
};

type WirePoint = { attributes: WireAttribute[]; asDouble?: number; asInt?: number; count?: number };
type WireMetric = { name: string } & Partial<
  Record<'sum' | 'gauge' | 'histogram', { dataPoints: WirePoint[] }>
>;

/** The metrics of one OTLP request in JSON; of a histogram, the count. */
function metricsIn(body: {
  resourceMetrics: { scopeMetrics: { metrics: WireMetric[] }[] }[];
}): Map<string, CollectorPoint[]> {
  const metrics = body.resourceMetrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap((scope) => scope.metrics),
  );
  return new Map(
    metrics.map(({ name, sum, gauge, histogram }) => [
      name,
      (sum ?? gauge ?? histogram)?.dataPoints.map(({ attributes, asDouble, asInt, count }) => ({
        attributes: attributesOf(attributes),
        value: asDouble ?? asInt ?? count,
      })) ?? [],
    ]),
  );
}

const attributesOf = (attributes: WireAttribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** The spans of one OTLP request in JSON. */
function spansIn(body: { resourceSpans: { scopeSpans: { spans: WireSpan[] }[] }[] }): CollectorSpan[] {
  const wire = body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
  return wire.map(({ name, kind, traceId, spanId, parentSpanId = '', links = [], attributes, status }) => ({
    name,
    kind: kinds[kind] ?? String(kind),
    traceId,
    spanId,
    parentSpanId,
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    attributes: attributesOf(attributes),
    failed: status?.code === 2,
  }));
}

function closeAll(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
