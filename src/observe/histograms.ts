/**
 * Histograms kept as plain numbers and read when metrics are collected, like tallies: recording one value through the SDK
 * costs more than storing what is measured. Whoever records often hands in the same attributes object each time, which
 * is then found without being looked at.
 */
import { type Attributes, type Histogram, type HrTime, type Meter, ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type HistogramMetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';

interface Series {
  attributes: Attributes;
  counts: number[];
  sum: number;
  count: number;
}

export interface Histograms {
  /** The meter, whose histograms are these. Boundaries must be given with each. */
  within(meter: Meter): Meter;
  producer: MetricProducer;
}

export function makeHistograms(resource: Resource, nowMs: () => number): Histograms {
  const collectors: ((endTime: HrTime) => HistogramMetricData)[] = [];
  const startTime = timeOf(nowMs());

  const createHistogram: Meter['createHistogram'] = (name, options = {}) => {
    const { description = '', unit = '', advice } = options;
    const boundaries = advice?.explicitBucketBoundaries ?? [];
    const { record, series } = makeSeries(boundaries);
    collectors.push((endTime) => ({
      descriptor: { name, description, unit, valueType: ValueType.DOUBLE },
      dataPointType: DataPointType.HISTOGRAM,
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPoints: [...series()].map(({ attributes, counts, sum, count }) => ({
        attributes,
        startTime,
        endTime,
        value: { buckets: { boundaries, counts: [...counts] }, sum, count },
      })),
    }));
    return { record };
  };

  return {
    within: (meter) => Object.create(meter, { createHistogram: { value: createHistogram } }) as Meter,
    producer: {
      async collect() {
        const metrics = collectors.map((collect) => collect(timeOf(nowMs())));
        const recorded = metrics.filter(({ dataPoints }) => dataPoints.length > 0);
        const scopeMetrics = [{ scope: { name: 'tramline' }, metrics: recorded }];
        return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
      },
    },
  };
}

function makeSeries(boundaries: number[]): { record: Histogram['record']; series(): Iterable<Series> } {
  const byText = new Map<string, Series>();
  const byObject = new WeakMap<Attributes, Series>();
  const none: Attributes = {};

  function find(attributes: Attributes): Series {
    const text = JSON.stringify(
      Object.entries(attributes).sort(([left], [right]) => (left < right ? -1 : 1)),
    );
    let found = byText.get(text);
    if (found === undefined) {
      found = { attributes: { ...attributes }, counts: boundaries.map(() => 0), sum: 0, count: 0 };
      found.counts.push(0);
      byText.set(text, found);
    }
    byObject.set(attributes, found);
    return found;
  }

  return {
    series: () => byText.values(),
    record(value, attributes = none) {
      const series = byObject.get(attributes) ?? find(attributes);
      let at = 0;
      // A boundary belongs to the bucket below it.
      while (at < boundaries.length && value > (boundaries[at] as number)) at += 1;
      series.counts[at] = (series.counts[at] as number) + 1;
      series.sum += value;
      series.count += 1;
    },
  };
}

function timeOf(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}
