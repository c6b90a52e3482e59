/**
 * What settings demand of each other. Each fault names the variable to change and what is accepted; each warning names
 * what is probably not meant. Pure: it looks at parsed settings only.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Settings } from './table';

/** What the settings are read for: a process that serves needs more than a command does. */
export type Purpose = 'serve' | 'command';

export interface Fault {
  /** The variable to change. */
  name: string;
  /** What completes the sentence that begins with the name. */
  text: string;
}

/** A fault in one line that begins with the variable's name; false when there is none. */
type Check = (settings: Settings, nowMs: number) => string | false;

/** From then on the provider warns of its machine and implement endpoints. */
const oldEquipmentEndsMs = Date.UTC(2025, 0, 1);

const webhookValues = [
  ['authorization', 'WEBHOOK_AUTHORIZATION', 'webhookAuthorization'],
  ['token', 'WEBHOOK_TOKENS', 'webhookTokens'],
  ['hmac', 'WEBHOOK_HMAC_SECRETS', 'webhookHmacSecrets'],
] as const;

/** What the provider says of a subscription, not of data. */
const reservedEventTypes = ['heartbeat', 'subscriptionVerification'];

/** A type in two lists would mean one of them only, and what the other asks for would be lost without a word. */
const eventTypeLists = [
  ['REQUIRED_ACTION_EVENT_TYPES', 'requiredActionEventTypes'],
  ['EQUIPMENT_EVENT_TYPES', 'equipmentEventTypes'],
  ['FIELD_OPERATION_EVENT_TYPES', 'fieldOperationEventTypes'],
] as const;

const overlaps: Check[] = eventTypeLists.flatMap(([name, field], index) => [
  (s) =>
    s[field].some((type) => reservedEventTypes.includes(type)) &&
    `${name} must not name ${reservedEventTypes.map((type) => `\`${type}\``).join(' or ')}: these are about subscriptions`,
  ...eventTypeLists.slice(0, index).map(
    ([otherName, other]): Check =>
      (s) =>
        s[field].some((type) => s[other].includes(type)) &&
        `${name} must not share an event type with ${otherName}`,
  ),
]);

const missingForServing: Check[] = [
  ...webhookValues.map(
    ([kind, name, field]): Check =>
      (settings) =>
        receives(settings) &&
        settings.webhookAuth.includes(kind) &&
        settings[field] === null &&
        `${name} is missing: WEBHOOK_AUTH names \`${kind}\`; set at least one value, or WEBHOOK_AUTH=none`,
  ),
  (s) => works(s) && s.encryptionKeys === null && missing('ENCRYPTION_KEYS', '`id:base64` of 32 bytes'),
  (s) => works(s) && s.providerVendor === null && missing('PROVIDER_VENDOR', 'the vendor’s name'),
  (s) => works(s) && s.providerUrl === null && missing('PROVIDER_URL', 'the https address of the catalog'),
  (s) =>
    works(s) &&
    s.providerEquipmentUrl === null &&
    missing('PROVIDER_EQUIPMENT_URL', 'the https base of the equipment API'),
  (s) => works(s) && s.providerClientKey === null && missing('PROVIDER_CLIENT_KEY', 'one line of text'),
  (s) => works(s) && s.providerClientSecret === null && missing('PROVIDER_CLIENT_SECRET', 'any text'),
];

const faults: Check[] = [
  (s) =>
    s.leaseSeconds * 1000 <= s.providerTimeoutMs &&
    'LEASE_SECONDS must be longer than PROVIDER_TIMEOUT_MS, or a task is taken away while it is read',
  (s) =>
    s.drainSeconds !== null &&
    s.drainSeconds >= s.shutdownSeconds &&
    'DRAIN_SECONDS must be less than SHUTDOWN_SECONDS, or nothing is left for work in flight',
  (s) => s.probeSeconds > s.probeSecondsMax && 'PROBE_SECONDS_MAX must be at least PROBE_SECONDS',
  (s) =>
    s.retryAgeSeconds > s.journalDays * 86_400 &&
    'JOURNAL_DAYS must cover RETRY_AGE_SECONDS, or a delivery is forgotten while it is tried',
  (s) =>
    s.storeBytesMax !== null &&
    s.storeBytesMax < s.bodyBytesMax &&
    'STORE_BYTES_MAX must be at least BODY_BYTES_MAX',
  (s) =>
    s.port !== 0 &&
    s.port === s.operationsPort &&
    (s.host === s.operationsHost || isAny(s.host) || isAny(s.operationsHost)) &&
    'OPERATIONS_PORT must differ from PORT',
  (s) =>
    s.webhookAuth.includes('none') &&
    s.webhookAuth.length > 1 &&
    'WEBHOOK_AUTH must be `none` alone, or any of `authorization`, `token`, `hmac`',
  (s) => (s.kafkaCert === null) !== (s.kafkaKey === null) && 'KAFKA_CERT_FILE and KAFKA_KEY_FILE go together',
  // OpenSSL says so when a connection is made, or not at all, and then no broker takes us.
  (s) =>
    s.kafkaCert !== null &&
    s.kafkaKey !== null &&
    !new X509Certificate(s.kafkaCert).checkPrivateKey(createPrivateKey(s.kafkaKey.open())) &&
    'KAFKA_KEY_FILE must hold the key of the first certificate in KAFKA_CERT_FILE',
  (s) =>
    !s.kafkaTls &&
    (s.kafkaCa !== null || s.kafkaCert !== null) &&
    'KAFKA_TLS must be `true` when KAFKA_CA_FILE or KAFKA_CERT_FILE is set',
  (s) =>
    s.kafkaSaslMechanism !== null &&
    (s.kafkaSaslUsername === null || s.kafkaSaslPassword === null) &&
    'KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD must be set with KAFKA_SASL_MECHANISM',
  (s) =>
    s.kafkaSaslMechanism === null &&
    (s.kafkaSaslUsername !== null || s.kafkaSaslPassword !== null) &&
    'KAFKA_SASL_MECHANISM must be `plain`, `scram-sha-256` or `scram-sha-512` when KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD is set',
  (s) =>
    s.providerPlan === 'sandbox' &&
    s.providerSandboxSince === null &&
    'PROVIDER_SANDBOX_SINCE must be a date as YYYY-MM-DD when PROVIDER_PLAN is `sandbox`',
  ...overlaps,
];

