/**
 * Every instrument there is, created once, and the functions that feed them. Label values come from closed lists and
 * from configuration (topics, origins): what is not known is counted as `other`, so that no stranger can add a series.
 * Names of HTTP and messaging are those of OpenTelemetry's semantic conventions; our own begin with `tramline`.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api';
import type {
  AlertPost,
  Attempt,
  DeliveryAccepted,
  DeliveryRefused,
  Gauges,
  ProviderCall,
  Sent,
} from './lines';

export interface Metrics {
  deliveryAccepted(line: DeliveryAccepted): void;
  deliveryRefused(line: DeliveryRefused): void;
  requestBegan(): void;
  requestEnded(): void;
  attempt(line: Attempt): void;
  providerCall(line: ProviderCall): void;
  sent(line: Sent): void;
  alertPost(line: AlertPost): void;
  /** Stops what measures in the background. */
  stop(): void;
}

/** Seconds; the buckets of the conventions for requests and operations. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Seconds from acceptance to acknowledgement; the promise is one minute, so 60 is a boundary. */
const freshnessBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600];

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
const securityReasons = /^(authorization|signature|timestamp|token)-|^too-many-failures$/;
const originsMax = 50;
const errorTypesMax = 40;

export function makeMetrics(meter: Meter, gauges: Gauges): Metrics {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  observeGauges(meter, gauges, delay);
  const deliveries = deliveryInstruments(meter);
  const provider = providerInstruments(meter);
  const quarantined = meter.createCounter('tramline.quarantined', {
    description: 'What was put into quarantine, by reason.',
  });
  const attempts = meter.createCounter('tramline.attempts', {
    description: 'Attempts to read a due resource, by how they ended.',
  });
  const posts = meter.createCounter('tramline.alert_posts', {
    description: 'Posts to alert sinks, by how they were taken.',
  });
  const sent = sentInstruments(meter);
  return {
    deliveryAccepted: (line) => {
      deliveries.accepted(line);
      for (const reason of line.quarantined) quarantined.add(1, { reason });
    },
    deliveryRefused: deliveries.refused,
    requestBegan: () => deliveries.active.add(1, route),
    requestEnded: () => deliveries.active.add(-1, route),
    attempt: (line) => {
      attempts.add(1, { outcome: line.outcome });
      if (line.quarantine === null) return;
      quarantined.add(1, { reason: line.quarantine });
      if (line.quarantine === 'address-refused') deliveries.security.add(1, { reason: 'address-refused' });
    },
    providerCall: provider,
    sent,
    alertPost: ({ sink, outcome }) => posts.add(1, { sink, outcome }),
    stop: () => delay.disable(),
  };
}

const route = { 'http.request.method': 'POST', 'http.route': '/webhooks', 'url.scheme': 'http' };

function deliveryInstruments(meter: Meter) {
  const duration = histogram(
    meter,
    'http.server.request.duration',
    'Duration of requests to the public listener.',
  );
  const outcomes = meter.createCounter('tramline.deliveries', {
    description: 'Deliveries, by what became of them on receipt.',
  });
  const notifications = meter.createCounter('tramline.notifications', {
    description: 'Elements of accepted deliveries, by what became of them on receipt.',
  });
  const duplicates = meter.createCounter('tramline.duplicate_deliveries', {
    description: 'Deliveries whose message id was stored before.',
  });
  const security = meter.createCounter('tramline.security_rejections', {
    description: 'What was refused to keep strangers out, by reason.',
  });
  const active = meter.createUpDownCounter('http.server.active_requests', {
    description: 'Requests to the public listener in progress.',
  });
  const acceptedRoute = { ...route, 'http.response.status_code': 204 };
  return {
    security,
    active,
    accepted: (line: DeliveryAccepted) => {
      duration.record(line.tookMs / 1000, acceptedRoute);
      outcomes.add(1, { outcome: line.repeated ? 'repeated' : 'accepted' });
      if (line.repeated) {
        duplicates.add(1);
        return;
      }
      addUnlessZero(notifications, line.hints, { received: 'hint' });
      addUnlessZero(notifications, line.acted, { received: 'acted' });
      addUnlessZero(notifications, line.ignored, { received: 'ignored' });
      addUnlessZero(notifications, line.quarantined.length, { received: 'quarantined' });
      const strange = line.quarantined.filter((reason) => reason === 'unauthenticated').length;
      addUnlessZero(security, strange, { reason: 'unauthenticated' });
    },
    refused: (line: DeliveryRefused) => {
      outcomes.add(1, { outcome: line.reason });
      if (securityReasons.test(line.reason)) security.add(1, { reason: line.reason });
      if (line.tookMs === null || line.status === 0) return;
      const known = line.reason === 'not-found' || line.reason === 'method' ? otherRoute : route;
      const error = line.status >= 500 ? { 'error.type': String(line.status) } : {};
      const attributes = { ...known, 'http.response.status_code': line.status, ...error };
      duration.record(line.tookMs / 1000, attributes);
    },
  };
}

