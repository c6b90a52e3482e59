/**
 * JSON log lines on standard output, one function for each line there is. `error` wakes someone and has a heading in
 * the runbook; `warn` heals itself; `info` is the two wide lines, `delivery` and `attempt`, a sync's end, and the process's
 * own start and stop; `debug` is for a laptop. No line takes free-form objects, and no line holds a secret or an e-mail
 * address.
 */
import { type DestinationStream, pino, stdTimeFunctions } from 'pino';
import type { Alert } from '../model/alert';
import type { SyncEnd } from '../model/sync';
import { withoutAddresses } from '../model/without-addresses';
import type {
  AccessChange,
  AlertPost,
  Attempt,
  DeliveryAccepted,
  DeliveryRefused,
  Place,
  ProbeLine,
  ProviderCall,
  Sent,
  Trouble,
} from './lines';
import { openStandardOutput } from './standard-output';
import { withoutCredentials } from './without-credentials';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'silent';

export interface Log {
  starting(line: { role: string; version: string; store: string; events: string }): void;
  draining(line: { signal: string }): void;
  stopped(line: { tookMs: number; clean: boolean }): void;
  setting(line: { text: string }): void;
  deliveryAccepted(line: DeliveryAccepted): void;
  deliveryRefused(line: DeliveryRefused): void;
  attempt(line: Attempt): void;
  providerCall(line: ProviderCall): void;
  sent(line: Sent): void;
  accessChanged(line: AccessChange): void;
  probed(line: ProbeLine): void;
  /** An alert that began, ended or changed its severity, whatever sinks there are; at any level but `silent`. */
  alert(alert: Alert): void;
  alertPost(line: AlertPost): void;
  trouble(line: Trouble): void;
  syncEnded(line: SyncEnd): void;
  /** Something that must not happen; carries the stack. Wakes someone. */
  fault(place: Place, error: unknown): void;
  /** Writes out what is buffered; for the end of the process. Never throws. */
  flush(): void;
  /** Lines that standard output did not take and that are gone, so far. */
  dropped(): number;
}

export interface LogOptions {
  level: LogLevel;
  service: string;
  /** For the throttle of `trouble` alone. */
  nowMs(): number;
  /** Standard output when absent. */
  stream?: DestinationStream;
}

const troubleGapMs = 10_000;
const troublesMax = 200;
const textMax = 500;
const stackCharsMax = 4000;

/** Names of fields that no line has; were one added, its value would not be written. */
const censored = ['authorization', 'token', 'secret', 'password', 'refresh', 'key', 'cookie', 'raw', 'body'];

