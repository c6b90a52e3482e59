/**
 * Every instrument there is, created once, and the functions that feed them. Label values come from closed lists and
 * from configuration (topics, origins): what is not known is counted as `other`, so that no stranger can add a series.
 * Names of HTTP and messaging are those of OpenTelemetry's semantic conventions; our own begin with `tramline`.
 */
import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import { type QuarantineReason, quarantineReasons } from '../model/notification';
import { type SyncEnd, type SyncOutcome, syncOutcomes } from '../model/sync';
import { observeGauges } from './gauges';
import { type KafkaCounters, makeKafkaCounters } from './kafka-counters';
import type {
  AlertPost,
  Attempt,
  AttemptOutcome,
  DeliveryAccepted,
  DeliveryRefused,
  Gauges,
  Place,
  ProviderCall,
  RefusalReason,
  SecurityReason,
  Sent,
} from './lines';
import { alertSinks, messagingSystems, places, postOutcomes, securityReasons } from './lines';
import { makeTally, makeTotal } from './tally';

export interface Metrics extends KafkaCounters {
  deliveryAccepted(line: DeliveryAccepted): void;
  deliveryRefused(line: DeliveryRefused): void;
  requestBegan(): void;
  requestEnded(): void;
  attempt(line: Attempt): void;
  providerCall(line: ProviderCall): void;
  sent(line: Sent): void;
  alertPost(line: AlertPost): void;
  /** The only way in which quarantine is counted. */
  setAside(reason: QuarantineReason): void;
  syncEnded(line: Pick<SyncEnd, 'outcome'>): void;
  listingRefused(): void;
  fault(place: Place): void;
  /** Stops what measures in the background. */
  stop(): void;
}

/** Seconds; the buckets of the conventions for requests and operations. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Seconds from acceptance to acknowledgement; the promise is one minute, so 60 is a boundary. */
const freshnessBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600];

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
const refusedForSecurity = new Set<string>(securityReasons);
const originsMax = 50;
const errorTypesMax = 40;
const callsMax = 200;

/**
 * At most 50 origins and 40 kinds of error have a label of their own, the others share one; labels are remembered of
 * 200 calls.
 */
export function makeMetrics(
  meter: Meter,
  gauges: Gauges,
  linesDropped = () => 0,
  topics: readonly string[] = [],
): Metrics {
  const stop = observeGauges(meter, gauges);
  const deliveries = deliveryInstruments(meter);
  const provider = providerInstruments(meter);
  const quarantined = makeTally<QuarantineReason>(
    meter,
    'tramline.quarantined',
    'What was put into quarantine, by reason.',
    'reason',
    quarantineReasons,
  );
  const attempts = makeTally<AttemptOutcome>(
    meter,
    'tramline.attempts',
    'Attempts to read a due resource, by how they ended.',
    'outcome',
    ['published', 'unchanged', 'postponed', 'quarantined'],
  );
  const unknownFields = makeTotal(meter, 'tramline.unknown_fields', {
    description: 'Fields and unit ids that are not known, each once in each document that an attempt read.',
  });
  meter
    .createObservableCounter('tramline.log_lines_dropped', {
      description: 'Log lines that standard output did not take and that found no room to wait.',
    })
    .addCallback((result) => result.observe(linesDropped()));
  const processed = processInstrument(meter);
  const posts = meter.createCounter('tramline.alert_posts', {
    description: 'Posts to alert sinks, by how they were taken.',
  });
  // Shown from the beginning with 0: one refused page is to be seen as an increase.
  for (const sink of alertSinks) for (const outcome of postOutcomes) posts.add(0, { sink, outcome });
  const faults = makeTally<Place>(
    meter,
    'tramline.faults',
    'Faults of our own, by where they were noticed.',
    'place',
    places,
  );
  const syncs = makeTally<SyncOutcome>(
    meter,
    'tramline.syncs',
    'Runs of a sync, by how they ended.',
    'outcome',
    syncOutcomes,
  );
  const lag = meter.createHistogram('tramline.provider_lag', {
    description: 'From a change at the provider to the acceptance of its notification.',
    unit: 's',
    advice: { explicitBucketBoundaries: freshnessBuckets },
  });
  const sent = sentInstruments(meter);
  return {
    deliveryAccepted: deliveries.accepted,
    deliveryRefused: deliveries.refused,
    requestBegan: () => deliveries.changeActive(1),
    requestEnded: () => deliveries.changeActive(-1),
    attempt: (line) => {
      attempts.add(1, line.outcome);
      processed(line);
      if (line.providerLagMs !== null) lag.record(line.providerLagMs / 1000);
      unknownFields.add(line.unknownFields?.length ?? 0);
      if (line.quarantine === 'address-refused') deliveries.security.add(1, 'address-refused');
    },
    providerCall: provider,
    sent,
    alertPost: ({ sink, outcome }) => posts.add(1, { sink, outcome }),
    syncEnded: ({ outcome }) => syncs.add(1, outcome),
    listingRefused: () => deliveries.security.add(1, 'address-refused'),
    setAside: (reason) => quarantined.add(1, reason),
    fault: (place) => faults.add(1, place),
    stop,
    ...makeKafkaCounters(meter, topics),
  };
}

