// What a simulator is started with: the flags of `tramline simulate` in one checked record with defaults.
// Promises that a checked record can be started without further questions. Reads no environment, opens nothing.
import { isDay, OAUTH2_REQUIRED } from './rules';

export type OldEquipmentIds = 'equipment' | 'principal';

export interface SimulatorOptions {
  /** 0 = a free one. */
  port?: number;
  /** Where deliveries are POSTed; without it changes are notified to nobody until a control sets an address. */
  deliverTo?: string;
  /** Added to every answer of the platform and the equipment API. */
  latencyMs?: number;
  /** The kind of token handed out in `environment`. */
  auth?: 'oauth1' | 'oauth2';
  /** The day whose rules are in force; default the real date. */
  today?: string;
  /** From this day OAuth 1 is refused; default never under `oauth1`, the provider's own date under `oauth2`. */
  oauth1Ends?: string;
  /** `sandbox` limits connections, calls and time; default production. */
  plan?: 'production' | 'sandbox';
  /** Since when the application is in the sandbox; default today. */
  sandboxSince?: string;
  /** A file to which the counts of the contract's rows are appended when the simulator closes. */
  coverageFile?: string;
  /** From this day the machine and implement endpoints are gone; default never. */
  oldEquipmentEnds?: string;
  /** What the machine and implement endpoints call a record by: the id that `/equipment` knows, or its `principalId`. */
  oldEquipmentIds?: OldEquipmentIds;
  seed?: number;
  organizations?: number;
  /** Per organization. */
  equipment?: number;
  /** Per organization. */
  fieldOperations?: number;
  /** Organizations are dealt to this many users in turn; one user sees them all. */
  users?: number;
  /** Each organization is also seen by this many of the users that follow. */
  overlap?: number;
  /** Time between two heartbeats; 0 = none. */
  heartbeatMs?: number;
  /** First wait before a refused delivery is sent again; doubles up to 60 times it. */
  retryMs?: number;
}

export interface CheckedOptions {
  port: number;
  deliverTo: string | undefined;
  latencyMs: number;
  auth: 'oauth1' | 'oauth2';
  today: string | undefined;
  oauth1Ends: string | undefined;
  coverageFile: string | undefined;
  plan: 'production' | 'sandbox';
  sandboxSince: string | undefined;
  oldEquipmentEnds: string | undefined;
  oldEquipmentIds: OldEquipmentIds;
  seed: number;
  organizations: number;
  equipment: number;
  fieldOperations: number;
  users: number;
  overlap: number;
  heartbeatMs: number;
  retryMs: number;
}

/** Fills in the defaults. Throws a RangeError that names the option and what is accepted. */
export function checkOptions(given: SimulatorOptions): CheckedOptions {
  const users = whole('users', given.users ?? 1, 1, 1_000);
  const auth = given.auth ?? 'oauth2';
  return {
    port: whole('port', given.port ?? 0, 0, 65_535),
    deliverTo: given.deliverTo === undefined ? undefined : httpAddress('deliverTo', given.deliverTo),
    latencyMs: whole('latencyMs', given.latencyMs ?? 0, 0, 60_000),
    auth,
    today: given.today === undefined ? undefined : day('today', given.today),
    oauth1Ends: day('oauth1Ends', given.oauth1Ends) ?? (auth === 'oauth2' ? OAUTH2_REQUIRED : undefined),
    coverageFile: given.coverageFile,
    plan: given.plan ?? 'production',
    sandboxSince: day('sandboxSince', given.sandboxSince),
    oldEquipmentEnds: day('oldEquipmentEnds', given.oldEquipmentEnds),
    oldEquipmentIds: given.oldEquipmentIds ?? 'equipment',
    seed: whole('seed', given.seed ?? 1, 0, 0xffff_ffff),
    organizations: whole('organizations', given.organizations ?? 3, 0, 10_000),
    equipment: whole('equipment', given.equipment ?? 6, 0, 1_000_000),
    fieldOperations: whole('fieldOperations', given.fieldOperations ?? 16, 0, 1_000_000),
    users,
    overlap: whole('overlap', given.overlap ?? 0, 0, users - 1),
    heartbeatMs: whole('heartbeatMs', given.heartbeatMs ?? 60_000, 0, 86_400_000),
    retryMs: whole('retryMs', given.retryMs ?? 1_000, 1, 600_000),
  };
}

function whole(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${name} must be a whole number from ${least} to ${most}`);
}

function day(name: string, value: string | undefined): string | undefined {
  if (value === undefined || isDay(value)) return value;
  throw new RangeError(`${name} must be a date written YYYY-MM-DD`);
}

/** The address as given. Throws a RangeError unless it is an absolute http or https address. */
export function httpAddress(name: string, value: string): string {
  const address = URL.parse(value);
  if (address && (address.protocol === 'http:' || address.protocol === 'https:')) return value;
  throw new RangeError(`${name} must be an http or https address`);
}
