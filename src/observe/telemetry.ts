/**
 * OpenTelemetry, set up once: a meter whose values are read as Prometheus text and, when asked for, sent by OTLP, and a tracer when the environment
 * asks for an exporter. The SDK for Node is loaded only then: it takes a third of a second and 40 MB. It serves no
 * port of its own, and patches no library.
 */
import { type Meter, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { type IMetricReader, MeterProvider, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Sampler } from '@opentelemetry/sdk-trace-base';
import { endsWithin, systemClock } from '../tools/clock';
import type * as ExportMetrics from './export-metrics';
import type { MetricsExport } from './export-metrics';
import { makeHistograms } from './histograms';
import { makeTextReader } from './metric-readers';
import { makeSparseTraces, makeTraceIds } from './sparse-traces';
import { makeQuietTraces, makeRecordedTraces, type Traces } from './traces';
import { tellUntaken } from './untaken';

export interface TelemetryOptions {
  service: string;
  version: string;
  instance: string;
  /** `key=value,key=value`, as OTEL_RESOURCE_ATTRIBUTES has it; null when there are none. */
  resourceAttributes: string | null;
  /** True when spans are exported; the SDK reads where to from the standard variables itself. */
  exportTraces: boolean;
  /** True when OTEL_TRACES_SAMPLER names the sampler. */
  samplerGiven: boolean;
  /** How and how often metrics are also sent by OTLP; null: they are not. */
  exportMetrics: MetricsExport | null;
}

export interface Telemetry {
  meter: Meter;
  traces: Traces;
  /** All metrics as Prometheus text, version 0.0.4. */
  metricsText(): Promise<string>;
  /** Sends what is left; takes at most two seconds, or less where there is less, never throws. */
  shutdown(withinMs?: number): Promise<void>;
}

const tracedShare = 0.05;
const shutdownMsMax = 2000;

/** `untaken` gets a sentence, at most one an hour, where a collector does not take what is sent to it. */
export function startTelemetry(
  options: TelemetryOptions,
  untaken: (detail: string) => void = () => {},
): Telemetry {
  if (options.exportTraces || options.exportMetrics !== null) {
    tellUntaken(untaken, () => performance.now());
  }
  // Name, suffixes and labels are ours; the scope is always the same and says nothing.
  const serializer = new PrometheusSerializer(undefined, false, undefined, false, true);
  const resource = resourceFromAttributes({
    ...attributesOf(options.resourceAttributes),
    'service.name': options.service,
    'service.version': options.version,
    'service.instance.id': options.instance,
  });
  const histograms = makeHistograms(resource, Date.now);
  const text = makeTextReader(histograms.producer);
  const readers: IMetricReader[] = [text];
  if (options.exportMetrics !== null) {
    // Loaded only then, like the tracer: the exporters bring what they speak with.
    const { makeMetricsExport } = require('./export-metrics') as typeof ExportMetrics;
    readers.push(makeMetricsExport(options.exportMetrics, histograms.producer));
  }
  const provider = new MeterProvider({ resource, readers });
  const tracing = options.exportTraces ? startTracing(resource, options.samplerGiven) : null;
  return {
    meter: histograms.within(provider.getMeter('tramline')),
    traces: tracing?.traces ?? makeQuietTraces(),
    metricsText: async () => {
      const { resourceMetrics } = await text.collect({ timeoutMillis: 1000 });
      return serializer.serialize(withUnitSuffixes(resourceMetrics));
    },
    shutdown: async (withinMs = shutdownMsMax) => {
      const ended = Promise.allSettled([provider.shutdown(), tracing?.shutdown()]);
      await endsWithin(ended, Math.min(withinMs, shutdownMsMax), systemClock);
    },
  };
}

function startTracing(resource: ReturnType<typeof resourceFromAttributes>, samplerGiven: boolean) {
  // Loaded here, see above.
  const { NodeSDK } = require('@opentelemetry/sdk-node') as typeof import('@opentelemetry/sdk-node');
  const ids = makeTraceIds();
  const sdk = new NodeSDK({
    idGenerator: ids,
    resource,
    autoDetectResources: false,
    instrumentations: [],
    metricReaders: [],
    logRecordProcessors: [],
    textMapPropagator: null,
    ...(samplerGiven ? {} : { sampler: linkedSampler() }),
  });
  sdk.start();
  const recorded = makeRecordedTraces(trace.getTracer('tramline'));
  const ratio = tracedRatio();
  const isKept = (traceId: string) => ratio.shouldSample(ROOT_CONTEXT, traceId).decision !== 0;
  return {
    traces: samplerGiven ? recorded : makeSparseTraces({ recorded, isKept, ids }),
    shutdown: () => sdk.shutdown(),
  };
}

function tracedRatio() {
  const { TraceIdRatioBasedSampler } =
    require('@opentelemetry/sdk-trace-base') as typeof import('@opentelemetry/sdk-trace-base');
  return new TraceIdRatioBasedSampler(tracedShare);
}

/**
 * One trace in twenty, chosen by its id. A span that is linked to a sampled one, or has a sampled parent here, is
 * kept as well. A stranger's flag alone does not make us record: the ratio is asked for remote parents too.
 */
export function linkedSampler(): Sampler {
  const { ParentBasedSampler, AlwaysOnSampler } =
    require('@opentelemetry/sdk-trace-base') as typeof import('@opentelemetry/sdk-trace-base');
  const ratio = tracedRatio();
  const always = new AlwaysOnSampler();
  const byParent = new ParentBasedSampler({ root: ratio });
  return {
    shouldSample: (context, traceId, name, kind, attributes, links) => {
      const ours = trace.getSpanContext(context);
      if (links.some((link) => (link.context.traceFlags & 1) === 1)) return always.shouldSample();
      if (name === 'POST /webhooks' || ours === undefined) return ratio.shouldSample(context, traceId);
      return byParent.shouldSample(context, traceId, name, kind, attributes, links);
    },
    toString: () => `tramline{${tracedShare}}`,
  };
}

/** Prometheus wants units in names; the JavaScript exporter leaves them out. */
function withUnitSuffixes(metrics: ResourceMetrics): ResourceMetrics {
  const suffixes: Record<string, string> = { s: '_seconds', By: '_bytes' };
  return {
    ...metrics,
    scopeMetrics: metrics.scopeMetrics.map((scope) => ({
      ...scope,
      metrics: scope.metrics.map((metric) => ({
        ...metric,
        descriptor: {
          ...metric.descriptor,
          name: `${metric.descriptor.name}${suffixes[metric.descriptor.unit] ?? ''}`,
        },
      })),
    })),
  };
}

function attributesOf(text: string | null): Record<string, string> {
  const pairs = (text ?? '').split(',').map((pair) => pair.split('='));
  return Object.fromEntries(
    pairs
      .filter((pair): pair is [string, string] => pair.length === 2 && pair[0] !== '')
      .map(([key, value]) => [key.trim(), decoded(value.trim())]),
  );
}

/** Values are percent-encoded where they hold commas and the like; what is not is taken as it is. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
