/**
 * The sink for PagerDuty (Events API v2): one event for each alert, under a key that stays the same while its incident
 * lives. The key is the identity alone, so that a repeated event and a second process make no second incident. The
 * routing key is opened here and shown nowhere.
 */
import { createHash } from 'node:crypto';
import type { Alert } from '../model/alert';
import type { Secret } from '../tools/secret';
import { plainTime } from './plain-text';
import { type Posted, postJson } from './post-json';
import type { AlertSink, PostResult } from './sink';

export interface PagerDutyOptions {
  /** Of the enqueue endpoint. */
  url: string;
  routingKey: Secret;
  /** What a reader who follows the name of the client finds; left out when null. */
  clientUrl: string | null;
  /** For one round of events. Default 10 s. */
  timeoutMs?: number;
}

/** `PD-CEF`, as far as it is used. */
export interface PagerDutyEvent {
  routing_key: string;
  event_action: 'trigger' | 'resolve';
  dedup_key: string;
  client?: string;
  client_url?: string;
  payload?: {
    summary: string;
    source: string;
    severity: 'critical' | 'warning' | 'info';
    timestamp: string;
    component: string;
    group: string;
    class: string;
    custom_details: Record<string, string>;
  };
  links?: { href: string; text: string }[];
}

const dedupKeyMax = 255;
const summaryMax = 1024;
const inFlightMax = 4;

/**
 * PagerDuty Events API v2: one event an alert, four in flight; a whole post ends within `timeoutMs`. Never rejects:
 * what was not taken is named. Bounds as `eventOf` does.
 */
export function makePagerDutySink(options: PagerDutyOptions): AlertSink {
  const { url, timeoutMs = 10_000 } = options;
  return {
    name: 'pagerduty',
    repeats: false,
    keeps: true,
    async post(alerts, nowMs) {
      const deadline = AbortSignal.timeout(timeoutMs);
      const result: PostResult = { taken: [], failed: [], status: null, retryAfterMs: null };
      const waiting = [...alerts];
      // A far side that is away or asks for a pause is not asked for the rest of the round.
      let goesOn = true;
      const work = async (): Promise<void> => {
        for (let alert = waiting.shift(); alert !== undefined; alert = waiting.shift()) {
          const { fingerprint } = alert;
          const answer = goesOn ? await tell(url, eventOf(alert, options), deadline, nowMs) : null;
          if (answer !== null) result.status = Math.max(result.status ?? 0, answer.status);
          if (answer !== null && answer.status >= 200 && answer.status < 300) result.taken.push(fingerprint);
          else {
            // 400 is about this event; everything else may pass, or be mended by an operator.
            const retry = answer?.status !== 400;
            if (retry) goesOn = false;
            result.failed.push({ fingerprint, retry });
            result.retryAfterMs = answer?.retryAfterMs ?? result.retryAfterMs ?? null;
          }
        }
      };
      await Promise.all(Array.from({ length: inFlightMax }, work));
      return result;
    },
  };
}

async function tell(
  url: string,
  event: PagerDutyEvent,
  deadline: AbortSignal,
  nowMs: number,
): Promise<Posted | null> {
  try {
    return await postJson(url, event, deadline, nowMs);
  } catch {
    // No answer: the same event is offered again later.
    return null;
  }
}

/**
 * The event that tells PagerDuty the alert as it is now. Texts are the alert's own, cut to what PagerDuty takes: a
 * summary of 1,024 characters, a key of 255 bytes.
 */
export function eventOf(alert: Alert, options: PagerDutyOptions): PagerDutyEvent {
  const key = { routing_key: options.routingKey.open(), dedup_key: dedupKeyOf(alert.fingerprint) };
  if (alert.state === 'resolved') return { ...key, event_action: 'resolve' };
  const { annotations, labels, name, severity } = alert;
  const { summary = name, description = '', owner = '', action_url, runbook_url } = annotations;
  const details = { ...labels, ...annotations, since: plainTime(alert.startsAtMs) };
  const links = [
    { href: runbook_url, text: 'Runbook' },
    { href: action_url, text: 'Where to act' },
  ];
  return {
    ...key,
    event_action: 'trigger',
    client: 'Tramline',
    ...(options.clientUrl === null ? {} : { client_url: options.clientUrl }),
    payload: {
      summary: `${summary} ${description}`.trim().slice(0, summaryMax).toWellFormed(),
      source: 'tramline',
      severity,
      timestamp: new Date(alert.startsAtMs).toISOString(),
      component: 'tramline',
      group: owner,
      class: name,
      custom_details: details,
    },
    links: links.filter((link): link is { href: string; text: string } => link.href !== undefined),
  };
}

/** The fingerprint, or where it is too long a digest of it. */
function dedupKeyOf(fingerprint: string): string {
  const key = `tramline ${fingerprint}`;
  if (Buffer.byteLength(key) <= dedupKeyMax) return key;
  return `tramline ${createHash('sha256').update(fingerprint).digest('hex')}`;
}