const warnings: Check[] = [
  (s) =>
    s.shutdownSeconds >= s.leaseSeconds &&
    'SHUTDOWN_SECONDS is not shorter than LEASE_SECONDS: work may be taken over while a stop still waits for it',
  (s) =>
    s.role !== 'all' &&
    s.databaseUrl.kind === 'sqlite' &&
    `ROLE=${s.role} with an embedded store: no other process can share it; use postgres:// in DATABASE_URL`,
  (s) =>
    s.webhookAuth.includes('none') &&
    receives(s) &&
    'WEBHOOK_AUTH=none: anyone who reaches the public listener can send deliveries',
  (s) =>
    s.role === 'receiver' &&
    s.encryptionKeys === null &&
    'ENCRYPTION_KEYS is missing: this receiver refuses what is known by a value or token that Tramline made, and notes no heartbeats',
  // Standard Webhooks asks for 24 to 64.
  (s) =>
    (s.webhookHmacSecrets ?? []).some((secret) => bytesOf(secret.open()) < 24) &&
    'WEBHOOK_HMAC_SECRETS holds a secret of less than 24 bytes: it can be guessed',
  (s) =>
    s.alertmanagerUrls !== null &&
    s.alertResendSeconds < 4 &&
    'ALERT_RESEND_SECONDS is less than 4: an alert that ends while Alertmanager still gathers is never told',
  (s) =>
    s.role !== 'receiver' &&
    s.logLevel === 'silent' &&
    s.alertmanagerUrls === null &&
    s.pagerdutyRoutingKey === null &&
    s.slackWebhookUrl === null &&
    'LOG_LEVEL=silent without a sink for alerts: nobody is told of any',
  (s) =>
    s.kafkaSaslMechanism === 'plain' && !s.kafkaTls && 'KAFKA_SASL_MECHANISM=plain without KAFKA_TLS=true',
  (s, nowMs) =>
    s.providerEquipmentApi === 'old' &&
    nowMs >= oldEquipmentEndsMs &&
    'PROVIDER_EQUIPMENT_API=old: the machine and implement endpoints are deprecated since 2025-01-01; `new` reads the same documents',
  // A day for what is tomorrow elsewhere. It is no fault: the clock may be what is wrong.
  (s, nowMs) =>
    s.providerPlan === 'sandbox' &&
    s.providerSandboxSince !== null &&
    Date.parse(s.providerSandboxSince) > nowMs + 86_400_000 &&
    'PROVIDER_SANDBOX_SINCE lies ahead: no month of the sandbox is counted until then',
];

/** What contradicts what. */
export function findFaults(settings: Settings): Fault[] {
  return run(faults, settings, 0).map(faultOf);
}

/** What serving in this role would still need; empty when nothing. */
export function findMissing(settings: Settings): Fault[] {
  return run(missingForServing, settings, 0).map(faultOf);
}

/** A receiver may lack what the provider is asked with. */
export function canAskProvider(settings: Settings): boolean {
  return findMissing({ ...settings, role: 'worker' }).length === 0;
}

/** `nowMs`: milliseconds since the epoch; some warnings begin on a day. */
export function findWarnings(settings: Settings, nowMs: number): string[] {
  return run(warnings, settings, nowMs);
}

function run(checks: Check[], settings: Settings, nowMs: number): string[] {
  return checks.map((check) => check(settings, nowMs)).filter((line) => line !== false);
}

function faultOf(line: string): Fault {
  const space = line.indexOf(' ');
  return { name: line.slice(0, space), text: line.slice(space + 1) };
}

function receives(settings: Settings): boolean {
  return settings.role !== 'worker';
}

function works(settings: Settings): boolean {
  return settings.role !== 'receiver';
}

function bytesOf(secret: string): number {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64').length;
}

function isAny(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function missing(name: string, accepted: string): string {
  return `${name} is missing: a process that reads from the provider needs ${accepted}`;
}
