/**
 * Every setting, once: name, kind, default, whether it is secret, and what it means. The type of the settings, the
 * README's table and `schemas/config.schema.json` come from here. How settings relate to each other is next door in
 * relations.ts.
 */
import {
  broker,
  certificate,
  certificateKey,
  choice,
  date,
  flag,
  hostname,
  identifier,
  linesOf,
  listOf,
  secret,
  share,
  text,
  wholeNumber,
} from './accept';
import {
  providerAddress,
  providerOrigin,
  secretAddress,
  storeAddress,
  webAddress,
  webFolder,
} from './addresses';
import {
  authorizationValue,
  bearerToken,
  headers,
  providerTokens,
  sealingKeys,
  webhookHmacSecret,
  webhookToken,
} from './credentials';
import { fromFile, hidden, optional, type ValuesOf, withDefault } from './row';

const port = wholeNumber(0, 65535);
const seconds = wholeNumber(1, 31_536_000);
const secondsOrZero = wholeNumber(0, 31_536_000);
const days = wholeNumber(1, 3650);
const gibibyte = 1_073_741_824;

export const table = {
  ROLE: withDefault(
    choice(['all', 'receiver', 'worker']),
    'all',
    'What this process does; a receiver needs the store only.',
  ),
  HOST: withDefault(hostname, '0.0.0.0', 'Public listener: where deliveries arrive.'),
  PORT: withDefault(port, '8080', 'Its port; 0 takes a free one.'),
  OPERATIONS_HOST: withDefault(hostname, '127.0.0.1', 'Operations listener: probes, metrics, API.'),
  OPERATIONS_PORT: withDefault(port, '9464', 'Its port; 0 takes a free one.'),
  OPERATIONS_TOKEN: hidden(
    bearerToken,
    'Bearer token of the API. Without it the API answers on loopback only.',
  ),
  PUBLIC_URL: optional(webFolder, 'How the provider and browsers reach the public listener.'),
  DATABASE_URL: withDefault(
    storeAddress,
    'sqlite:./data/tramline.db',
    'The store: an embedded file, or PostgreSQL when several processes share it.',
  ),
  ENCRYPTION_KEYS: hidden(sealingKeys, 'Keys that seal tokens at rest; the first encrypts.'),

  KAFKA_BROKERS: optional(
    listOf(broker),
    'Unset: events go to the embedded event log, unless some of this store went to Kafka: then a worker needs it.',
  ),
  KAFKA_CLIENT_ID: withDefault(identifier, 'tramline', 'How brokers know this client.'),
  KAFKA_TOPIC_PREFIX: withDefault(
    identifier,
    'tramline',
    'Topics are `<prefix>.<kind>.v1`; what Kafka has under another stays there, and is replayed there.',
  ),
  KAFKA_TLS: withDefault(flag, 'false', 'Whether brokers are reached through TLS.'),
  KAFKA_CA_FILE: fromFile(certificate, 'Authority that signed the brokers’ certificates.'),
  KAFKA_CERT_FILE: fromFile(certificate, 'Client certificate.'),
  KAFKA_KEY_FILE: fromFile(certificateKey, 'Key of the client certificate.'),
  KAFKA_SASL_MECHANISM: optional(choice(['plain', 'scram-sha-256', 'scram-sha-512']), 'How to log in.'),
  KAFKA_SASL_USERNAME: optional(text, 'Who logs in.'),
  KAFKA_SASL_PASSWORD: hidden(secret, 'With what.'),

  PROVIDER_VENDOR: optional(identifier, 'The vendor’s name in media types and headers.'),
  PROVIDER_URL: optional(providerAddress, 'Address of the provider’s catalog.'),
  PROVIDER_EQUIPMENT_URL: optional(providerAddress, 'Base of the provider’s equipment API.'),
  PROVIDER_ORIGINS: optional(listOf(providerOrigin), 'Further exact origins that links may lead to.'),
  PROVIDER_AUTH: withDefault(
    choice(['oauth2', 'oauth1']),
    'oauth2',
    'How users consent, unless a command says otherwise.',
  ),
  PROVIDER_CLIENT_KEY: optional(text, 'Our client at the provider.'),
  PROVIDER_CLIENT_SECRET: hidden(secret, 'Its secret.'),
  PROVIDER_ISSUER: optional(providerAddress, 'OAuth 2 issuer.'),
  PROVIDER_SCOPES: optional(listOf(text, ' '), 'OAuth 2 scopes.'),
  PROVIDER_TOKENS: hidden(
    providerTokens,
    'Connections to import once; they are stored encrypted. An OAuth 1 token without an end is taken to end a year after that.',
  ),
  PROVIDER_PLAN: withDefault(
    choice(['production', 'sandbox']),
    'production',
    '`sandbox` counts calls against the sandbox limits.',
  ),
  PROVIDER_SANDBOX_SINCE: optional(date, 'Since when the sandbox is used.'),
  PROVIDER_SANDBOX_TEST_ORGANIZATIONS: optional(
    listOf(text),
    'Ids of organizations made for tests there, of which an application has one: the provider’s answers do not say which.',
  ),
  PROVIDER_EQUIPMENT_API: withDefault(
    choice(['new', 'old']),
    'new',
    '`old` reads the machine and implement endpoints, deprecated from 2025-01-01 on.',
  ),
  PROVIDER_CONCURRENCY: withDefault(wholeNumber(1, 1000), '32', 'Reads in flight, per process.'),
  PROVIDER_TIMEOUT_MS: withDefault(wholeNumber(1, 3_600_000), '20000', 'How long one attempt may take.'),
  PROVIDER_BODY_BYTES_MAX: withDefault(
    wholeNumber(1024, gibibyte),
    '33554432',
    'Largest answer, decompressed.',
  ),
  PROVIDER_PAGES_MAX: withDefault(
    wholeNumber(1, 1_000_000),
    '10000',
    'Most pages of one listing; a longer one is told as not read to its end.',
  ),
  PROVIDER_UNIT_SYSTEM: withDefault(
    choice(['metric', 'english', 'mixed', 'none']),
    'metric',
    'Units asked for (`Accept-UOM-System`); `none` leaves them to the provider. What comes is normalized either way.',
  ),
  PROVIDER_YIELD_PREFERENCE: optional(
    choice(['mass', 'volume']),
    'Yields asked for (`Accept-Yield-Preference`); unset: as the provider has them.',
  ),

  REQUIRED_ACTION_EVENT_TYPES: withDefault(
    listOf(text),
    'requiredCustomerAction',
    'Event type ids that announce a Required Customer Action.',
  ),
  EQUIPMENT_EVENT_TYPES: withDefault(
    listOf(text),
    'equipment,machine,implement',
    'Event type ids that lead to a read of equipment.',
  ),
  FIELD_OPERATION_EVENT_TYPES: withDefault(
    listOf(text),
    'fieldOperation',
    'Event type ids that lead to a read of a field operation.',
  ),
  READ_GAP_MS: withDefault(
    wholeNumber(0, 3_600_000),
    '1000',
    'A resource is read at most once in this time.',
  ),
  SETTLE_SECONDS: withDefault(
    secondsOrZero,
    '30',
    'After a read that may have come too early, the resource is read once more; 0: never.',
  ),
  GONE_AFTER_SECONDS: withDefault(secondsOrZero, '600', 'How long a resource is absent before it is gone.'),
  GONE_SHARE_MAX: withDefault(
    share,
    '0.05',
    'When more of an organization than this goes at once, nothing is published and an operator is told.',
  ),
  PROBE_SECONDS: withDefault(
    seconds,
    '15',
    'First pause between probes of a blocked organization; hints cause one in four of it at most.',
  ),
  PROBE_SECONDS_MAX: withDefault(seconds, '900', 'Longest pause between them.'),
  PROBES_PER_MINUTE: withDefault(
    wholeNumber(1, 600_000),
    '3000',
    'How many calls all processes together make in any minute to ask organizations again whether they may be read.',
  ),
  INCLUDE_OPERATOR_NAMES: withDefault(flag, 'false', 'Whether events name the persons who worked.'),

  LEASE_SECONDS: withDefault(seconds, '60', 'How long a task stays with a process that has gone silent.'),
  SHUTDOWN_SECONDS: withDefault(
    wholeNumber(1, 3600),
    '25',
    'How long a stop may take, DRAIN_SECONDS and work in flight included.',
  ),
  DRAIN_SECONDS: optional(
    wholeNumber(0, 3599),
    'How long deliveries are still taken after SIGTERM has made readiness red, for balancers to notice; 0: they need not. Unset: a fifth of SHUTDOWN_SECONDS.',
  ),
  RETRY_AGE_SECONDS: withDefault(seconds, '86400', 'How long a resource’s own failures are tried again.'),
  JOURNAL_DAYS: withDefault(days, '30', 'How long deliveries are kept.'),
  EVENT_DAYS: withDefault(days, '30', 'How long published events are kept in the store.'),
  EVENT_BYTES_MAX: withDefault(
    wholeNumber(1_048_576, Number.MAX_SAFE_INTEGER),
    '10737418240',
    'Largest log of published events, at most half of STORE_BYTES_MAX; beyond it superseded ones go before their time.',
  ),
  STORE_BYTES_MAX: optional(
    wholeNumber(1_048_576, Number.MAX_SAFE_INTEGER),
    'Largest store; beyond it deliveries are answered 503.',
  ),
  BODY_BYTES_MAX: withDefault(wholeNumber(1024, 268_435_456), '4194304', 'Largest delivery.'),

  WEBHOOK_AUTH: withDefault(
    listOf(choice(['authorization', 'token', 'hmac', 'none'])),
    'authorization',
    'How deliveries are authenticated; all that are named must hold, and `none` must be said.',
  ),
  WEBHOOK_AUTHORIZATION: hidden(
    linesOf(authorizationValue),
    'Current values of the Authorization header, one a line.',
  ),
  WEBHOOK_TOKENS: hidden(
    linesOf(webhookToken),
    'Current subscription tokens, one a line, each optionally followed by a space and its user.',
  ),
  WEBHOOK_HMAC_SECRETS: hidden(linesOf(webhookHmacSecret), 'Current Standard Webhooks secrets, one a line.'),

  ALERTMANAGER_URLS: optional(listOf(webAddress), 'Every Alertmanager; none of the sinks set: log lines.'),
  PAGERDUTY_ROUTING_KEY: hidden(secret, 'PagerDuty Events v2 integration key.'),
  PAGERDUTY_URL: withDefault(
    webAddress,
    'https://events.pagerduty.com/v2/enqueue',
    'Where PagerDuty takes events.',
  ),
  SLACK_WEBHOOK_URL: hidden(secretAddress, 'A Slack-compatible incoming webhook.'),
  ALERT_RESEND_SECONDS: withDefault(wholeNumber(1, 3600), '60', 'How often a firing alert is sent again.'),
  ALERT_GROUP_ABOVE: withDefault(
    wholeNumber(1, 100_000),
    '50',
    'More organizations, subscriptions or consents of one cause than this become one incident.',
  ),
  ALERT_RUNBOOK_URL: withDefault(
    webFolder,
    'https://github.com/tramline/tramline/blob/main/deploy/runbooks',
    'Where the pages of deploy/runbooks are published; each alert names its own there.',
  ),

  SYNC_INTERVAL_SECONDS: withDefault(secondsOrZero, '3600', 'How often listings are read; 0: on demand.'),
  SUBSCRIPTION_CHECK_SECONDS: withDefault(
    seconds,
    '900',
    'How often webhook subscriptions are looked at: what has expired is renewed.',
  ),
  HEARTBEAT_SILENCE_SECONDS: withDefault(
    secondsOrZero,
    '300',
    'A subscription may be silent for so long, and for three of its usual heartbeats, before that is an alert; 0: always.',
  ),
  TRAMLINE_URL: withDefault(webAddress, 'http://127.0.0.1:9464', 'Where commands find the service.'),
  LOG_LEVEL: withDefault(
    choice(['error', 'warn', 'info', 'debug', 'silent']),
    'info',
    'The least that is logged; beginnings and ends of alerts are at any level but `silent`.',
  ),

  OTEL_SERVICE_NAME: withDefault(text, 'tramline', 'Name in traces and metrics.'),
  OTEL_RESOURCE_ATTRIBUTES: optional(text, 'Further attributes of this process in traces and metrics.'),
  OTEL_SDK_DISABLED: withDefault(
    flag,
    'false',
    'No traces, and no metrics but `/metrics`, whatever else is set.',
  ),
  OTEL_TRACES_EXPORTER: optional(
    listOf(choice(['otlp', 'console', 'zipkin', 'none'])),
    'Where spans go; unset: `otlp` when an endpoint is set, otherwise nowhere.',
  ),
  OTEL_METRICS_EXPORTER: optional(
    listOf(choice(['otlp', 'prometheus', 'none'])),
    'Where metrics go besides `/metrics`, which is `prometheus`; unset: `otlp` when an endpoint is set, otherwise nowhere.',
  ),
  OTEL_METRIC_EXPORT_INTERVAL: withDefault(
    wholeNumber(100, 3_600_000),
    '60000',
    'Milliseconds between two exports of metrics.',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: withDefault(
    choice(['http/protobuf', 'http/json', 'grpc']),
    'http/protobuf',
    'How the collector is spoken to.',
  ),
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: optional(
    choice(['http/protobuf', 'http/json', 'grpc']),
    'How the collector is spoken to for metrics; unset: as for all.',
  ),
  OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: withDefault(
    choice(['cumulative']),
    'cumulative',
    'Metrics are totals, so that what a collector did not take is in the next export.',
  ),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: optional(webAddress, 'Address of the collector for metrics.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(webAddress, 'Base address of the collector.'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optional(webAddress, 'Address of the collector for traces.'),
  OTEL_EXPORTER_OTLP_HEADERS: hidden(
    headers,
    'Headers for the collector; read by the OpenTelemetry SDK itself.',
  ),
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: hidden(headers, 'Further headers for metrics.'),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: hidden(headers, 'Further headers for traces.'),
  OTEL_TRACES_SAMPLER: optional(
    choice([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ]),
    'Which traces are kept; unset: one in twenty.',
  ),
  OTEL_TRACES_SAMPLER_ARG: optional(share, 'The share of traces that a ratio sampler keeps.'),
};

export type SettingName = keyof typeof table;

/** Every setting under its name in camelCase; absent ones are null. Deeply frozen when loaded. */
export type Settings = ValuesOf<typeof table> & {
  /** The files of those whose variable names one, as it names them: they may be read anew. */
  readonly files: { readonly [Name in SettingName]?: string };
};
