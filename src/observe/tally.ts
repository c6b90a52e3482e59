/**
 * A counter by one label, or without any, kept as plain numbers and read when metrics are collected: counting a delivery must cost
 * nothing beside storing it. The label's values come from a closed list, so that the map is bounded.
 */
import type { Meter, MetricOptions } from '@opentelemetry/api';

export interface Tally<Value extends string> {
  add(count: number, value: Value): void;
}

export interface Total {
  add(count: number): void;
}

/** Shown from the beginning with 0. */
export function makeTotal(meter: Meter, name: string, options: MetricOptions): Total {
  let total = 0;
  meter.createObservableCounter(name, options).addCallback((result) => result.observe(total));
  return {
    add(count) {
      total += count;
    },
  };
}

/** `values` are shown from the beginning with 0, so that their first increase is seen as one. */
export function makeTally<Value extends string>(
  meter: Meter,
  name: string,
  description: string,
  label: string,
  values: readonly Value[],
): Tally<Value> {
  const counts = new Map<Value, number>(values.map((value) => [value, 0]));
  meter.createObservableCounter(name, { description }).addCallback((result) => {
    for (const [value, count] of counts) result.observe(count, { [label]: value });
  });
  return {
    add(count, value) {
      if (count > 0) counts.set(value, (counts.get(value) ?? 0) + count);
    },
  };
}
