/**
 * From the settings to what each part is told: no part is made here, and no setting is read anywhere else. Pure, but for
 * where a link to the embedded store leads.
 */
import { resolve } from 'node:path';
import type { AlertingOptions } from '../alert/alerting';
import type { AlertmanagerOptions } from '../alert/alertmanager';
import type { Settings } from '../config';
import type { Called, ProviderOptions } from '../fetch/options';
import { topicOf } from '../model/event';
import { Problem } from '../model/problem';
import { withoutEndSlashes } from '../model/without-end-slashes';
import { normalizerVersion } from '../normalize/normalize';
import type { ProviderCall } from '../observe/lines';
import type { PathSettings } from '../pipeline';
import { relayDefaults } from '../publish/relay-options';
import type { StoreSettings } from '../store/open-store';
import type { PostgresSettings } from '../store/postgres/context';
import { targetOf } from '../store/sqlite/place';
import type { StoreRules } from '../store/store-rules';
import type { ScheduleOptions } from '../sync/sync';
import type { WebhookSettings } from '../webhook/settings';

const dayMs = 86_400_000;

/** Of one process: acceptance, claims, endings, the relay and operators share them. */
const postgresConnections = 10;

/** What the store that `DATABASE_URL` names is told: an embedded file, or PostgreSQL. */
export function storeOptions(settings: Settings): StoreSettings | PostgresSettings {
  const address = settings.databaseUrl;
  const rules = storeRules(settings);
  return address.kind === 'sqlite'
    ? { ...rules, file: address.path }
    : { ...rules, url: address.url.open(), connections: postgresConnections };
}

function storeRules(settings: Settings): StoreRules {
  return {
    envelope: {
      source: sourceOf(settings),
      topicPrefix: settings.kafkaTopicPrefix,
      recordBytesMax: relayDefaults.partitionBytesMax,
    },
    catalogAddress: settings.providerUrl ?? '',
    catalogMediaType: `application/vnd.${settings.providerVendor ?? 'provider'}.axiom.v3+json`,
    leaseMs: settings.leaseSeconds * 1000,
    readGapMs: settings.readGapMs,
    probeMs: settings.probeSeconds * 1000,
    probeMsMax: settings.probeSecondsMax * 1000,
    probesPerMinute: settings.probesPerMinute,
    journalMs: settings.journalDays * dayMs,
    eventMs: settings.eventDays * dayMs,
    normalizerVersion,
    eventBytesMax: Math.min(settings.eventBytesMax, Math.floor((settings.storeBytesMax ?? Infinity) / 2)),
  };
}

/** `ce_source`: the provider's catalog origin and vendor. */
function sourceOf({ providerUrl, providerVendor }: Settings): string {
  return providerUrl === null ? 'tramline' : `${new URL(providerUrl).origin}/${providerVendor ?? ''}`;
}

/** Throws `settings.invalid` naming what a worker cannot do without. */
export function providerOptions(settings: Settings): ProviderOptions {
  const { providerVendor, providerUrl, providerEquipmentUrl, providerClientKey, providerClientSecret } =
    settings;
  if (
    providerVendor === null ||
    providerUrl === null ||
    providerEquipmentUrl === null ||
    providerClientKey === null ||
    providerClientSecret === null
  ) {
    throw new Problem(
      'settings.invalid',
      'PROVIDER_VENDOR, _URL, _EQUIPMENT_URL, _CLIENT_KEY and _CLIENT_SECRET are needed',
    );
  }
  return {
    vendor: providerVendor,
    catalogUrl: providerUrl,
    equipmentUrl: providerEquipmentUrl,
    equipmentApi: settings.providerEquipmentApi,
    origins: [...(settings.providerOrigins ?? [])],
    issuer: settings.providerIssuer,
    clientKey: providerClientKey,
    clientSecret: providerClientSecret,
    timeoutMs: settings.providerTimeoutMs,
    bodyBytesMax: settings.providerBodyBytesMax,
    depthMax: 64,
    pagesMax: settings.providerPagesMax,
    connectionsMax: settings.providerConcurrency,
    listsAtOnce: listsAtOnceOf(settings),
    unitSystem: settings.providerUnitSystem === 'none' ? null : settings.providerUnitSystem,
    yieldPreference: settings.providerYieldPreference,
    probeMs: settings.probeSeconds * 1000,
    probeMsMax: settings.probeSecondsMax * 1000,
  };
}

/** Where listings begin. */
export function catalogOriginOf({ providerUrl }: Settings): string {
  return providerUrl === null ? '' : new URL(providerUrl).origin;
}

const origins = new Map<string, string>();

/** Of an address that is configured: there are few. */
function originOf(address: string): string {
  const known = origins.get(address) ?? new URL(address).origin;
  origins.set(address, known);
  return known;
}

/** One call as the metrics see it. The origin is one of those configured: the gate lets no other be called. */
export function callLine(settings: Settings, call: Called, clockOffsetMs: number | null): ProviderCall {
  const address = call.operation.startsWith('equipment')
    ? settings.providerEquipmentUrl
    : settings.providerUrl;
  return {
    method: call.method,
    origin: address === null ? '' : originOf(address),
    route: call.operation,
    status: call.status,
    errorType: call.status === null ? 'no-answer' : call.status >= 400 ? String(call.status) : null,
    tookMs: call.tookMs,
    bytes: call.bytes,
    clockOffsetMs,
    elapsedMs: call.elapsedMs,
  };
}

