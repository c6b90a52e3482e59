/**
 * What the path tells the outside of itself: one method for each fact, which writes its log line, its metrics, or
 * both. The path calls these and knows neither logger nor meter. Nothing here throws, and nothing here decides.
 */

import type { QuarantineReason } from '../model/notification';
import type { SyncEnd } from '../model/sync';
import type {
  AccessChange,
  AlertPost,
  Attempt,
  DeliveryAccepted,
  DeliveryRefused,
  Gauges,
  Place,
  ProbeLine,
  ProviderCall,
  Sent,
  Trouble,
} from './lines';
import { type Log, type LogOptions, makeLog } from './log';
import { makeMetrics } from './metrics';
import { startTelemetry, type TelemetryOptions } from './telemetry';
import type { AttemptSpan, DeliverySpan, Traces } from './traces';

export interface Observer {
  /** Counts the request as active until the span ends. */
  startDelivery(incomingTraceparent: string | null): DeliverySpan;
  startAttempt(deliveryTraceparent: string | null, kind: string): AttemptSpan;
  startFetch: Traces['startFetch'];
  startSend: Traces['startSend'];

  deliveryAccepted(line: DeliveryAccepted): void;
  deliveryRefused(line: DeliveryRefused): void;
  attempt(line: Attempt): void;
  providerCall(line: ProviderCall): void;
  sent(line: Sent): void;
  accessChanged(line: AccessChange): void;
  probed(line: ProbeLine): void;
  alertPost(line: AlertPost): void;
  trouble(line: Trouble): void;
  /** A run of a sync ended, or stopped. */
  syncEnded(line: SyncEnd): void;
  /** The gate refused the address of a page of a listing. */
  listingRefused(): void;
  /** For so much longer a quota of the brokers has held requests back. */
  throttled(forMs: number): void;
  /** It holds less than was acknowledged there: it was made anew, or cut. */
  topicLostRecords(topic: string): void;
  /** Something was put into quarantine, as the store tells it. */
  setAside(reason: QuarantineReason): void;
  fault(place: Place, error: unknown): void;

  /** The process's own lines, and the log as an alert sink. */
  log: Log;
  /** All metrics as Prometheus text. */
  metricsText(): Promise<string>;
  /** Sends and writes what is left; takes at most two seconds, or less where there is less. */
  close(withinMs?: number): Promise<void>;
}

export interface ObserverOptions {
  log: LogOptions;
  telemetry: TelemetryOptions;
  gauges: Gauges;
  /** Those that events go to: what each lost is counted from 0. */
  topics: readonly string[];
}

/**
 * Starts the telemetry at once. Nothing it is told is rejected or waited for: a collector that is away changes
 * nothing.
 */
export function makeObserver(options: ObserverOptions): Observer {
  const log = makeLog(options.log);
  const telemetry = startTelemetry(options.telemetry, (detail) =>
    log.trouble({ place: 'telemetry', code: 'telemetry.untaken', detail }),
  );
  const metrics = makeMetrics(telemetry.meter, options.gauges, log.dropped, options.topics);
  const { traces } = telemetry;
  return {
    startDelivery: (incoming) => {
      metrics.requestBegan();
      const span = traces.startDelivery(incoming);
      return {
        traceparent: span.traceparent,
        end: (result) => {
          metrics.requestEnded();
          span.end(result);
        },
      };
    },
    startAttempt: traces.startAttempt,
    startFetch: traces.startFetch,
    startSend: traces.startSend,
    deliveryAccepted: (line) => {
      metrics.deliveryAccepted(line);
      log.deliveryAccepted(line);
    },
    deliveryRefused: (line) => {
      metrics.deliveryRefused(line);
      log.deliveryRefused(line);
    },
    attempt: (line) => {
      metrics.attempt(line);
      log.attempt(line);
    },
    providerCall: (line) => {
      metrics.providerCall(line);
      log.providerCall(line);
    },
    sent: (line) => {
      metrics.sent(line);
      log.sent(line);
    },
    accessChanged: log.accessChanged,
    probed: log.probed,
    alertPost: (line) => {
      metrics.alertPost(line);
      log.alertPost(line);
    },
    trouble: log.trouble,
    syncEnded: (line) => {
      metrics.syncEnded(line);
      log.syncEnded(line);
    },
    listingRefused: metrics.listingRefused,
    throttled: metrics.throttled,
    topicLostRecords: metrics.topicLostRecords,
    setAside: metrics.setAside,
    fault: (place, error) => {
      metrics.fault(place);
      log.fault(place, error);
    },
    log,
    metricsText: telemetry.metricsText,
    close: async (withinMs) => {
      metrics.stop();
      await telemetry.shutdown(withinMs);
      log.flush();
    },
  };
}