const otherRoute = { 'http.request.method': '_OTHER', 'url.scheme': 'http' };

function providerInstruments(meter: Meter): Metrics['providerCall'] {
  const duration = histogram(meter, 'http.client.request.duration', 'Duration of requests to the provider.');
  const bytes = meter.createCounter('tramline.provider_received', {
    description: 'Bytes of answers received from the provider.',
    unit: 'By',
  });
  let clockOffsetMs = 0;
  meter
    .createObservableGauge('tramline.provider_clock_offset', {
      description: 'The provider’s clock minus ours, as its last answer had it.',
      unit: 's',
    })
    .addCallback((result) => result.observe(clockOffsetMs / 1000));
  const origins = bounded(originsMax);
  const errorTypes = bounded(errorTypesMax);
  return (line) => {
    if (line.clockOffsetMs !== null) clockOffsetMs = line.clockOffsetMs;
    const attributes: Attributes = {
      'http.request.method': methods.has(line.method) ? line.method : '_OTHER',
      'server.address': origins(line.origin),
      'url.template': line.route,
    };
    if (line.status !== null) attributes['http.response.status_code'] = line.status;
    if (line.errorType !== null) attributes['error.type'] = errorTypes(line.errorType);
    duration.record(line.tookMs / 1000, attributes);
    bytes.add(line.bytes);
  };
}

function sentInstruments(meter: Meter): Metrics['sent'] {
  const duration = histogram(meter, 'messaging.client.operation.duration', 'Duration of sends of events.');
  const messages = meter.createCounter('messaging.client.sent.messages', {
    description: 'Records that were sent, attempts that failed included.',
  });
  const freshness = meter.createHistogram('tramline.freshness', {
    description: 'From the acceptance of a notification to the acknowledgement of its event.',
    unit: 's',
    advice: { explicitBucketBoundaries: freshnessBuckets },
  });
  const errorTypes = bounded(errorTypesMax);
  return (line) => {
    const attributes: Attributes = {
      'messaging.operation.name': 'send',
      'messaging.system': line.system === 'kafka' ? 'kafka' : 'tramline_event_log',
      'messaging.destination.name': line.topic,
    };
    if (line.errorType !== null) attributes['error.type'] = errorTypes(line.errorType);
    duration.record(line.tookMs / 1000, attributes);
    messages.add(line.count, attributes);
    for (const ms of line.freshnessMs) freshness.record(ms / 1000);
  };
}

function observeGauges(
  meter: Meter,
  gauges: Gauges,
  delay: { percentile(percentile: number): number; reset(): void },
): void {
  const gauge = (name: string, description: string, unit?: string) =>
    meter.createObservableGauge(name, unit === undefined ? { description } : { description, unit });
  const pending = gauge(
    'tramline.inbox_pending',
    'Resources that are due or wait for their time, not parked.',
  );
  const oldest = gauge('tramline.inbox_oldest_pending_age', 'Age of the oldest due resource.', 's');
  const tasks = gauge('tramline.tasks', 'Tasks, by what they wait for.');
  const unsent = gauge('tramline.outbox_pending', 'Decided events that are not acknowledged.');
  const organizations = gauge('tramline.organizations', 'Organizations, by access.');
  const alerts = gauge('tramline.alerts_active', 'Firing alerts, by severity.');
  const reachable = gauge('tramline.store_reachable', 'Whether the store answered this collection.');
  const lag = gauge('nodejs.eventloop.delay.p99', 'Delay of the event loop since the last collection.', 's');
  meter.addBatchObservableCallback(
    async (result) => {
      result.observe(lag, delay.percentile(99) / 1e9);
      delay.reset();
      try {
        const [counts, firing] = await Promise.all([gauges.counts(), gauges.alertsFiring()]);
        result.observe(reachable, 1);
        result.observe(pending, counts.due + counts.waiting);
        result.observe(oldest, (counts.oldestDueAgeMs ?? 0) / 1000);
        result.observe(unsent, counts.unsent);
        for (const state of ['due', 'waiting', 'parked', 'quarantined'] as const) {
          result.observe(tasks, counts[state], { state });
        }
        for (const [access, count] of Object.entries(counts.organizations)) {
          result.observe(organizations, count, { access });
        }
        for (const [severity, count] of Object.entries(firing)) result.observe(alerts, count, { severity });
      } catch {
        // The store's trouble is told by this gauge and by readiness; the other metrics are still worth having.
        result.observe(reachable, 0);
      }
    },
    [pending, oldest, tasks, unsent, organizations, alerts, reachable, lag],
  );
}

function histogram(meter: Meter, name: string, description: string): Histogram {
  return meter.createHistogram(name, {
    description,
    unit: 's',
    advice: { explicitBucketBoundaries: durationBuckets },
  });
}

function addUnlessZero(counter: Counter, count: number, attributes: Attributes): void {
  if (count > 0) counter.add(count, attributes);
}

/** Lets the first `max` different values through; later ones become `other`. */
function bounded(max: number): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= max) return 'other';
    seen.add(value);
    return value;
  };
}