export function pathOptions(settings: Settings): PathSettings {
  return {
    concurrency: settings.providerConcurrency,
    includeOperatorNames: settings.includeOperatorNames,
    ending: {
      goneAfterMs: settings.goneAfterSeconds * 1000,
      settleMs: settings.settleSeconds * 1000,
      goneShareMax: settings.goneShareMax,
      retryAgeMs: settings.retryAgeSeconds * 1000,
      backoff: { baseMs: 1000, maxMs: 300_000 },
      random: Math.random,
    },
    leaseMs: settings.leaseSeconds * 1000,
  };
}

/** Listings leave most of the places to reads that somebody waits for. */
function listsAtOnceOf({ providerConcurrency }: Settings): number {
  return Math.max(1, Math.min(4, Math.floor(providerConcurrency / 4)));
}

export function syncOptions(settings: Settings): Omit<ScheduleOptions, 'holder'> {
  const requestsAtOnce = listsAtOnceOf(settings);
  return {
    intervalMs: settings.syncIntervalSeconds * 1000,
    leaseMs: settings.leaseSeconds * 1000,
    requestsAtOnce,
    listingsAtOnce: requestsAtOnce + 2,
    organizationsAtOnce: 2,
    goneShareMax: settings.goneShareMax,
    repeatsMax: 4,
    backoff: { baseMs: 500, maxMs: 30_000 },
    units: `${settings.providerUnitSystem} ${settings.providerYieldPreference ?? 'none'}`,
    random: Math.random,
  };
}

/** Longer than a minute and its delays: what comes and goes each minute is one incident from the first time on. */
const holdMsMax = 75_000;
/** What a dead process had in hand is taken over within its lease, and a page must not wait a minute for that. */
const alertLeaseMsMax = 15_000;
const openMsMax = 20_000;

/** Spells are held for at most 75 s; the leader's lease lasts at most 15 s. */
export function alertingOptions(settings: Settings): AlertingOptions {
  const resendMs = settings.alertResendSeconds * 1000;
  return {
    resendMs,
    holdMs: Math.min(holdMsMax, 1.25 * resendMs),
    groupAbove: settings.alertGroupAbove,
    gatherMs: 1000,
    resolveRepeatMs: 600_000,
    leaseMs: Math.min(alertLeaseMsMax, settings.leaseSeconds * 1000),
    sole: settings.databaseUrl.kind === 'sqlite',
    journalMs: settings.journalDays * dayMs,
    runbookBase: withoutEndSlashes(settings.alertRunbookUrl),
    ownNames: [...(settings.kafkaBrokers ?? []), ...placesOf(settings)],
  };
}

/** Where the embedded store lies: what a page says of its files, somebody has to put back there. */
function placesOf({ databaseUrl }: Settings): string[] {
  if (databaseUrl.kind !== 'sqlite') return [];
  const file = resolve(databaseUrl.path);
  return [file, targetOf(file)].flatMap((name) => [name, `${name}-wal`]);
}

/**
 * What fires ends by itself only after four repetitions were missed. What ended is told after it fired for longer than the
 * shipped `group_wait` of 15 s, so that it is not gathered away; for less only where repetitions come in a hurry.
 * That is as long as spells are held, at most 75 s, or the shorter of 20 s and four repetitions where that is longer.
 */
export function alertmanagerOptions(
  settings: Settings,
  urls: readonly string[],
): AlertmanagerOptions & { openMs: number } {
  const { resendMs, holdMs, runbookBase } = alertingOptions(settings);
  return {
    urls: [...urls],
    // PUBLIC_URL takes deliveries only: who follows the link of a page would find nothing there.
    generatorUrl: runbookBase,
    endsAheadMs: Math.max(300_000, 4 * resendMs),
    openMs: Math.max(holdMs, Math.min(openMsMax, 4 * resendMs)),
  };
}

export function topicsOf(settings: Settings): string[] {
  const kinds = ['equipment', 'field-operation', 'organization-access'] as const;
  return kinds.map((kind) => topicOf(settings.kafkaTopicPrefix, kind));
}

/** `book`: the secrets that may change while the process runs. */
export function webhookOptions(
  settings: Settings,
  book: Pick<WebhookSettings, 'authorizationValues' | 'tokens'>,
): WebhookSettings {
  const kinds = settings.webhookAuth;
  const hmacSecrets = settings.webhookHmacSecrets ?? [];
  return {
    auth: kinds.includes('none') ? 'none' : kinds.filter((kind) => kind !== 'none'),
    authorizationValues: book.authorizationValues,
    tokens: book.tokens,
    hmacSecrets: () => hmacSecrets,
    eventTypes: {
      requiredAction: settings.requiredActionEventTypes,
      equipment: settings.equipmentEventTypes,
      fieldOperation: settings.fieldOperationEventTypes,
    },
    limits: { bodyBytesMax: settings.bodyBytesMax },
  };
}
