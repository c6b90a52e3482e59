/**
 * The only reader of the environment. Settings leave here checked, typed and frozen, with secrets as Secret, or the
 * process learns every fault at once. Rooms take what they need as arguments and never see this file.
 */
import { readFileSync } from 'node:fs';
import { canBeFile, rows } from './config/describe';
import { findStrangers } from './config/near-match';
import { type Fault, findFaults, findMissing, findWarnings, type Purpose } from './config/relations';
import { fieldName, type Row } from './config/row';
import type { SettingName, Settings } from './config/table';
import type { ConfigView } from './model/api';
import { Problem } from './model/problem';
import { systemClock } from './tools/clock';

export type { StoreAddress } from './config/addresses';
export type { WebhookToken } from './config/credentials';
export { separatorOf, settingsSchema, settingsTable } from './config/describe';
export { canAskProvider, type Fault, type Purpose } from './config/relations';
export type { SettingName, Settings } from './config/table';
export { telemetryWishes } from './config/telemetry';

/** Where a setting came from, and how it may be shown: a secret as `set` or `unset`. */
export interface Origin {
  from: 'default' | 'environment' | 'file' | 'unset';
  /** The file's path, when it came from one. */
  path: string | null;
  shown: unknown;
}

export interface LoadedSettings {
  settings: Settings;
  origins: Record<SettingName, Origin>;
  /** What serving in this role would still need; always empty when read to serve. */
  missing: Fault[];
  /** Sentences about what is probably not meant. They hold no values. */
  warnings: string[];
}

export type Environment = Record<string, string | undefined>;

const fileBytesMax = 1_048_576;

/**
 * Reads all settings. An empty variable counts as unset; `NAME_FILE` names a file that holds the value, without the
 * line break at its end. Throws `settings.invalid` with one line for each fault, then one for each name that is
 * probably mistyped; none of them holds a value. A file has at most 1 MiB.
 */
export function loadSettings(
  purpose: Purpose,
  environment: Environment = process.env,
  nowMs = systemClock.nowMs(),
): LoadedSettings {
  const faults: Fault[] = [];
  const values: Record<string, unknown> = {};
  const files: Record<string, string> = {};
  const origins = {} as Record<SettingName, Origin>;
  for (const [name, row] of rows) {
    const given = readGiven(name, row, environment, faults);
    const value = parse(name, row, given, faults);
    values[fieldName(name)] = value;
    if (row.file && given.path !== null) files[name] = given.path;
    origins[name as SettingName] = { from: given.from, path: given.path, shown: shownOf(row, given, value) };
  }
  if (environment.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    faults.push({
      name: 'NODE_TLS_REJECT_UNAUTHORIZED',
      text: 'must not be 0: certificates are always checked; NODE_EXTRA_CA_CERTS adds an authority',
    });
  }
  const settings = deepFreeze({ ...values, files }) as Settings;
  // What is missing is said at once with what is wrong, unless what is wrong decides what is needed.
  const wrong = new Set(faults.map((fault) => fault.name));
  if (purpose === 'serve' && !wrong.has('ROLE') && !wrong.has('WEBHOOK_AUTH')) {
    faults.push(...findMissing(settings).filter((fault) => !wrong.has(fault.name)));
  }
  // Relations between settings mean nothing while one of them is not readable.
  if (wrong.size === 0) faults.push(...findFaults(settings));
  // What is missing may be there under a mistyped name.
  const strangers = findStrangers(Object.keys(environment), knownNames);
  if (faults.length > 0) {
    const lines = faults.map(({ name, text }) => `${name} ${text}`);
    throw new Problem('settings.invalid', [...lines, ...strangers].join('\n'));
  }
  return {
    settings,
    origins,
    missing: findMissing(settings),
    warnings: [...strangers, ...findWarnings(settings, nowMs)],
  };
}

/**
 * The settings with what the files hold now whose variables name them, judged as at the start; the others, also those of a
 * `NAME_FILE`, stay as they are. Throws `settings.invalid` as `loadSettings` does. A file has at most 1 MiB.
 */
