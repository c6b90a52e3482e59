/**
 * What operators can ask and order, in the shapes they see: routes serve it, commands print it. Shapes only; times are
 * ISO 8601 UTC. Pages are bounded.
 */
import type { Severity } from './alert';
import type { ConnectionsApi } from './consent';
import type { QuarantineView, TaskView } from './inspection';
import type { Ledger } from './ledger';
import type { ForgottenView, OrganizationView } from './organization';
import type { ProviderApi } from './provider-data';
import type { ReplayView, ReplayWanted } from './replay';
import type { SandboxView } from './sandbox';
import type { SubscriptionsApi } from './subscription';
import type { SyncView, SyncWanted } from './sync';

/** Rows of one page, at most. */
export const pageRowsMax = 1000;

export interface Page<After> {
  limit: number;
  /** Only what comes after this; null from the beginning. */
  after: After | null;
}

export interface EventFilter extends Page<number> {
  /** Only what is still kept is expected after the position: it is no error that others were taken. */
  kept: boolean;
  type: string | null;
  organizationId: string | null;
}

/** A published event in CloudEvents' structured JSON form, and where it is. */
export interface StructuredEvent {
  specversion: string;
  id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  /** Its place among all events of this store. */
  position: number;
  topic: string;
  partition: number | null;
  offset: string | null;
  data: unknown;
  /** Further attributes, named as in the record without `ce_`. */
  [attribute: string]: unknown;
}

export interface AlertView {
  name: string;
  severity: Severity;
  state: 'firing' | 'resolved';
  since: string;
  resolvedAt: string | null;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** The sinks that have not taken it as it is: nobody there knows of it, or that it ended. Left out where all have. */
  notTold?: string[];
}

/** What one sink, or one of its instances where it has several, made of a test page and of its end. */
export interface AlertTestLine {
  sink: 'alertmanager' | 'pagerduty' | 'slack' | 'log';
  /** The address of the instance; left out where the sink is one. */
  instance?: string;
  outcome: 'accepted' | 'refused' | 'unreachable';
  status: number | null;
  detail: string;
}

/** `lost` is what was accepted and is in no line: always 0. */
export type LedgerView = Ledger & { lost: number };

export interface Journey {
  of: string;
  what: 'delivery' | 'event' | 'resource';
  steps: { at: string; step: string; text: string; [detail: string]: unknown }[];
}

/** Where a setting came from, and its value; a secret's is `set` or `unset`. */
export type ConfigView = Record<string, { value: unknown; from: string; path?: string }>;

export type CheckName = 'settings' | 'store' | 'provider' | 'kafka' | 'sinks' | 'alerts' | 'clock';

export interface CheckLine {
  name: CheckName;
  state: 'ok' | 'warning' | 'failed' | 'skipped';
  detail: string;
  /** What to do; null when there is nothing to do. */
  next: string | null;
}

/** So many entries of the quarantine are decided at a time. */
export const decidedMax = 500;

/** What became of an order for one entry of the quarantine; `refused`: it can only be discarded. */
export interface DecidedEntry {
  id: string;
  state: 'released' | 'discarded' | 'refused' | 'not-found';
}

/**
 * Throws `command.not-found` for an id that is not known, `command.refused` where the state forbids it,
 * `command.expired` below the oldest event that is kept, and what the store throws.
 */
export interface Api {
  /** By id. */
  organizations(page: Page<string>): Promise<OrganizationView[]>;
  /** With its history. */
  organization(id: string): Promise<OrganizationView>;
  /** Ends what we have to do with it, here and, where it is possible, at the provider. */
  forget(id: string): Promise<ForgottenView>;
  /** Asks the provider again; the organization as it stands when that was done, or asked for. */
  probe(id: string): Promise<OrganizationView>;
  tasks(page: Page<number> & { state: TaskView['state'] | null }): Promise<TaskView[]>;
  quarantine(page: Page<string>): Promise<QuarantineView[]>;
  quarantined(id: string): Promise<QuarantineView>;
  release(id: string): Promise<{ id: string; state: 'released' }>;
  discard(id: string): Promise<{ id: string; state: 'discarded' }>;
  /** Each on its own, at most `decidedMax`: what cannot be released, or does not wait, says so in its place. */
  releaseEach(ids: string[]): Promise<DecidedEntry[]>;
  discardEach(ids: string[]): Promise<DecidedEntry[]>;
  /** In order of position. */
  events(filter: EventFilter): Promise<StructuredEvent[]>;
  alerts(): Promise<AlertView[]>;
  /** Pages each sink once and ends the page; a line each. */
  testAlerts(): Promise<AlertTestLine[]>;
  explain(of: string): Promise<Journey>;
  ledger(): Promise<LedgerView>;
  check(): Promise<CheckLine[]>;
  config(): Promise<ConfigView>;
  /** What is read from the provider and written to it directly. */
  provider: ProviderApi;
  /** Begins a sync, or tells of the same one that is under way. */
  startSync(wanted: SyncWanted): Promise<SyncView>;
  /** The sync that began then, while it is the last or the one before it; otherwise the one under way, else the last. */
  sync(startedAt: string | null): Promise<SyncView>;
  /** Begins a replay, or tells of the same one that is under way. */
  startReplay(wanted: ReplayWanted): Promise<ReplayView>;
  /** The replay that began then, while it is the last or the one before it; otherwise the one under way, else the last. */
  replay(startedAt: string | null): Promise<ReplayView>;
  /** What the provider's sandbox leaves. */
  sandbox(): Promise<SandboxView>;
  connections: ConnectionsApi;
  subscriptions: SubscriptionsApi;
}
