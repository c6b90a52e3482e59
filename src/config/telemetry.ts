/**
 * What the standard OpenTelemetry variables ask for, in the words of the part that sets telemetry up. Pure.
 */
import type { Settings } from './table';

export interface TelemetryWishes {
  service: string;
  resourceAttributes: string | null;
  /** True when spans have somewhere to go. */
  exportTraces: boolean;
  samplerGiven: boolean;
  /** null: metrics are only asked for. */
  exportMetrics: { protocol: 'http/protobuf' | 'http/json' | 'grpc'; intervalMs: number } | null;
}

/** Without an exporter or an endpoint nothing is exported, unlike the SDK's own default. */
export function telemetryWishes(settings: Settings): TelemetryWishes {
  const exporters = settings.otelTracesExporter;
  const endpoint = settings.otelExporterOtlpEndpoint ?? settings.otelExporterOtlpTracesEndpoint;
  const wanted = exporters === null ? endpoint !== null : !exporters.includes('none');
  const metricExporters = settings.otelMetricsExporter;
  const metricEndpoint = settings.otelExporterOtlpEndpoint ?? settings.otelExporterOtlpMetricsEndpoint;
  const metricsWanted =
    metricExporters === null
      ? metricEndpoint !== null
      : metricExporters.includes('otlp') && !metricExporters.includes('none');
  return {
    service: settings.otelServiceName,
    resourceAttributes: settings.otelResourceAttributes,
    exportTraces: wanted && !settings.otelSdkDisabled,
    samplerGiven: settings.otelTracesSampler !== null,
    exportMetrics:
      metricsWanted && !settings.otelSdkDisabled
        ? {
            protocol: settings.otelExporterOtlpMetricsProtocol ?? settings.otelExporterOtlpProtocol,
            intervalMs: settings.otelMetricExportInterval,
          }
        : null,
  };
}
