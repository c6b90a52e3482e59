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

export interface SendSpan {
  end(result: { errorType: string | null }): void;
}

export interface Traces {
  /** The span of one POST; `incoming` is the sender's header, ignored when it is not valid. */
  startDelivery(incoming: string | null): DeliverySpan;
  /** The span of one attempt, in the trace of the delivery that caused it. Its traceparent goes into the event. */
  startAttempt(delivery: string | null, kind: string): AttemptSpan;
  /** One request to the provider; `template` is the route in words of ours, never a path. */
  startFetch(attempt: string, request: { method: string; template: string; address: string }): FetchSpan;
  /** One send of records of one topic, linked to the attempts that decided them; in the trace of one that is alone. */
  startSend(topic: string, system: string, traceparents: (string | null)[]): SendSpan;
}

const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const linksMax = 128;

/** W3C Trace Context, section 3.2; null when the text is not a traceparent. */
export function parseTraceparent(text: string | null): SpanContext | null {
  const match = text === null || text.length > 200 ? null : pattern.exec(text);
  if (match === null) return null;
  const [, traceId = '', spanId = '', flags = '00'] = match;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

export function formatTraceparent(context: SpanContext): string {
  return `00-${context.traceId}-${context.spanId}-0${context.traceFlags & 1}`;
}

/** Nothing is recorded; ids are drawn from a pool, since asking the system for 8 bytes at a time is slow. */
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

/** Records through the tracer; the names and attributes are those of the semantic conventions. */
export function makeRecordedTraces(tracer: Tracer): Traces {
  return {
    startDelivery: (incoming) => startDelivery(tracer, incoming),
    startAttempt: (delivery, kind) => {
      const span = tracer.startSpan(
        `attempt ${kind}`,
        { kind: SpanKind.INTERNAL, links: linksTo([delivery]) },
        contextOf(delivery),
      );
      return {
        traceparent: formatTraceparent(span.spanContext()),
        end: ({ outcome, errorType }) => finish(span, { 'tramline.outcome': outcome }, errorType),
      };
    },
    startFetch: (attempt, request) => startFetch(tracer, attempt, request),
    startSend: (topic, system, traceparents) => {
      const attributes = {
        'messaging.system': system,
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.destination.name': topic,
        'messaging.batch.message_count': traceparents.length,
      };
      const span = tracer.startSpan(
        `send ${topic}`,
        { kind: SpanKind.CLIENT, attributes, links: linksTo(traceparents) },
        contextOf(traceparents.length === 1 ? traceparents[0]! : null),
      );
      return { end: ({ errorType }) => finish(span, {}, errorType) };
    },
  };
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
  request: { method: string; template: string; address: string },
): FetchSpan {
  const attributes: Attributes = {
    'http.request.method': request.method,
    'url.template': request.template,
    'url.full': withoutCredentials(request.address),
  };
  if (URL.canParse(request.address)) {
    const { hostname, port, protocol } = new URL(request.address);
    attributes['server.address'] = hostname;
    attributes['server.port'] = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  }
  const name = `${request.method} ${request.template}`;
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, contextOf(attempt));
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

function linksTo(traceparents: (string | null)[]): Link[] {
  const links: Link[] = [];
  for (const traceparent of traceparents.slice(0, linksMax)) {
    const context = parseTraceparent(traceparent);
    if (context !== null) links.push({ context });
  }
  return links;
}

/** Hexadecimal ids of `bytes` random bytes, never all zero. */
function makeIdPool(): (bytes: number) => string {
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