/** Texts are cut at 500 characters, stacks at 4,000; 200 troubles are remembered, to tell each once in a while. */
export function makeLog(options: LogOptions): Log {
  const output = options.stream === undefined ? openStandardOutput() : null;
  const written = options.stream ?? (output as DestinationStream);
  const stream: DestinationStream = { write: (line) => written.write(withoutAddresses(line)) };
  const redact = { paths: censored.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' };
  const logger = pino(
    {
      level: options.level,
      base: { service: options.service },
      timestamp: stdTimeFunctions.isoTime,
      messageKey: 'line',
      formatters: { level: (label: string) => ({ level: label }) },
      redact,
    },
    stream,
  );
  // A page must not be left out with what fills a log: where no sink is named, its line is the page.
  const pages = options.level === 'silent' ? logger : logger.child({}, { level: 'info' });
  const wide = logger.isLevelEnabled('info') ? makeWideLines(options, stream) : null;
  const mayWrite = throttle(options.nowMs);

  return {
    starting: (line) => logger.info(line, 'starting'),
    draining: (line) => logger.info(line, 'draining'),
    stopped: (line) => logger.info(line, 'stopped'),
    setting: (line) => logger.warn(line, 'setting'),
    deliveryAccepted: (line) => {
      if (wide === null) return;
      const { quarantined, ...rest } = line;
      const reasons = quarantined.slice(0, 5);
      const told = { outcome: 'accepted', status: 204, ...rest, quarantined: quarantined.length, reasons };
      wide('delivery', told);
    },
    deliveryRefused: (line) => wide?.('delivery', { outcome: 'refused', ...line }),
    attempt: (line) => {
      if (wide === null) return;
      const { address, detail } = line;
      wide('attempt', { ...line, address: withoutCredentials(address), detail: cut(detail) });
    },
    providerCall: (line) => logger.debug(line, 'provider-call'),
    sent: ({ freshnessMs: _measuredOnly, ...line }) =>
      line.errorType === null ? logger.debug(line, 'sent') : logger.warn(line, 'sent'),
    accessChanged: (line) => logger.warn(line, 'organization-access'),
    probed: (line) => logger.debug(line, 'probe'),
    alert: (alert) => pages[levelOf(alert)](alertLine(alert), 'alert'),
    alertPost: (line) =>
      line.outcome === 'accepted' ? logger.debug(line, 'alert-post') : logger.warn(line, 'alert-post'),
    trouble: (line) => {
      const suppressed = mayWrite(`${line.place} ${line.code}`);
      if (suppressed !== null) logger.warn({ ...line, detail: cut(line.detail), suppressed }, 'trouble');
    },
    syncEnded: (line) => (line.outcome === 'whole' ? logger.info(line, 'sync') : logger.warn(line, 'sync')),
    fault: (place, error) => logger.error({ place, ...faultOf(error) }, 'fault'),
    flush: () => output?.close(),
    dropped: () => output?.dropped() ?? 0,
  };
}

/**
 * The wide lines, thousands a second, in the form of the others. They take no object from elsewhere, so no secret is
 * looked for in them: that would cost ten times what writing them does.
 */
function makeWideLines({ service }: LogOptions, stream: DestinationStream) {
  const about = `","service":${JSON.stringify(service)},`;
  let writtenMs = Number.NaN;
  let written = '';
  return (name: 'delivery' | 'attempt', line: object): void => {
    const ms = Date.now();
    if (ms !== writtenMs) {
      writtenMs = ms;
      written = `{"level":"info","time":"${new Date(ms).toISOString()}${about}`;
    }
    stream.write(`${written}${JSON.stringify(line).slice(1, -1)},"line":"${name}"}\n`);
  };
}

function levelOf(alert: Alert): 'error' | 'warn' | 'info' {
  if (alert.state === 'resolved' || alert.severity === 'info') return 'info';
  return alert.severity === 'critical' ? 'error' : 'warn';
}

function alertLine(alert: Alert) {
  const { name, severity, state, labels, annotations, startsAtMs, resolvedAtMs } = alert;
  return {
    name,
    severity,
    state,
    since: new Date(startsAtMs).toISOString(),
    resolvedAt: resolvedAtMs === null ? null : new Date(resolvedAtMs).toISOString(),
    labels,
    annotations,
  };
}

function faultOf(error: unknown) {
  if (!(error instanceof Error)) return { error: 'not an Error', detail: cut(String(error)), stack: null };
  const code = 'code' in error ? String(error.code) : null;
  return {
    error: error.name,
    code,
    detail: cut(error.message),
    stack: error.stack?.slice(0, stackCharsMax) ?? null,
  };
}

function cut(text: string | null): string | null {
  if (text === null || text.length <= textMax) return text;
  return `${text.slice(0, textMax)}…`;
}

/** Answers null while a key is to be kept quiet, otherwise how many were kept quiet before. Bounded in keys. */
function throttle(nowMs: () => number): (key: string) => number | null {
  const kept = new Map<string, { sinceMs: number; suppressed: number }>();
  return (key) => {
    const now = nowMs();
    const entry = kept.get(key);
    if (entry !== undefined && now - entry.sinceMs < troubleGapMs) {
      entry.suppressed += 1;
      return null;
    }
    if (kept.size >= troublesMax) kept.clear();
    kept.set(key, { sinceMs: now, suppressed: 0 });
    return entry?.suppressed ?? 0;
  };
}
