/**
 * What reads the metrics: a reader that is asked, and what a reader that sends them asks its exporter. Both leave out what
 * a gauge was not told this time. The SDK keeps the last value of every gauge for ever where values are cumulative, which
 * is its default: what a store counted before it went away would be told as what is.
 */
import {
  AggregationTemporality,
  type AggregationTemporalitySelector,
  InstrumentType,
  type MetricProducer,
  MetricReader,
} from '@opentelemetry/sdk-metrics';

/** A gauge has no temporality of its own (OpenTelemetry's data model): as a delta it is what was observed since. */
export function forgetGauges(others: AggregationTemporalitySelector): AggregationTemporalitySelector {
  return (type) => (type === InstrumentType.OBSERVABLE_GAUGE ? AggregationTemporality.DELTA : others(type));
}

class TextReader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

/** Reads when it is asked to; all but gauges are totals. `histograms` gives what the SDK's own meter does not hold. */
export function makeTextReader(histograms: MetricProducer): MetricReader {
  return new TextReader({
    aggregationTemporalitySelector: forgetGauges(() => AggregationTemporality.CUMULATIVE),
    metricProducers: [histograms],
  });
}