/** Attempts that ended with less than an answer that could be used. */
const unprocessed = new Set<AttemptOutcome>(['postponed', 'given-back', 'quarantined', 'aborted', 'failed']);

function processInstrument(meter: Meter): Metrics['attempt'] {
  const duration = histogram(
    meter,
    'messaging.process.duration',
    'Duration of attempts: what was notified is read, judged and decided.',
  );
  const known = new Map<AttemptOutcome | null, Attributes>();
  return ({ outcome, tookMs }) => {
    const error = unprocessed.has(outcome) ? outcome : null;
    const attributes = known.get(error) ?? {
      'messaging.operation.name': 'process',
      'messaging.system': 'tramline_inbox',
      ...(error === null ? {} : { 'error.type': error }),
    };
    known.set(error, attributes);
    duration.record(tookMs / 1000, attributes);
  };
}

const route = { 'http.request.method': 'POST', 'http.route': '/webhooks', 'url.scheme': 'http' };

function deliveryInstruments(meter: Meter) {
  const duration = histogram(
    meter,
    'http.server.request.duration',
    'Duration of requests to the public listener.',
  );
  const outcomes = makeTally<RefusalReason | 'accepted' | 'repeated'>(
    meter,
    'tramline.deliveries',
    'Deliveries, by what became of them on receipt.',
    'outcome',
    ['accepted', 'store-unavailable', 'body-unreadable', 'too-many-connections'],
  );
  const notifications = makeTally<'hint' | 'acted' | 'ignored' | 'quarantined'>(
    meter,
    'tramline.notifications',
    'Elements of accepted deliveries, by what became of them on receipt.',
    'received',
    ['hint'],
  );
  const security = makeTally<SecurityReason | 'unauthenticated' | 'address-refused' | 'message-id-reused'>(
    meter,
    'tramline.security_rejections',
    'What was refused to keep strangers out, by reason.',
    'reason',
    [...securityReasons, 'unauthenticated', 'address-refused', 'message-id-reused'],
  );
  const duplicates = makeTotal(meter, 'tramline.duplicate_deliveries', {
    description: 'Deliveries whose message id was stored before.',
  });
  let active = 0;
  meter
    .createObservableUpDownCounter('http.server.active_requests', {
      description: 'Requests to the public listener in progress.',
    })
    .addCallback((result) => result.observe(active, route));
  const acceptedRoute = { ...route, 'http.response.status_code': 204 };
  return {
    security,
    changeActive: (by: 1 | -1) => {
      active += by;
    },
    accepted: (line: DeliveryAccepted) => {
      duration.record(line.tookMs / 1000, acceptedRoute);
      outcomes.add(1, line.repeated ? 'repeated' : 'accepted');
      if (line.idReused) security.add(1, 'message-id-reused');
      if (line.repeated) {
        duplicates.add(1);
        return;
      }
      notifications.add(line.hints, 'hint');
      notifications.add(line.acted, 'acted');
      notifications.add(line.ignored, 'ignored');
      notifications.add(line.quarantined.length, 'quarantined');
      const strange = line.quarantined.filter((reason) => reason === 'unauthenticated').length;
      security.add(strange, 'unauthenticated');
    },
    refused: (line: DeliveryRefused) => {
      outcomes.add(1, line.reason);
      if (isSecurityReason(line.reason)) security.add(1, line.reason);
      if (line.tookMs === null || line.status === 0) return;
      const known = line.reason === 'not-found' || line.reason === 'method' ? otherRoute : route;
      const error = line.status >= 500 ? { 'error.type': String(line.status) } : {};
      const attributes = { ...known, 'http.response.status_code': line.status, ...error };
      duration.record(line.tookMs / 1000, attributes);
    },
  };
}

