/**
 * Sends metrics by OTLP at an interval, besides `/metrics`. Where to, with which headers and how compressed, the
 * exporters read from the standard variables themselves. What a collector does not take is dropped: the next export holds
 * everything again, since values are totals. Nothing here is loaded unless metrics are exported.
 */
import type * as Grpc from '@opentelemetry/exporter-metrics-otlp-grpc';
import type * as Http from '@opentelemetry/exporter-metrics-otlp-http';
import type * as Proto from '@opentelemetry/exporter-metrics-otlp-proto';
import {
  type MetricProducer,
  type MetricReader,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { forgetGauges } from './metric-readers';

export interface MetricsExport {
  protocol: 'http/protobuf' | 'http/json' | 'grpc';
  intervalMs: number;
}

/** An export that takes longer is given up; one begins after the other has ended. */
const timeoutMsMax = 10_000;

/** `histograms` gives what the SDK's own meter does not hold. An export is given up after 10 s. */
export function makeMetricsExport(
  { protocol, intervalMs }: MetricsExport,
  histograms: MetricProducer,
): MetricReader {
  const exporter = makeExporter(protocol);
  exporter.selectAggregationTemporality = forgetGauges(exporter.selectAggregationTemporality.bind(exporter));
  return new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(intervalMs, timeoutMsMax),
    metricProducers: [histograms],
  });
}

/** Each protocol brings libraries of its own: only the one that is spoken is loaded. */
function makeExporter(protocol: MetricsExport['protocol']) {
  if (protocol === 'grpc') {
    const grpc = require('@opentelemetry/exporter-metrics-otlp-grpc') as typeof Grpc;
    return new grpc.OTLPMetricExporter();
  }
  if (protocol === 'http/json') {
    const http = require('@opentelemetry/exporter-metrics-otlp-http') as typeof Http;
    return new http.OTLPMetricExporter();
  }
  const proto = require('@opentelemetry/exporter-metrics-otlp-proto') as typeof Proto;
  return new proto.OTLPMetricExporter();
}