export function readFilesAnew(settings: Settings): Settings {
  const faults: Fault[] = [];
  const values: Record<string, unknown> = { ...settings };
  for (const [name, row] of rows) {
    const path = settings.files[name as SettingName];
    if (path !== undefined)
      values[fieldName(name)] = parse(name, row, readFile(name, '', path, faults), faults);
  }
  const anew = deepFreeze(values) as Settings;
  if (faults.length === 0) faults.push(...findFaults(anew));
  if (faults.length > 0) {
    throw new Problem('settings.invalid', faults.map(({ name, text }) => `${name} ${text}`).join('\n'));
  }
  return anew;
}

const knownNames = rows.flatMap(([name, row]) => (canBeFile(row) ? [name, `${name}_FILE`] : [name]));

/**
 * What files hold of the variables that the OpenTelemetry SDK reads itself, set where it looks. To be called once, after
 * `loadSettings`, which says what of them cannot be read, and before the SDK is loaded. A file is read up to 1 MiB.
 */
export function lendToTelemetry(environment: Environment = process.env): void {
  for (const [name, row] of rows) {
    if (!name.startsWith('OTEL_')) continue;
    const { from, text } = readGiven(name, row, environment, []);
    if (from === 'file' && text !== null) environment[name] = text;
  }
}

interface Given {
  from: Origin['from'];
  path: string | null;
  text: string | null;
}

function readGiven(name: string, row: Row<unknown>, environment: Environment, faults: Fault[]): Given {
  const text = environment[name] || null;
  const file = canBeFile(row) ? environment[`${name}_FILE`] || null : null;
  if (text !== null && file !== null) {
    faults.push({ name, text: `and ${name}_FILE are both set: one is accepted` });
    return { from: 'environment', path: null, text: null };
  }
  if (row.file && text !== null) return readFile(name, '', text, faults);
  if (file !== null) return readFile(name, '_FILE', file, faults);
  if (text !== null) return { from: 'environment', path: null, text };
  return row.fallback === null
    ? { from: 'unset', path: null, text: null }
    : { from: 'default', path: null, text: row.fallback };
}

function readFile(name: string, suffix: '' | '_FILE', path: string, faults: Fault[]): Given {
  const source = suffix === '' ? '' : `(by ${name}_FILE) `;
  try {
    const content = readFileSync(path);
    if (content.length <= fileBytesMax) {
      return { from: 'file', path, text: content.toString('utf8').replace(/\r?\n$/, '') };
    }
    faults.push({ name, text: `${source}must be the path of a file of at most ${fileBytesMax} bytes` });
  } catch (error) {
    // The path itself is not repeated: a secret may have been put where its path belongs.
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    faults.push({ name, text: `${source}must be the path of a readable file (${code})` });
  }
  return { from: 'file', path, text: null };
}

/** The typed value; after a fault the default, so that what depends on it can still be looked at. */
function parse(name: string, row: Row<unknown>, given: Given, faults: Fault[]): unknown {
  const parsed = given.text === null ? null : row.kind.schema.safeParse(given.text);
  if (parsed?.success) return parsed.data;
  if (parsed !== null) {
    const place = parsed.error.issues[0]?.path ?? [];
    const where = place.length === 0 ? '' : `; look at ${place.map((part) => `[${String(part)}]`).join('')}`;
    const source = given.from === 'file' && !row.file ? `(by ${name}_FILE) ` : '';
    faults.push({ name, text: `${source}must be ${row.kind.accepts}${where}` });
  }
  return row.fallback === null ? null : row.kind.schema.parse(row.fallback);
}

function shownOf(row: Row<unknown>, given: Given, value: unknown): unknown {
  if (row.secret) return value === null ? 'unset' : 'set';
  if (value === null) return null;
  if (row.file) return given.path;
  return row.kind.show === undefined ? value : row.kind.show(value);
}

function deepFreeze(value: unknown): unknown {
  // Bytes cannot be frozen; keys are copied by whoever uses them.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

/** The settings in force by name, as they may be shown. */
export function configView({ origins }: LoadedSettings): ConfigView {
  return Object.fromEntries(
    Object.entries(origins).map(([name, { shown, from, path }]) => [
      name,
      { value: shown, from, ...(path === null ? {} : { path }) },
    ]),
  );
}
