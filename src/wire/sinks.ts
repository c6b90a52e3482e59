/**
 * The alert sinks that the settings name, made. With none named, alerts are log lines.
 */
import { makeAlertmanagerSink } from '../alert/alertmanager';
import { makeLogSink } from '../alert/log-sink';
import { makePagerDutySink } from '../alert/pagerduty';
import type { AlertSink } from '../alert/sink';
import { makeSlackSink } from '../alert/slack';
import type { Settings } from '../config';
import type { Alert } from '../model/alert';
import { alertingOptions, alertmanagerOptions } from './options';

/** Longer than any usual `group_wait`, and over within the minute that `alerts test` promises. */
const testOpenMsMax = 45_000;

/** For one test page, which fires at Alertmanager for at most 45 s; what is remembered of real alerts is not touched. As `sinksOf`. */
export function testSinksOf(settings: Settings, write: ((alert: Alert) => void) | null): AlertSink[] {
  return sinksOf(settings, write, testOpenMsMax);
}

/**
 * `write` gets the alerts where no other sink is named; null: then there is no sink. `openMsMax` bounds for how long what
 * ended fires at Alertmanager before its end. Throws `settings.invalid`.
 */
export function sinksOf(
  settings: Settings,
  write: ((alert: Alert) => void) | null,
  openMsMax = Number.POSITIVE_INFINITY,
): AlertSink[] {
  const { alertmanagerUrls, pagerdutyRoutingKey, pagerdutyUrl, slackWebhookUrl } = settings;
  const clientUrl = alertingOptions(settings).runbookBase;
  const named: AlertSink[] = [];
  if (alertmanagerUrls !== null) {
    const { openMs, ...options } = alertmanagerOptions(settings, alertmanagerUrls);
    named.push(makeAlertmanagerSink({ ...options, openMs: Math.min(openMs, openMsMax) }));
  }
  if (pagerdutyRoutingKey !== null) {
    named.push(makePagerDutySink({ url: pagerdutyUrl, routingKey: pagerdutyRoutingKey, clientUrl }));
  }
  if (slackWebhookUrl !== null) named.push(makeSlackSink({ url: slackWebhookUrl }));
  return named.length === 0 && write !== null ? [makeLogSink(write)] : named;
}
