/**
 * Spans of the path, made by hand: instrumentations that patch libraries would cost throughput and would rewrite the
 * `traceparent` that a record's bytes already hold. Where no exporter is configured nothing is recorded, and a valid
 * traceparent is still given, so that the sender's trace and the consumer's meet. Spans hold addresses without query
 * and no bodies.
 */
import { randomBytes } from 'node:crypto';
import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { messagingSystems, type Sent } from './lines';
import { withoutCredentials } from './without-credentials';

export interface DeliverySpan {
  traceparent: string;
  end(result: { status: number; errorType: string | null }): void;
}

export interface AttemptSpan {
  traceparent: string;
  end(result: { outcome: string; errorType: string | null }): void;
}

export interface FetchSpan {
  end(result: { status: number | null; errorType: string | null; resendCount: number }): void;
}

/** What is sent to one partition of a topic, in its order. */
export interface SpanBatch {
  partition: number;
  rows: { key: string; headers: [name: string, value: string][] }[];
}

export interface SendSpan {
  /** `places`: of each batch, in their order; asked only where it is recorded. */
  end(result: { errorType: string | null; places(): SentPlace[] }): void;
}

/** Where a batch went: the place of its first record, and the broker. */
export interface SentPlace {
  /** null where it has none, or none is known. */
  firstOffset: string | null;
  /** The broker's error name, or a stable code; null when it was acknowledged. */
  errorType: string | null;
  server: { host: string; port: number } | null;
}

export interface Traces {
  /** The span of one POST; `incoming` is the sender's header, ignored when it is not valid. */
  startDelivery(incoming: string | null): DeliverySpan;
  /** The span of one attempt, in the trace of the delivery that caused it. Its traceparent goes into the event. */
  startAttempt(delivery: string | null, kind: string): AttemptSpan;
  /** One read at the provider; `template` is the route in words of ours, never a path. */
  startFetch(attempt: string, request: { template: string; address: string }): FetchSpan;
  /**
   * One send of records of one topic, in the trace of the first of them that is kept, else in one of its own, and linked to the
   * attempts that decided them. Where it has several, each of those that are kept has a span of its own in its own trace, linked to the send.
   */
  startSend(
    to: { topic: string; system: Sent['system']; clientId: string | null },
    batches: SpanBatch[],
  ): SendSpan;
}

const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const linksMax = 128;
/** A later version may be longer than the 55 characters of this one. */
const traceparentCharsMax = 200;