function isSecurityReason(reason: RefusalReason): reason is SecurityReason {
  return refusedForSecurity.has(reason);
}

const otherRoute = { 'http.request.method': '_OTHER', 'url.scheme': 'http' };

function providerInstruments(meter: Meter): Metrics['providerCall'] {
  const duration = histogram(meter, 'http.client.request.duration', 'Duration of requests to the provider.');
  const elapsed = histogram(
    meter,
    'tramline.provider_elapsed',
    'What the provider says it took for an answer, as its answers had it.',
  );
  const received = makeTotal(meter, 'tramline.provider_received', {
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
  const servers = makeServers();
  const errorTypes = bounded(errorTypesMax);
  const known = new Map<string, Attributes>();
  return (line) => {
    if (line.clockOffsetMs !== null) clockOffsetMs = line.clockOffsetMs;
    received.add(line.bytes);
    duration.record(line.tookMs / 1000, attributesOf(line));
    if (line.elapsedMs !== null) elapsed.record(line.elapsedMs / 1000);
  };

  /** Found by what they say, so that a call that went as most do makes no object. */
  function attributesOf(line: ProviderCall): Attributes {
    const { method, route, origin, status, errorType } = line;
    const name = `${method} ${route} ${origin} ${status} ${errorType}`;
    const found = known.get(name);
    if (found !== undefined) return found;
    const attributes: Attributes = {
      'http.request.method': methods.has(method) ? method : '_OTHER',
      'url.template': route,
      ...servers(origin),
    };
    if (status !== null) attributes['http.response.status_code'] = status;
    if (errorType !== null) attributes['error.type'] = errorTypes(errorType);
    if (known.size < callsMax) known.set(name, attributes);
    return attributes;
  }
}

/** The attributes of an origin; those beyond the first `originsMax` share one set. */
function makeServers(): (origin: string) => Attributes {
  const known = new Map<string, Attributes>();
  const others = { 'server.address': 'other', 'url.scheme': 'https' };
  return (origin) => {
    const kept = known.get(origin);
    if (kept !== undefined) return kept;
    if (known.size >= originsMax || !URL.canParse(origin)) return others;
    const { hostname, port, protocol } = new URL(origin);
    const scheme = protocol.replace(':', '');
    const serverPort = port === '' ? (scheme === 'https' ? 443 : 80) : Number(port);
    const attributes = { 'server.address': hostname, 'server.port': serverPort, 'url.scheme': scheme };
    known.set(origin, attributes);
    return attributes;
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
      'messaging.system': messagingSystems[line.system],
      'messaging.destination.name': line.topic,
    };
    if (line.errorType !== null) attributes['error.type'] = errorTypes(line.errorType);
    duration.record(line.tookMs / 1000, attributes);
    messages.add(line.count, attributes);
    for (const ms of line.freshnessMs) freshness.record(ms / 1000);
  };
}

function histogram(meter: Meter, name: string, description: string): Histogram {
  return meter.createHistogram(name, {
    description,
    unit: 's',
    advice: { explicitBucketBoundaries: durationBuckets },
  });
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