/** W3C Trace Context, section 3.2; null when the text is not a traceparent, or longer than 200 characters. */
export function parseTraceparent(text: string | null): SpanContext | null {
  const match = text === null || text.length > traceparentCharsMax ? null : pattern.exec(text);
  if (match === null) return null;
  const [, traceId = '', spanId = '', flags = '00'] = match;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

export function formatTraceparent(context: SpanContext): string {
  return `00-${context.traceId}-${context.spanId}-0${context.traceFlags & 1}`;
}

/**
 * Nothing is recorded; ids are drawn from a pool, since asking the system for 8 bytes at a time is slow. At most 128
 * links of a span; a traceparent of more than 200 characters is none.
 */
export function makeQuietTraces(): Traces {
  const draw = makeIdPool();
  const carryOn = (from: string | null): string => {
    const parent = parseTraceparent(from);
    return formatTraceparent({
      traceId: parent?.traceId ?? draw(16),
      spanId: draw(8),
      traceFlags: parent?.traceFlags ?? 0,
    });
  };
  const nothing = { end: () => {} };
  return {
    startDelivery: (incoming) => ({ traceparent: carryOn(incoming), end: nothing.end }),
    startAttempt: (delivery) => ({ traceparent: carryOn(delivery), end: nothing.end }),
    startFetch: () => nothing,
    startSend: () => nothing,
  };
}

/**
 * Records through the tracer; the names and attributes are those of the semantic conventions. At most 128 links of a
 * span; a traceparent of more than 200 characters is none.
 */
export function makeRecordedTraces(tracer: Tracer): Traces {
  return {
    startDelivery: (incoming) => startDelivery(tracer, incoming),
    startAttempt: (delivery, kind) => {
      const span = tracer.startSpan(
        `attempt ${kind}`,
        { kind: SpanKind.INTERNAL, links: linkTo(delivery) },
        contextOf(delivery),
      );
      return {
        traceparent: formatTraceparent(span.spanContext()),
        end: ({ outcome, errorType }) => finish(span, { 'tramline.outcome': outcome }, errorType),
      };
    },
    startFetch: (attempt, request) => startFetch(tracer, attempt, request),
    startSend: (to, batches) => startSend(tracer, to, batches),
  };
}

type SpanRow = SpanBatch['rows'][number];

/** A record that is recorded: the context that its header carries, and what differs from others of its send. */
interface SpanRecord {
  context: SpanContext;
  attributes: Attributes;
  errorType: string | null;
}

/**
 * What is the same for all records stands on the span; what differs, on the link to the attempt that decided the record,
 * which is therefore added when it is known.
 */
function startSend(
  tracer: Tracer,
  { topic, system, clientId }: { topic: string; system: Sent['system']; clientId: string | null },
  batches: SpanBatch[],
): SendSpan {
  const count = batches.reduce((sum, { rows }) => sum + rows.length, 0);
  const shared: Attributes = {
    'messaging.system': messagingSystems[system],
    'messaging.destination.name': topic,
  };
  const attributes: Attributes = {
    ...shared,
    ...operation('send'),
    'messaging.batch.message_count': count,
    ...(clientId === null ? {} : { 'messaging.client.id': clientId }),
  };
  const parent = contextOf(traceparentOf(firstKept(batches)));
  const span = tracer.startSpan(`send ${topic}`, { kind: SpanKind.CLIENT, attributes }, parent);
  const startTime = Date.now();
  return {
    end({ errorType, places }) {
      if (span.isRecording()) {
        const told = places();
        const hasPlaces = system === 'kafka';
        const records = recordsOf(batches, told, hasPlaces);
        span.addLinks(records.map(({ context, attributes }) => ({ context, attributes })));
        if (hasPlaces) span.setAttributes(sharedPlace(batches, told, count === 1));
        if (count === 1) span.setAttributes(eventOf(batches[0]!.rows[0]!));
        if (count > 1) createSpans(tracer, { topic, shared, startTime, send: span.spanContext() }, records);
      }
      finish(span, {}, errorType);
    },
  };
}

/**
 * Of each: its way from sent to acknowledged, in the trace of its delivery. Its header names the attempt above it, since a
 * record's bytes are decided before anybody knows what it is sent with.
 */
function createSpans(
  tracer: Tracer,
  of: { topic: string; shared: Attributes; startTime: number; send: SpanContext },
  records: SpanRecord[],
): void {
  for (const { context, attributes, errorType } of records) {
    const options = {
      kind: SpanKind.PRODUCER,
      startTime: of.startTime,
      links: [{ context: of.send }],
      attributes: { ...of.shared, ...operation('create'), ...attributes },
    };
    const above = trace.setSpanContext(ROOT_CONTEXT, context);
    finish(tracer.startSpan(`create ${of.topic}`, options, above), {}, errorType);
  }
}

const operation = (name: string): Attributes => ({
  'messaging.operation.name': name,
  'messaging.operation.type': name,
});

/** In whose trace a send is. Where none is kept it begins one: below what nobody recorded it would hang from nothing. */
function firstKept(batches: SpanBatch[]): SpanRow | undefined {
  for (const { rows } of batches) {
    const kept = rows.find((row) => keptContextOf(row) !== null);
    if (kept !== undefined) return kept;
  }
  return undefined;
}

/** Of the attempt that decided the record; null where that one is not recorded. Bounds as `parseTraceparent` does. */
export function keptContextOf(row: SpanRow): SpanContext | null {
  const context = parseTraceparent(traceparentOf(row));
  return context !== null && (context.traceFlags & 1) === 1 ? context : null;
}

function sharedPlace(batches: SpanBatch[], places: SentPlace[], isAlone: boolean): Attributes {
  const attributes: Attributes = {};
  const [batch] = batches;
  if (batches.length === 1) attributes['messaging.destination.partition.id'] = String(batch!.partition);
  if (isAlone) Object.assign(attributes, recordPlace(batch!.rows[0]!, places[0]?.firstOffset ?? null, 0));
  const [first, ...others] = places.map(({ server }) => server);
  const isOne = others.every((other) => other?.host === first?.host && other?.port === first?.port);
  if (first == null || !isOne) return attributes;
  return { ...attributes, 'server.address': first.host, 'server.port': first.port };
}

/** Its key and its offset, which is that of the first in its batch and so many further. */
function recordPlace({ key }: SpanRow, firstOffset: string | null, further: number): Attributes {
  const place: Attributes = { 'messaging.kafka.message.key': key };
  // Beyond what a number holds exactly, no offset is said.
  const offset = firstOffset === null ? Number.NaN : Number(firstOffset) + further;
  if (Number.isSafeInteger(offset)) place['messaging.kafka.offset'] = offset;
  return place;
}

/** By the conventions for CloudEvents: what a consumer or a journey names finds the trace. */
const eventAttributes = new Map([
  ['ce_id', 'cloudevents.event_id'],
  ['ce_source', 'cloudevents.event_source'],
  ['ce_specversion', 'cloudevents.event_spec_version'],
  ['ce_subject', 'cloudevents.event_subject'],
  ['ce_type', 'cloudevents.event_type'],
]);

function eventOf({ headers }: SpanRow): Attributes {
  return Object.fromEntries(
    headers.flatMap(([name, value]) => {
      const attribute = eventAttributes.get(name);
      return attribute === undefined ? [] : [[attribute, value]];
    }),
  );
}

/** Those that are kept, the first so many: a link to what nobody recorded leads nowhere. */
function recordsOf(batches: SpanBatch[], places: SentPlace[], hasPlaces: boolean): SpanRecord[] {
  const records: SpanRecord[] = [];
  for (const [at, { partition, rows }] of batches.entries()) {
    const { firstOffset = null, errorType = null } = places[at] ?? {};
    for (const [further, row] of rows.entries()) {
      const context = keptContextOf(row);
      if (context === null) continue;
      if (records.length >= linksMax) return records;
      const partitionId = { 'messaging.destination.partition.id': String(partition) };
      const place = hasPlaces ? { ...partitionId, ...recordPlace(row, firstOffset, further) } : {};
      records.push({ context, attributes: { ...place, ...eventOf(row) }, errorType });
    }
  }
  return records;
}

function traceparentOf(row: SpanRow | undefined): string | null {
  return row?.headers.find(([name]) => name === 'traceparent')?.[1] ?? null;
}

function startDelivery(tracer: Tracer, incoming: string | null): DeliverySpan {
  const attributes = {
    'http.request.method': 'POST',
    'http.route': '/webhooks',
    'url.path': '/webhooks',
    'url.scheme': 'http',
  };
  const options = { kind: SpanKind.SERVER, attributes };
  const span = tracer.startSpan('POST /webhooks', options, contextOf(incoming));
  return {
    traceparent: formatTraceparent(span.spanContext()),
    end: ({ status, errorType }) => finish(span, { 'http.response.status_code': status }, errorType),
  };
}

function startFetch(
  tracer: Tracer,
  attempt: string,
  { template, address }: { template: string; address: string },
): FetchSpan {
  const attributes: Attributes = {
    'http.request.method': 'GET',
    'url.template': template,
    'url.full': withoutCredentials(address),
  };
  if (URL.canParse(address)) {
    const { hostname, port, protocol } = new URL(address);
    attributes['server.address'] = hostname;
    attributes['server.port'] = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  }
  const span = tracer.startSpan(`GET ${template}`, { kind: SpanKind.CLIENT, attributes }, contextOf(attempt));
  return {
    end: ({ status, errorType, resendCount }) => {
      const result: Attributes = status === null ? {} : { 'http.response.status_code': status };
      if (resendCount > 0) result['http.request.resend_count'] = resendCount;
      finish(span, result, errorType);
    },
  };
}

function finish(span: Span, attributes: Attributes, errorType: string | null): void {
  span.setAttributes(attributes);
  if (errorType !== null) {
    span.setAttribute('error.type', errorType);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

function contextOf(traceparent: string | null): Context {
  const parent = parseTraceparent(traceparent);
  return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
}

function linkTo(traceparent: string | null): Link[] {
  const context = parseTraceparent(traceparent);
  return context === null ? [] : [{ context }];
}

/** Hexadecimal ids of `bytes` random bytes, never all zero. */
export function makeIdPool(): (bytes: number) => string {
  const size = 8192;
  let pool = randomBytes(size);
  let used = 0;
  return (bytes) => {
    if (used + bytes > size) {
      pool = randomBytes(size);
      used = 0;
    }
    const id = pool.toString('hex', used, used + bytes);
    used += bytes;
    return /[^0]/.test(id) ? id : id.replace(/0$/, '1');
  };
}
